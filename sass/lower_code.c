/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers single instructions: moves, predicates and control flow. */
#include <stdlib.h>

#include "builtin.h"
#include "lower_internal.h"

static void lower_copy(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	const struct sass_operand *to = NULL, *from = &in->from[0];

	for (unsigned i = 0; i < in->to_count; i++)
		if (in->to[i].kind == SASS_OPERAND_GENERAL ||
			in->to[i].kind == SASS_OPERAND_UNIFORM)
			to = &in->to[i];
	if (!to || !in->from_count)
		return;
	if (in->is_64 || to->count == 2) {
		struct ptx_operand whole = lower_source64(lower, from);

		lower_unpack(lower, lower_target(lower, to, 0), lower_target(lower, to, 1), whole);
		return;
	}
	lower_move(lower, lower_target(lower, to, 0), lower_source(lower, from, 0));
}

/* Writes a comparison's result to the first predicate, and its opposite to the second. */
static void give_both(struct lower *lower, struct ptx_operand result, struct ptx_operand other)
{
	static const uint8_t combine[] = {
		[SASS_COMBINE_AND] = OP_AND,
		[SASS_COMBINE_OR] = OP_OR,
		[SASS_COMBINE_XOR] = OP_XOR,
	};
	const struct sass_instruction *in = &lower->in;
	enum ptx_opcode opcode = combine[in->combine <= SASS_COMBINE_XOR ? in->combine : 0];
	struct ptx_operand reverse = lower_sink;

	if (in->to_count > 1 && in->to[1].number != SASS_NONE)
		reverse = lower_and(lower, opcode, lower_not(lower, result), other);
	lower_move_predicate(lower, lower_target(lower, &in->to[0], 0),
		lower_and(lower, opcode, result, other));
	if (reverse.kind != OPERAND_SINK)
		lower_move_predicate(lower, lower_target(lower, &in->to[1], 0), reverse);
}

static void compare(struct lower *lower)
{
	static const uint8_t compares[] = {
		[SASS_COMPARE_LT] = COMPARE_LT,
		[SASS_COMPARE_EQ] = COMPARE_EQ,
		[SASS_COMPARE_LE] = COMPARE_LE,
		[SASS_COMPARE_GT] = COMPARE_GT,
		[SASS_COMPARE_NE] = COMPARE_NE,
		[SASS_COMPARE_GE] = COMPARE_GE,
		[SASS_COMPARE_TRUE] = 0,
	};
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand a, b, low, other, result;
	struct ptx_instruction *made;

	other = in->from_count > 2 ? lower_predicate(lower, &in->from[2]) : lower_number(1);
	if (in->compare == SASS_COMPARE_FALSE || in->compare >= SASS_COMPARE_TRUE) {
		give_both(lower, lower_number(in->compare != SASS_COMPARE_FALSE), other);
		return;
	}
	a = in->is_64 ? lower_source64(lower, &in->from[0]) : lower_source(lower, &in->from[0], 0);
	b = in->is_64 ? lower_source64(lower, &in->from[1]) : lower_source(lower, &in->from[1], 0);
	low = in->is_extended && in->from_count > 3 ? lower_predicate(lower, &in->from[3])
						    : lower_number(1);
	result = lower_reg(lower_temp(lower));
	made = lower_begin(lower, OP_SETP, in->is_signed ? CLASS_SIGNED : CLASS_UNSIGNED,
		in->is_64 ? 8 : 4);
	made->compare = compares[in->compare];
	if (in->is_extended)
		made->modifiers |= MODIFIER_EXTENDED;
	lower_add(lower, result);
	lower_add(lower, a);
	lower_add(lower, b);
	if (in->is_extended)
		lower_add(lower, low);
	give_both(lower, result, other);
}

/* Applies a table of two predicates, with index 2 * a + b. */
static struct ptx_operand of_two(struct lower *lower, unsigned table, struct ptx_operand a,
	struct ptx_operand b)
{
	unsigned with = table >> 2 & 3, without = table & 3;
	struct ptx_operand part[2] = { lower_number(0), lower_number(0) };

	if (with == without) /* a has no effect */
		return with == 0    ? lower_number(0)
			: with == 3 ? lower_number(1)
			: with == 2 ? b
				    : lower_not(lower, b);
	if (with == 3 && without == 0)
		return a;
	if (with == 0 && without == 3)
		return lower_not(lower, a);
	if (with == 2 && without == 1)
		return lower_not(lower, lower_and(lower, OP_XOR, a, b));
	if (with == 1 && without == 2)
		return lower_and(lower, OP_XOR, a, b);
	for (int i = 0; i < 2; i++) {
		unsigned bits = i ? without : with;
		struct ptx_operand value = bits == 0 ? lower_number(0)
			: bits == 3                  ? lower_number(1)
			: bits == 2                  ? b
						     : lower_not(lower, b);

		part[i] = lower_and(lower, OP_AND, i ? lower_not(lower, a) : a, value);
	}
	return lower_and(lower, OP_OR, part[0], part[1]);
}

static struct ptx_operand of_three(struct lower *lower, unsigned table,
	const struct ptx_operand p[3])
{
	unsigned with = table >> 4 & 15, without = table & 15;
	struct ptx_operand a, b;

	if (p[0].kind == OPERAND_NUMBER)
		return of_two(lower, p[0].value ? with : without, p[1], p[2]);
	if (with == without)
		return of_two(lower, with, p[1], p[2]);
	a = lower_and(lower, OP_AND, p[0], of_two(lower, with, p[1], p[2]));
	b = lower_and(lower, OP_AND, lower_not(lower, p[0]), of_two(lower, without, p[1], p[2]));
	return lower_and(lower, OP_OR, a, b);
}

static void combine_predicates(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand p[3], result[2];

	for (unsigned i = 0; i < 3; i++)
		p[i] = i < in->from_count ? lower_predicate(lower, &in->from[i]) : lower_number(1);
	for (unsigned i = 0; i < 2; i++)
		result[i] = i < in->to_count && in->to[i].number != SASS_NONE
			? of_three(lower, i ? in->table2 : in->table, p)
			: lower_sink;
	for (unsigned i = 0; i < 2 && i < in->to_count; i++)
		if (result[i].kind != OPERAND_SINK)
			lower_move_predicate(lower, lower_target(lower, &in->to[i], 0), result[i]);
}

static struct ptx_operand special_of(const struct sass_operand *from)
{
	static const struct {
		uint8_t machine, special;
	} known[] = {
		{ SASS_SPECIAL_LANEID, SPECIAL_LANEID },
		{ SASS_SPECIAL_TID_X, SPECIAL_TID_X },
		{ SASS_SPECIAL_TID_Y, SPECIAL_TID_Y },
		{ SASS_SPECIAL_TID_Z, SPECIAL_TID_Z },
		{ SASS_SPECIAL_CTAID_X, SPECIAL_CTAID_X },
		{ SASS_SPECIAL_CTAID_Y, SPECIAL_CTAID_Y },
		{ SASS_SPECIAL_CTAID_Z, SPECIAL_CTAID_Z },
	};

	if (from->kind != SASS_OPERAND_SPECIAL)
		return lower_unknown;
	if (from->number == SASS_SPECIAL_ZERO_REGISTER)
		return lower_number(0);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (from->number == known[i].machine)
			return (struct ptx_operand){ OPERAND_SPECIAL, known[i].special, 0 };
	return lower_unknown;
}

static void read_special(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand from = special_of(&in->from[0]);

	if (in->from[0].kind == SASS_OPERAND_SPECIAL && in->from[0].number == SASS_SPECIAL_SWINHI)
		from = lower_shared_window(lower);

	if (from.kind == OPERAND_UNKNOWN || !in->to_count)
		return;
	lower_move(lower, lower_target(lower, &in->to[0], 0), from);
	if (in->to[0].count == 2)
		lower_move(lower, lower_target(lower, &in->to[0], 1), lower_number(0));
}

static void choose(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand a, b, p;
	unsigned words = in->to[0].count == 2 ? 2 : 1;

	if (in->from_count < 3)
		return;
	p = lower_predicate(lower, &in->from[2]);
	for (unsigned word = 0; word < words; word++) {
		a = lower_source(lower, &in->from[0], word);
		b = lower_source(lower, &in->from[1], word);
		if (p.kind == OPERAND_NUMBER) {
			lower_move(lower, lower_target(lower, &in->to[0], word), p.value ? a : b);
			continue;
		}
		if (lower_target(lower, &in->to[0], word).kind == OPERAND_SINK)
			continue;
		lower_begin(lower, OP_SELP, CLASS_BITS, 4);
		lower_add(lower, lower_target(lower, &in->to[0], word));
		lower_add(lower, a);
		lower_add(lower, b);
		lower_add(lower, p);
	}
}

/* R2P: each predicate is a bit of a register. */
static void bits_to_predicates(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand from = lower_source(lower, &in->from[0], 0);

	for (unsigned i = 0; i < in->to_count; i++) {
		int64_t bit = INT64_C(1) << (8 * in->variant + in->to[i].number);
		struct ptx_operand tested = lower_make(lower, OP_AND, CLASS_BITS, 4, from,
			lower_number((int32_t)bit), lower_sink);
		struct ptx_operand to = lower_target(lower, &in->to[i], 0);

		lower_begin(lower, OP_SETP, CLASS_SIGNED, 4)->compare = COMPARE_NE;
		lower_add(lower, to);
		lower_add(lower, tested);
		lower_add(lower, lower_number(0));
	}
}

/* P2R: some bits are predicates, the others come from another register. */
static void predicates_to_bits(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	int is_uniform = (in->number & 0x80) != 0;
	uint32_t mask = in->from_count > 1 ? (uint32_t)in->from[1].value & 0x7f : 0;
	struct ptx_operand made;

	if (!mask)
		return;
	made = lower_make(lower, OP_AND, CLASS_BITS, 4, lower_source(lower, &in->from[0], 0),
		lower_number((int32_t) ~(mask << 8 * in->variant)), lower_sink);
	for (unsigned i = 0; i < 7; i++) {
		struct sass_operand from = { .kind = is_uniform ? SASS_OPERAND_UNIFORM_PREDICATE
								: SASS_OPERAND_PREDICATE,
			.number = (uint16_t)i };
		struct ptx_operand bit = lower_number(INT64_C(1) << (8 * in->variant + i)), is;

		if (!(mask >> i & 1))
			continue;
		is = lower_predicate(lower, &from);
		if (is.kind == OPERAND_NUMBER)
			bit = is.value ? bit : lower_number(0);
		else
			bit = lower_make(lower, OP_SELP, CLASS_BITS, 4, bit, lower_number(0), is);
		made = lower_make(lower, OP_OR, CLASS_BITS, 4, made, bit, lower_sink);
	}
	lower_move(lower, lower_target(lower, &in->to[0], 0), made);
}

/* griddepcontrol.wait and .launch_dependents */
static int is_dependence(struct lower *lower)
{
	const char *name = lower->in.name ? lower->in.name : "";
	int waits = !strcmp(name, "ACQBULK");
	struct ptx_instruction *made;

	if (!waits && strcmp(name, "PREEXIT") != 0)
		return 0;
	made = lower_begin(lower, OP_GRIDDEPCONTROL, CLASS_BITS, 0);
	made->modifiers = waits ? MODIFIER_WAIT : MODIFIER_LAUNCH;
	made->guard = lower->guard;
	made->negated = (uint8_t)(lower->guard_negated != 0);
	return 1;
}

/* HFMA2 d, RZ, RZ, constant: a move by the compiler when the integer units are busy. */
static int is_move(const struct sass_instruction *in)
{
	return in->opcode == SASS_OTHER && in->to_count == 1 && in->from_count == 3 && in->name &&
		!strncmp(in->name, "HFMA2", 5) && in->from[0].kind == SASS_OPERAND_GENERAL &&
		in->from[0].number == SASS_NONE && in->from[1].kind == SASS_OPERAND_GENERAL &&
		in->from[1].number == SASS_NONE && in->from[2].kind == SASS_OPERAND_IMMEDIATE;
}

/* The result depends on these operands, in an unknown way. */
static void put_made(struct lower *lower, struct ptx_operand from)
{
	const struct sass_instruction *in = &lower->in;

	for (unsigned i = 0; i < in->to_count; i++) {
		int is_predicate = in->to[i].kind == SASS_OPERAND_PREDICATE ||
			in->to[i].kind == SASS_OPERAND_UNIFORM_PREDICATE;
		struct ptx_operand to = lower_target(lower, &in->to[i], 0);

		if (to.kind == OPERAND_SINK)
			continue;
		lower_begin(lower, OP_OTHER, is_predicate ? CLASS_PREDICATE : CLASS_BITS,
			is_predicate ? 1 : 4);
		lower_add(lower, to);
		lower_add(lower, from);
	}
}

/* BAR.RED p, followed by B2R d, q: the predicates of all threads at the barrier, combined. */
static int meet(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;

	for (unsigned i = 0; i < in->from_count && !in->to_count; i++)
		if (in->from[i].kind == SASS_OPERAND_PREDICATE)
			lower->met = lower_predicate(lower, &in->from[i]);
	if (!in->to_count || lower->met.kind != OPERAND_REGISTER)
		return 0;
	put_made(lower, lower->met);
	return 1;
}

/* Values of other threads: only what they depend on is known. */
static int exchange(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;

	if (in->opcode == SASS_BAR)
		return meet(lower);
	if ((in->opcode != SASS_SHFL && in->opcode != SASS_VOTE) || !in->from_count)
		return 0;
	put_made(lower,
		in->opcode == SASS_VOTE ? lower_predicate(lower, &in->from[0])
					: lower_source(lower, &in->from[0], 0));
	return 1;
}

int lower_predicates(struct lower *lower)
{
	if (is_move(&lower->in)) {
		lower_move(lower, lower_target(lower, &lower->in.to[0], 0),
			lower_number((int32_t)(uint32_t)lower->in.from[2].value));
		return 1;
	}
	if (is_dependence(lower))
		return 1;
	switch (lower->in.opcode) {
	case SASS_MOV:
		lower_copy(lower);
		return 1;
	case SASS_SEL:
		choose(lower);
		return 1;
	case SASS_P2R:
		predicates_to_bits(lower);
		return 1;
	case SASS_R2P:
		bits_to_predicates(lower);
		return 1;
	case SASS_SPECIAL:
		read_special(lower);
		return 1;
	case SASS_ISETP:
		compare(lower);
		return 1;
	case SASS_PLOP3:
		combine_predicates(lower);
		return 1;
	default:
		return exchange(lower);
	}
}

/* --- control --- */

static void guard(struct lower *lower, struct ptx_instruction *made, struct ptx_operand condition)
{
	if (condition.kind == OPERAND_REGISTER)
		made->guard = (int32_t)condition.number;
}

/* Returns the branch condition: a register, or the number 1; a new register if unknown. */
static struct ptx_operand condition_of(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	struct ptx_operand condition = lower_number(1);

	if (lower->guard >= 0) {
		condition = lower_reg((uint32_t)lower->guard);
		if (lower->guard_negated)
			condition = lower_not(lower, condition);
	}
	for (unsigned i = 0; i < in->from_count; i++) {
		const struct sass_operand *from = &in->from[i];

		if (from->kind == SASS_OPERAND_PREDICATE ||
			from->kind == SASS_OPERAND_UNIFORM_PREDICATE)
			condition =
				lower_and(lower, OP_AND, condition, lower_predicate(lower, from));
		else if (in->opcode == SASS_BRA && from->kind == SASS_OPERAND_UNIFORM &&
			from->number != SASS_NONE)
			condition = lower_reg(lower_temp(lower));
	}
	if (in->opcode == SASS_BRA && in->variant)
		condition = lower_reg(lower_temp(lower));
	return condition;
}

static void go_to(struct lower *lower, uint32_t block)
{
	lower_begin(lower, OP_BRA, CLASS_BITS, 0);
	lower_add(lower, (struct ptx_operand){ OPERAND_LABEL, block, 0 });
}

static int add_table(struct lower *lower, const struct machine_block *block, uint32_t count)
{
	struct ptx_function *function = lower->function;

	if (PTX_ROOM(function->table, lower->table_room, function->table_count))
		return lower_refuse(lower, "out of memory");
	function->table[function->table_count] =
		(struct ptx_table){ lower->block_count + function->table_count,
			function->target_count, count };
	for (uint32_t i = 0; i < count; i++) {
		if (PTX_ROOM(function->target, lower->target_room, function->target_count))
			return lower_refuse(lower, "out of memory");
		function->target[function->target_count++] = lower->next[block->next + i];
	}
	lower_add(lower, lower_unknown);
	lower_add(lower,
		(struct ptx_operand){ OPERAND_LABEL, function->table[function->table_count].label,
			0 });
	function->table_count++;
	return 0;
}

static void end_block(struct lower *lower, uint32_t number, enum machine_leave leave, int falls)
{
	const struct machine_block *block = &lower->block[number];
	struct ptx_operand condition = lower_number(1);
	struct ptx_instruction *made;
	uint32_t next = block->next_count ? lower->next[block->next] : 0;

	if (leave != LEAVE_NOT)
		condition = condition_of(lower);
	if (leave != LEAVE_NOT && condition.kind == OPERAND_NUMBER && !condition.value) {
		/* The branch turns out to be never taken. */
	} else if (leave == LEAVE_END) {
		made = lower_begin(lower, OP_EXIT, CLASS_BITS, 0);
		guard(lower, made, condition);
	} else if (leave == LEAVE_TABLE) {
		made = lower_begin(lower, OP_BRX, CLASS_BITS, 0);
		guard(lower, made, condition);
		if (add_table(lower, block, block->next_count - (falls ? 1 : 0)))
			return;
	} else if (leave != LEAVE_NOT) {
		go_to(lower, next);
		if (lower->last)
			guard(lower, lower->last, condition);
	}
	if (falls && block->next_count &&
		lower->next[block->next + block->next_count - 1] != number + 1)
		go_to(lower, lower->next[block->next + block->next_count - 1]);
}

static void forget_clobbered(void *arg, unsigned machine)
{
	struct lower *lower = arg;

	/* Only if something reads it. */
	if (!(lower->uses[lower_find(lower, lower->own[machine])] & NAME_IS_READ))
		return;
	lower_begin(lower, OP_OTHER, machine >= MACHINE_PREDICATE ? CLASS_PREDICATE : CLASS_BITS,
		machine >= MACHINE_PREDICATE ? 1 : 4);
	lower_add(lower, lower_own(lower, machine));
}

static void set_guard(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	unsigned base = in->guard_is_uniform ? MACHINE_UNIFORM_PREDICATE : MACHINE_PREDICATE;
	struct ptx_operand value;

	lower->guard = -1;
	lower->guard_negated = in->guard_negated;
	if (in->guard >= 7)
		return;
	lower->when = lower_guard(lower);
	value = lower_read(lower, base + in->guard);
	if (value.kind != OPERAND_REGISTER) {
		/* Nothing has written it: it may have either value. */
		value = lower_reg(lower_temp(lower));
	}
	lower->guard = (int32_t)value.number;
}

static void lower_one(struct lower *lower, uint32_t context)
{
	if (lower_is_unknown_call(lower, &lower->in, lower->at_section, lower->at, context)) {
		/* Calls a function without code here: one of CUDA's own, or through a pointer. */
		const char *name = lower_call_name(lower, &lower->in, lower->at_section, lower->at);
		enum builtin what = name ? builtin_of(name, strlen(name)) : BUILTIN_NONE;

		if (what != BUILTIN_PRINTF && what != BUILTIN_ASSERT) {
			struct ptx_instruction *made = lower_begin(lower, OP_CALL, CLASS_BITS, 0);

			made->guard = lower->guard;
			made->negated = (uint8_t)(lower->guard_negated != 0);
			lower_add(lower, lower_unknown);
		}
		lower_visit_clobbered(forget_clobbered, lower);
		lower_drop_writes(lower);
		return;
	}
	lower->first = lower->function->instruction_count;
	if (!lower_predicates(lower) && !lower_integer(lower) && !lower_memory(lower))
		lower_read_constants(lower);
	lower_finish(lower);
}

static void lower_block(struct lower *lower, uint32_t number)
{
	const struct machine_block *block = &lower->block[number];
	uint32_t first = lower->function->instruction_count;
	enum machine_leave leave = LEAVE_NOT;
	int falls = 1;

	lower->function->label[number] = first;
	lower_begin_block(lower, block);
	memset(lower->under, 0, sizeof(lower->under));
	lower->met = lower_sink;
	lower->at_section = block->section;
	for (lower->at = block->start; lower->at < block->end && !lower->failed;
		lower->at += SASS_BYTES) {
		lower_decode(lower, block->section, lower->at, &lower->in);
		lower_take_names(lower, block->context);
		set_guard(lower);
		leave = lower_leaves(lower, &lower->in, block->section, lower->at, block->context,
			&falls);
		if (leave == LEAVE_NOT)
			lower_one(lower, block->context);
		else
			end_block(lower, number, leave, falls);
		lower_note_copies(lower);
		lower_end_names(lower, block->context);
	}
	if (leave == LEAVE_NOT && !lower->failed)
		end_block(lower, number, leave, falls);
	/* A label needs an instruction. */
	if (lower->function->instruction_count == first)
		lower_begin(lower, OP_OTHER, CLASS_BITS, 0);
}

int lower_code(struct lower *lower)
{
	struct ptx_function *function = lower->function;

	function->label = calloc(2 * lower->block_count + 2, sizeof(*function->label));
	if (!function->label)
		return lower_refuse(lower, "out of memory");
	lower_begin_names(lower);
	for (uint32_t i = 0; i < lower->block_count && !lower->failed; i++)
		lower_block(lower, i);
	if (lower->failed)
		return -1;
	for (uint32_t i = 0; i < function->table_count; i++)
		function->label[lower->block_count + i] = UINT32_MAX;
	function->labels.count = lower->block_count + function->table_count;
	return 0;
}
