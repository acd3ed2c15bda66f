/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renames registers, which machine code writes repeatedly.  A name stands for all writes of a
 * register that may reach the same reads: most names are written once, like PTX registers.  A write
 * under a guard writes either the new value or the previous one.
 */
#include <stdlib.h>

#include "lower_internal.h"

static void visit_operand(const struct sass_operand *operand, lower_visit *visit, void *arg)
{
	unsigned base, most, count = operand->count ? operand->count : 1;

	switch (operand->kind) {
	case SASS_OPERAND_GENERAL:
		base = MACHINE_GENERAL;
		most = 255;
		break;
	case SASS_OPERAND_UNIFORM:
		base = MACHINE_UNIFORM;
		most = 255;
		break;
	case SASS_OPERAND_PREDICATE:
	case SASS_OPERAND_UNIFORM_PREDICATE:
		base = operand->kind == SASS_OPERAND_PREDICATE ? MACHINE_PREDICATE
							       : MACHINE_UNIFORM_PREDICATE;
		most = 7;
		count = 1;
		break;
	case SASS_OPERAND_CONSTANT:
		base = operand->is_uniform ? MACHINE_UNIFORM : MACHINE_GENERAL;
		most = 255;
		count = 1;
		if (operand->bank_register < 254) {
			visit(arg, MACHINE_UNIFORM + operand->bank_register);
			visit(arg, MACHINE_UNIFORM + operand->bank_register + 1);
		}
		break;
	default:
		return;
	}
	if (operand->number == SASS_NONE)
		return;
	for (unsigned i = 0; i < count && operand->number + i < most; i++)
		visit(arg, base + operand->number + i);
}

static void visit_address(const struct sass_address *address, lower_visit *visit, void *arg)
{
	const struct sass_operand part[2] = {
		{ .kind = SASS_OPERAND_GENERAL,
			.number = address->base,
			.count = address->base_is_64 ? 2 : 1 },
		{ .kind = SASS_OPERAND_UNIFORM,
			.number = address->uniform,
			.count = address->uniform_is_64 ? 2 : 1 },
	};

	visit_operand(&part[0], visit, arg);
	visit_operand(&part[1], visit, arg);
}

void lower_visit_read(const struct sass_instruction *in, lower_visit *visit, void *arg)
{
	for (unsigned i = 0; i < in->from_count; i++)
		visit_operand(&in->from[i], visit, arg);
	/* P2R reads the predicates in its mask. */
	for (unsigned i = 0; in->opcode == SASS_P2R && i < 7; i++)
		if (in->from_count > 1 && in->from[1].value >> i & 1)
			visit(arg,
				in->number & 0x80 ? MACHINE_UNIFORM_PREDICATE + i
						  : MACHINE_PREDICATE + i);
	if (in->has_address >= 1)
		visit_address(&in->address, visit, arg);
	if (in->has_address >= 2)
		visit_address(&in->address2, visit, arg);
	if (in->guard == SASS_NONE)
		return;
	if (in->guard < 7)
		visit(arg,
			(in->guard_is_uniform ? MACHINE_UNIFORM_PREDICATE : MACHINE_PREDICATE) +
				in->guard);
	/* If it is not executed, the previous value remains. */
	lower_visit_written(in, visit, arg);
}

void lower_visit_written(const struct sass_instruction *in, lower_visit *visit, void *arg)
{
	for (unsigned i = 0; i < in->to_count; i++)
		visit_operand(&in->to[i], visit, arg);
}

int lower_is_unknown_call(const struct lower *lower, const struct sass_instruction *in,
	uint32_t section, uint64_t at, uint32_t context)
{
	int falls;

	return in->opcode == SASS_CALL &&
		lower_leaves(lower, in, section, at, context, &falls) == LEAVE_NOT;
}

/*
 * A value read after a call was either returned, in the registers from R4 on, or left unchanged by
 * the function, as the compiler knows.
 */
void lower_visit_clobbered(lower_visit *visit, void *arg)
{
	for (unsigned i = 4; i < 16; i++)
		visit(arg, i);
}

static void add_used(void *arg, unsigned reg)
{
	struct machine_block *block = arg;

	if (!machine_set_has(&block->written, reg))
		machine_set_add(&block->used, reg);
}

static void add_written(void *arg, unsigned reg)
{
	struct machine_block *block = arg;

	machine_set_add(&block->written, reg);
}

static void sum_up(struct lower *lower, struct machine_block *block)
{
	struct sass_instruction in;

	for (uint64_t at = block->start; at < block->end; at += SASS_BYTES) {
		lower_decode(lower, block->section, at, &in);
		lower_visit_read(&in, add_used, block);
		lower_visit_written(&in, add_written, block);
		if (lower_is_unknown_call(lower, &in, block->section, at, block->context))
			lower_visit_clobbered(add_written, block);
	}
}

static int find_live(struct lower *lower)
{
	int changed = 1;

	for (uint32_t i = 0; i < lower->block_count; i++)
		sum_up(lower, &lower->block[i]);
	while (changed) {
		changed = 0;
		for (uint32_t i = lower->block_count; i-- > 0;) {
			struct machine_block *block = &lower->block[i];

			for (unsigned word = 0; word < MACHINE_WORDS; word++) {
				uint64_t out = 0, in;

				for (uint32_t n = 0; n < block->next_count; n++)
					out |= lower->block[lower->next[block->next + n]]
						       .live.bits[word];
				in = block->used.bits[word] | (out & ~block->written.bits[word]);
				changed |= in != block->live.bits[word];
				block->live.bits[word] = in;
			}
		}
	}
	return 0;
}

uint32_t lower_find(struct lower *lower, uint32_t name)
{
	while (lower->parent[name] != name) {
		lower->parent[name] = lower->parent[lower->parent[name]];
		name = lower->parent[name];
	}
	return name;
}

static void unite(struct lower *lower, uint32_t a, uint32_t b)
{
	a = lower_find(lower, a);
	b = lower_find(lower, b);
	if (a == b)
		return;
	lower->parent[b] = a;
	if (lower->uses[a] & lower->uses[b] & NAME_IS_WRITTEN)
		lower->uses[a] |= NAME_IS_WRITTEN_TWICE;
	lower->uses[a] |= lower->uses[b];
}

static int make_room(struct lower *lower, uint32_t count)
{
	uint32_t room = lower->name_room ? lower->name_room : 1024;
	uint32_t *parent;
	uint8_t *uses;

	if (lower->name_count + count <= lower->name_room)
		return 0;
	while (room < lower->name_count + count)
		room *= 2;
	parent = realloc(lower->parent, room * sizeof(*parent));
	if (parent)
		lower->parent = parent;
	uses = realloc(lower->uses, room);
	if (uses)
		lower->uses = uses;
	if (!parent || !uses)
		return lower_refuse(lower, "out of memory");
	lower->name_room = room;
	return 0;
}

static uint32_t new_name(struct lower *lower, uint8_t uses)
{
	lower->parent[lower->name_count] = lower->name_count;
	lower->uses[lower->name_count] = uses;
	return lower->name_count++;
}

void lower_begin_block(struct lower *lower, const struct machine_block *block)
{
	uint32_t name = block->phi;

	lower->swap_count = 0;
	memset(lower->bits, 0, sizeof(lower->bits));
	memset(lower->comparison, 0, sizeof(lower->comparison));
	for (unsigned reg = 0; reg < MACHINE_REGISTERS; reg++)
		lower->current[reg] = machine_set_has(&block->live, reg) ? name++ : reg;
}

struct naming {
	struct lower *lower;
	int makes; /* the first pass */
};

static void name_written(void *arg, unsigned reg)
{
	struct naming *naming = arg;
	struct lower *lower = naming->lower;

	lower->own[reg] = naming->makes ? new_name(lower, NAME_IS_WRITTEN) : lower->name_count++;
}

static void name_all(struct lower *lower, int makes, uint32_t context)
{
	struct naming naming = { lower, makes };

	lower_visit_written(&lower->in, name_written, &naming);
	if (lower_is_unknown_call(lower, &lower->in, lower->at_section, lower->at, context))
		lower_visit_clobbered(name_written, &naming);
}

void lower_take_names(struct lower *lower, uint32_t context)
{
	name_all(lower, 0, context);
}

static void set_current(void *arg, unsigned reg)
{
	struct lower *lower = arg;

	lower->current[reg] = lower->own[reg];
}

void lower_end_names(struct lower *lower, uint32_t context)
{
	lower_visit_written(&lower->in, set_current, lower);
	if (lower_is_unknown_call(lower, &lower->in, lower->at_section, lower->at, context))
		lower_visit_clobbered(set_current, lower);
}

/* From here on names are assigned again, in the same order. */
void lower_begin_names(struct lower *lower)
{
	lower->name_count = MACHINE_REGISTERS;
	for (uint32_t i = 0; i < lower->block_count; i++)
		for (unsigned reg = 0; reg < MACHINE_REGISTERS; reg++)
			lower->name_count += (uint32_t)machine_set_has(&lower->block[i].live, reg);
}

static void note_read(void *arg, unsigned reg)
{
	struct lower *lower = arg;

	lower->uses[lower_find(lower, lower->current[reg])] |= NAME_IS_READ;
}

static int name_block(struct lower *lower, uint32_t number)
{
	const struct machine_block *block = &lower->block[number];
	uint32_t first = lower->name_count;

	lower_begin_block(lower, block);
	lower->at_section = block->section;
	for (lower->at = block->start; lower->at < block->end; lower->at += SASS_BYTES) {
		lower_decode(lower, block->section, lower->at, &lower->in);
		if (make_room(lower, 2 * MACHINE_REGISTERS))
			return -1;
		lower_visit_read(&lower->in, note_read, lower);
		name_all(lower, 1, block->context);
		if (lower_keep_copies(lower, first))
			return -1;
		lower_end_names(lower, block->context);
	}
	for (uint32_t n = 0; n < block->next_count; n++) {
		const struct machine_block *to = &lower->block[lower->next[block->next + n]];
		uint32_t phi = to->phi;

		for (unsigned reg = 0; reg < MACHINE_REGISTERS; reg++)
			if (machine_set_has(&to->live, reg))
				unite(lower, phi++, lower->current[reg]);
	}
	return 0;
}

int lower_find_names(struct lower *lower)
{
	find_live(lower);
	/* The first names are for registers that nothing has written. */
	if (make_room(lower, MACHINE_REGISTERS))
		return -1;
	for (unsigned reg = 0; reg < MACHINE_REGISTERS; reg++)
		new_name(lower, 0);
	for (uint32_t i = 0; i < lower->block_count; i++) {
		lower->block[i].phi = lower->name_count;
		if (make_room(lower, MACHINE_REGISTERS))
			return -1;
		for (unsigned reg = 0; reg < MACHINE_REGISTERS; reg++)
			if (machine_set_has(&lower->block[i].live, reg))
				new_name(lower, 0);
	}
	for (uint32_t i = 0; i < lower->block_count; i++)
		if (name_block(lower, i))
			return -1;
	lower->reg = calloc(lower->name_count + 1, sizeof(*lower->reg));
	if (!lower->reg)
		return lower_refuse(lower, "out of memory");
	return lower_find_conditions(lower);
}
