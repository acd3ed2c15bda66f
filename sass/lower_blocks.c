/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the code that a kernel runs, in blocks, starting from its first instruction.  The blocks of
 * a function are found again for each call, so that its returns lead back to that call only.
 */
#include <stdlib.h>

#include "lower_internal.h"

/* Of calls in each other, and of instructions: code beyond them is refused, its kernels unknown. */
#define DEPTH_LIMIT 8
#define INSTRUCTION_LIMIT 200000
#define NO_BLOCK UINT32_MAX
/* Limit of decoded instructions that are kept for all sections, 28 MB; others are decoded again. */
#define DECODED_LIMIT 65536
/* Limit of instructions before a call that are searched for its address; not found: unknown. */
#define SEARCH_LIMIT 256
/* Registers that may hold a call's results. */
#define FIRST_RETURNED 4
#define LAST_RETURNED 15

int lower_decode(const struct lower *lower, uint32_t section, uint64_t at,
	struct sass_instruction *in)
{
	const struct machine_section *text = &lower->code->section[section];

	if (at % SASS_BYTES || at >= text->size || text->size - at < SASS_BYTES)
		return -1;
	if (lower->decoded[section] && lower->decoded[section][at / SASS_BYTES].name) {
		*in = lower->decoded[section][at / SASS_BYTES];
		return 0;
	}
	if (sass_decode(lower->code->arch, text->code + at, at, in))
		return -1;
	/* @!PT: the instruction is never executed. */
	if (in->guard == SASS_NONE && in->guard_negated)
		*in = (struct sass_instruction){ .opcode = SASS_NOP, .guard = SASS_NONE };
	return 0;
}

static const struct sass_operand *label_of(const struct sass_instruction *in)
{
	for (unsigned i = 0; i < in->from_count; i++)
		if (in->from[i].kind == SASS_OPERAND_LABEL)
			return &in->from[i];
	return NULL;
}

static const struct machine_relocation *relocation_at(const struct lower *lower, uint32_t section,
	uint64_t at)
{
	const struct machine_section *text = &lower->code->section[section];

	for (size_t low = 0, high = text->relocation_count; low < high;) {
		size_t middle = low + (high - low) / 2;
		const struct machine_relocation *found = &text->relocation[middle];

		if (found->offset / SASS_BYTES == at / SASS_BYTES)
			return found;
		if (found->offset < at)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Returns 1 if a path from elsewhere leads to the place after the instruction. */
static int is_joined(const struct lower *lower, uint32_t section, uint64_t at,
	const struct sass_instruction *in)
{
	switch (in->opcode) {
	case SASS_BRA:
	case SASS_JMP:
	case SASS_CALL:
		return 0; /* a block begins there anyway */
	default:
		return lower->leader[section] && lower->leader[section][at / SASS_BYTES + 1];
	}
}

/* Finds the previous instruction that writes the register, within straight-line code. */
static uint64_t find_write(const struct lower *lower, uint32_t section, uint64_t at,
	uint16_t number, struct sass_instruction *in)
{
	for (int i = 0; i < SEARCH_LIMIT && at >= SASS_BYTES; i++) {
		at -= SASS_BYTES;
		if (lower_decode(lower, section, at, in))
			return UINT64_MAX;
		if (is_joined(lower, section, at, in))
			return UINT64_MAX;
		for (unsigned t = 0; t < in->to_count; t++)
			if (in->to[t].kind == SASS_OPERAND_GENERAL && number >= in->to[t].number &&
				number < in->to[t].number + (in->to[t].count ? in->to[t].count : 1))
				return in->guard == SASS_NONE ? at : UINT64_MAX;
		if (in->opcode == SASS_EXIT ||
			(in->opcode == SASS_CALL && number >= FIRST_RETURNED &&
				number <= LAST_RETURNED))
			return UINT64_MAX;
	}
	return UINT64_MAX;
}

/*
 * CALL R2: compilers load the address just before, from constant bank 4, where the linker puts it,
 * or move its two halves.  Returns the relocation that names the function, NULL: not found.
 */
static const struct machine_relocation *register_call(const struct lower *lower, uint32_t section,
	uint64_t at, uint16_t number)
{
	const struct sass_operand *from;
	struct sass_instruction in;
	int64_t offset;

	at = find_write(lower, section, at, number, &in);
	if (at == UINT64_MAX)
		return NULL;
	if (in.opcode == SASS_MOV)
		return relocation_at(lower, section, at);
	from = &in.from[0];
	if (in.opcode != SASS_LDC || from->kind != SASS_OPERAND_CONSTANT || from->bank != 4 ||
		from->is_uniform || from->bank_register != SASS_NONE)
		return NULL;
	offset = from->value;
	if (from->number != SASS_NONE) {
		at = find_write(lower, section, at, from->number, &in);
		if (at == UINT64_MAX || in.opcode != SASS_MOV ||
			in.from[0].kind != SASS_OPERAND_IMMEDIATE)
			return NULL;
		offset += in.from[0].value;
	}
	const struct machine_bank *bank = &lower->kernel->bank[4];
	for (size_t i = 0; i < bank->relocation_count; i++)
		if ((int64_t)bank->relocation[i].offset == offset)
			return &bank->relocation[i];
	return NULL;
}

static const struct machine_relocation *called(const struct lower *lower,
	const struct sass_instruction *in, uint32_t section, uint64_t at)
{
	if (in->from_count && in->from[0].kind == SASS_OPERAND_GENERAL &&
		in->from[0].number != SASS_NONE)
		return register_call(lower, section, at, in->from[0].number);
	return relocation_at(lower, section, at);
}

const char *lower_call_name(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at)
{
	const struct machine_relocation *found = called(lower, in, section, at);

	return found ? found->symbol : NULL;
}

int lower_call_target(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t *to_section, uint64_t *to)
{
	const struct machine_relocation *found = called(lower, in, section, at);
	const struct sass_operand *label = label_of(in);

	if (found) {
		if (found->section == MACHINE_NONE)
			return -1;
		*to_section = found->section;
		*to = found->value + (uint64_t)found->addend;
		return 0;
	}
	if (!label || !in->is_relative ||
		(in->from[0].kind == SASS_OPERAND_GENERAL && in->from[0].number != SASS_NONE))
		return -1;
	*to_section = section;
	*to = (uint64_t)label->value;
	return 0;
}

/* Returns 1 if the call is recursive, or too deep. */
static int is_recursive(const struct lower *lower, uint32_t context, uint32_t section, uint64_t to)
{
	const struct machine_context *known = &lower->context[context];

	if (known->depth >= DEPTH_LIMIT)
		return 1;
	for (; context; context = lower->context[context].parent)
		if (lower->context[context].target_section == section &&
			lower->context[context].target == to)
			return 1;
	return 0;
}

/* A guard, or a predicate operand, may disable the branch. */
static int is_conditional(const struct sass_instruction *in)
{
	if (in->guard != SASS_NONE)
		return 1;
	for (unsigned i = 0; i < in->from_count; i++) {
		const struct sass_operand *from = &in->from[i];

		if (from->kind == SASS_OPERAND_PREDICATE ||
			from->kind == SASS_OPERAND_UNIFORM_PREDICATE) {
			if (from->number != SASS_NONE || from->negated)
				return 1;
		} else if (from->kind == SASS_OPERAND_UNIFORM && from->number != SASS_NONE &&
			in->opcode == SASS_BRA) {
			return 1;
		}
	}
	return in->opcode == SASS_BRA && in->variant;
}

/*
 * CALL.REL into the middle of its own function: nothing returns from there.  Compilers jump this
 * way where threads have reconverged.
 */
static int is_jump(const struct lower *lower, uint32_t section, uint64_t at, uint32_t to_section,
	uint64_t to)
{
	const struct machine_function *function = machine_function_at(lower->code, section, at);

	return function && to_section == section && to != function->offset &&
		machine_function_at(lower->code, section, to) == function;
}

enum machine_leave lower_leaves(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t context, int *falls)
{
	uint32_t to_section;
	uint64_t to;

	*falls = is_conditional(in);
	switch (in->opcode) {
	case SASS_BRA:
	case SASS_JMP:
		return LEAVE_BRANCH;
	case SASS_BRX:
	case SASS_JMX:
		return LEAVE_TABLE;
	case SASS_CALL:
		if (lower_call_target(lower, in, section, at, &to_section, &to))
			to_section = MACHINE_NONE;
		else if (is_jump(lower, section, at, to_section, to))
			return LEAVE_BRANCH;
		if (to_section != MACHINE_NONE && !is_recursive(lower, context, to_section, to))
			return LEAVE_CALL;
		*falls = 1;
		return LEAVE_NOT;
	case SASS_RET:
		return context ? LEAVE_RETURN : LEAVE_END;
	case SASS_EXIT:
	case SASS_KILL:
		return LEAVE_END;
	default:
		*falls = 1;
		return LEAVE_NOT;
	}
}

static void add_leader(const struct machine_section *text, uint8_t *leader, uint64_t at)
{
	if (at % SASS_BYTES == 0 && at < text->size)
		leader[at / SASS_BYTES] = 1;
}

/* Instructions are decoded repeatedly: those of smaller sections are cached. */
static void make_room(struct lower *lower, uint32_t section)
{
	size_t count = lower->code->section[section].size / SASS_BYTES + 1;

	if (count > DECODED_LIMIT - lower->decoded_count)
		return;
	lower->decoded_count += (uint32_t)count;
	lower->decoded[section] = calloc(count, sizeof(**lower->decoded));
}

/* Finds where the blocks of a section begin, for all callers. */
static int find_leaders(struct lower *lower, uint32_t section)
{
	const struct machine_section *text = &lower->code->section[section];
	struct sass_instruction in;
	uint8_t *leader;

	if (lower->leader[section])
		return 0;
	leader = lower->leader[section] = calloc(text->size / SASS_BYTES + 1, 1);
	if (!leader)
		return lower_refuse(lower, "out of memory");
	make_room(lower, section);
	for (uint64_t at = 0; at + SASS_BYTES <= text->size; at += SASS_BYTES) {
		const struct sass_operand *label;

		if (lower_decode(lower, section, at, &in))
			continue;
		if (lower->decoded[section])
			lower->decoded[section][at / SASS_BYTES] = in;
		label = label_of(&in);
		switch (in.opcode) {
		case SASS_BRA:
		case SASS_JMP:
		case SASS_CALL:
			if (label && label->value >= 0)
				add_leader(text, leader, (uint64_t)label->value);
			/* fall through */
		case SASS_BRX:
		case SASS_JMX:
		case SASS_RET:
		case SASS_EXIT:
		case SASS_KILL:
			add_leader(text, leader, at + SASS_BYTES);
			break;
		default:
			break;
		}
	}
	for (size_t i = 0; i < text->jump_count; i++)
		for (uint32_t j = 0; j < text->jump[i].target_count; j++)
			add_leader(text, leader, text->jump[i].target[j]);
	for (size_t i = 0; i < lower->code->function_count; i++)
		if (lower->code->function[i].section == section)
			add_leader(text, leader, lower->code->function[i].offset);
	return 0;
}

static uint32_t place_hash(uint32_t context, uint32_t section, uint64_t start)
{
	uint64_t hash = (start / SASS_BYTES + section * 7919ull) * 0x9e3779b97f4a7c15ull +
		context * 0xc2b2ae3d27d4eb4full;

	return (uint32_t)(hash >> 32);
}

static int grow_slots(struct lower *lower)
{
	uint32_t size = lower->slot_size ? lower->slot_size * 2 : 256;
	uint32_t *slot = calloc(size, sizeof(*slot));

	if (!slot)
		return lower_refuse(lower, "out of memory");
	for (uint32_t i = 0; i < lower->block_count; i++) {
		const struct machine_block *block = &lower->block[i];
		uint32_t at = place_hash(block->context, block->section, block->start) & (size - 1);

		while (slot[at])
			at = (at + 1) & (size - 1);
		slot[at] = i + 1;
	}
	free(lower->slot);
	lower->slot = slot;
	lower->slot_size = size;
	return 0;
}

/* Returns the number of a block, added if missing; NO_BLOCK after lower_refuse(). */
static uint32_t block_at(struct lower *lower, uint32_t context, uint32_t section, uint64_t start)
{
	uint32_t at;

	if (start % SASS_BYTES || start >= lower->code->section[section].size) {
		lower_refuse(lower, "a branch that is not understood");
		return NO_BLOCK;
	}
	if (lower->block_count * 2 >= lower->slot_size && grow_slots(lower))
		return NO_BLOCK;
	at = place_hash(context, section, start) & (lower->slot_size - 1);
	for (; lower->slot[at]; at = (at + 1) & (lower->slot_size - 1)) {
		const struct machine_block *block = &lower->block[lower->slot[at] - 1];

		if (block->context == context && block->section == section && block->start == start)
			return lower->slot[at] - 1;
	}
	if (find_leaders(lower, section) ||
		PTX_ROOM(lower->block, lower->block_room, lower->block_count)) {
		lower_refuse(lower, "out of memory");
		return NO_BLOCK;
	}
	lower->block[lower->block_count] =
		(struct machine_block){ .context = context, .section = section, .start = start };
	lower->slot[at] = lower->block_count + 1;
	return lower->block_count++;
}

static int add_next(struct lower *lower, uint32_t number, uint32_t context, uint32_t section,
	uint64_t start)
{
	uint32_t to = block_at(lower, context, section, start);

	if (to == NO_BLOCK)
		return -1;
	if (PTX_ROOM(lower->next, lower->next_room, lower->next_count))
		return lower_refuse(lower, "out of memory");
	lower->next[lower->next_count++] = to;
	lower->block[number].next_count++;
	return 0;
}

/* Returns the context of a call.  Calls from the same place in the same context share one. */
static uint32_t context_of(struct lower *lower, const struct machine_block *from, uint64_t back,
	uint32_t section, uint64_t target)
{
	for (uint32_t i = 1; i < lower->context_count; i++)
		if (lower->context[i].parent == from->context &&
			lower->context[i].section == from->section &&
			lower->context[i].back == back)
			return i;
	if (PTX_ROOM(lower->context, lower->context_room, lower->context_count))
		return 0;
	lower->context[lower->context_count] = (struct machine_context){
		.parent = from->context,
		.depth = lower->context[from->context].depth + 1,
		.section = from->section,
		.back = back,
		.target = target,
		.target_section = section,
	};
	return lower->context_count++;
}

static int add_leaves(struct lower *lower, uint32_t number, const struct sass_instruction *in,
	uint64_t at)
{
	struct machine_block from = lower->block[number];
	const struct machine_section *text = &lower->code->section[from.section];
	const struct sass_operand *label = label_of(in);
	const struct machine_context *context;
	const struct machine_jump *jump;
	uint32_t to_section, called;
	uint64_t to;
	int falls, rc = 0;

	switch (lower_leaves(lower, in, from.section, at, from.context, &falls)) {
	case LEAVE_BRANCH:
		if (!label || label->value < 0)
			return lower_refuse(lower, "a branch that is not understood");
		rc = add_next(lower, number, from.context, from.section, (uint64_t)label->value);
		break;
	case LEAVE_TABLE:
		jump = machine_find_jump(text, at);
		if (!jump || !jump->target_count)
			return lower_refuse(lower, "a branch that is not understood");
		for (uint32_t i = 0; i < jump->target_count && !rc; i++)
			rc = add_next(lower, number, from.context, from.section, jump->target[i]);
		break;
	case LEAVE_CALL:
		lower_call_target(lower, in, from.section, at, &to_section, &to);
		called = context_of(lower, &from, at + SASS_BYTES, to_section, to);
		if (!called)
			return lower_refuse(lower, "out of memory");
		rc = add_next(lower, number, called, to_section, to);
		break;
	case LEAVE_RETURN:
		context = &lower->context[from.context];
		rc = add_next(lower, number, context->parent, context->section, context->back);
		break;
	default:
		break;
	}
	if (!rc && falls)
		rc = add_next(lower, number, from.context, from.section, at + SASS_BYTES);
	return rc;
}

/* Reads up to the start of the next block, or to the instruction that leaves this one. */
static int read_block(struct lower *lower, uint32_t number)
{
	uint32_t section = lower->block[number].section, context = lower->block[number].context;
	const struct machine_section *text = &lower->code->section[section];
	uint64_t at = lower->block[number].start;
	struct sass_instruction in;
	int falls = 1;

	lower->block[number].next = lower->next_count;
	for (;; at += SASS_BYTES) {
		if (lower->instruction_count++ >= INSTRUCTION_LIMIT)
			return lower_refuse(lower, "too large");
		if (lower_decode(lower, section, at, &in))
			return lower_refuse(lower, "machine code that is not understood");
		lower->block[number].end = at + SASS_BYTES;
		if (lower_leaves(lower, &in, section, at, context, &falls) != LEAVE_NOT ||
			at + 2 * SASS_BYTES > text->size ||
			lower->leader[section][at / SASS_BYTES + 1])
			break;
	}
	return add_leaves(lower, number, &in, at);
}

int lower_find_blocks(struct lower *lower, uint32_t section, uint64_t offset)
{
	lower->leader = calloc(lower->code->section_count + 1, sizeof(*lower->leader));
	lower->decoded = calloc(lower->code->section_count + 1, sizeof(*lower->decoded));
	if (!lower->leader || !lower->decoded || PTX_ROOM(lower->context, lower->context_room, 0))
		return lower_refuse(lower, "out of memory");
	lower->context[0] = (struct machine_context){ 0 };
	lower->context_count = 1;
	if (block_at(lower, 0, section, offset) == NO_BLOCK)
		return -1;
	for (uint32_t i = 0; i < lower->block_count; i++)
		if (read_block(lower, i))
			return -1;
	return 0;
}
