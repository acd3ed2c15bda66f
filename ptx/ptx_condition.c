/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicates: what they compare, and what follows from their value.  Everything that follows is
 * known only for comparisons of sums of indices, rounds and parts of splits: for other numbers a
 * state does not know which index belongs to which number.
 */
#include "ptx_walk.h"

#define DEPTH_LIMIT 8 /* of conditions; deeper ones narrow nothing: more may be accessed */

struct ptx_condition *ptx_condition_of(struct ptx_frame *frame, uint32_t reg)
{
	/* A register with several writes has no single condition. */
	if (frame->function->reg[reg].slot != PTX_NO_SLOT)
		return NULL;
	if (!frame->condition_of[reg]) {
		if (PTX_ROOM(frame->condition, frame->condition_room, frame->condition_count))
			return NULL;
		memset(&frame->condition[frame->condition_count], 0, sizeof(*frame->condition));
		frame->condition_of[reg] = ++frame->condition_count;
	}
	return &frame->condition[frame->condition_of[reg] - 1];
}

static int is_less(uint8_t compare)
{
	return compare == COMPARE_LT || compare == COMPARE_LE;
}

static int is_strict(uint8_t compare)
{
	return compare == COMPARE_LT || compare == COMPARE_GT;
}

/*
 * Returns the index of the low operand that belongs to the first high operand: compilers write a <=
 * b of low halves as b >= a if that saves a register.  -1: the two are not one comparison of 64
 * bits.
 */
static int first_of_low(const struct ptx_frame *frame, const struct ptx_condition *low,
	const struct ptx_condition *high, uint8_t compare)
{
	const struct ptx_walk *walk = frame->walk;

	if (compare == COMPARE_EQ || compare == COMPARE_NE)
		return low->compare != compare ? -1
			: ptx_is_congruent(walk, &low->raw[0], &high->raw[0])
			? 0
			: ptx_is_congruent(walk, &low->raw[1], &high->raw[0]) ||
				ptx_is_congruent(walk, &low->raw[0], &high->raw[1]);
	if (low->compare == COMPARE_EQ || low->compare == COMPARE_NE || !low->is_unsigned ||
		is_strict(low->compare) != is_strict(compare))
		return -1;
	return is_less(low->compare) != is_less(compare);
}

/* A comparison of high halves, with the low halves' result as a predicate, compares 64 bits. */
static int pack(struct ptx_frame *frame, struct ptx_condition *condition,
	const struct ptx_instruction *in, struct ptx_state *state)
{
	const struct ptx_operand *operand = &frame->function->operand[in->operand];
	const struct ptx_operand *last = &operand[in->count - 1];
	uint32_t instruction = (uint32_t)(in - frame->function->instruction);
	const struct ptx_condition *low;
	int first;

	if (last->kind != OPERAND_REGISTER || !frame->condition_of[last->number])
		return 0;
	low = &frame->condition[frame->condition_of[last->number] - 1];
	first = low->is_comparison ? first_of_low(frame, low, condition, in->compare) : -1;
	for (int i = 0; first >= 0 && i < 2; i++)
		condition->raw[i] = ptx_pack(frame, state, instruction, &low->raw[i ^ first],
			&condition->raw[i]);
	return first >= 0;
}

static struct ptx_value number_if_half(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *value)
{
	return value->half ? ptx_number_of(frame, state, *value) : *value;
}

static void compare(struct ptx_frame *frame, struct ptx_condition *condition,
	const struct ptx_instruction *in, struct ptx_state *state)
{
	const struct ptx_operand *operand = &frame->function->operand[in->operand];
	uint32_t first = ptx_written(frame->function, in);

	if (in->type.class == CLASS_FLOAT || !in->compare || in->count < first + 2)
		return;
	condition->raw[0] = ptx_operand(frame, state, &operand[first]);
	condition->raw[1] = ptx_operand(frame, state, &operand[first + 1]);
	condition->is_comparison = !(in->modifiers & MODIFIER_EXTENDED);
	condition->compare = in->compare;
	condition->is_unsigned = in->type.class == CLASS_UNSIGNED;
	condition->bytes = in->modifiers & MODIFIER_EXTENDED ? 8 : in->type.bytes;
	if (in->modifiers & MODIFIER_EXTENDED && !pack(frame, condition, in, state))
		return;
	condition->a = number_if_half(frame, state, &condition->raw[0]);
	condition->b = number_if_half(frame, state, &condition->raw[1]);
	if (condition->a.base != condition->b.base || condition->a.id != condition->b.id ||
		condition->a.base == BASE_UNKNOWN || condition->a.base == BASE_WORDS)
		return;
	condition->difference = condition->a;
	if (ptx_add_terms(&condition->difference, &condition->b, -1))
		return;
	condition->difference.base = BASE_NUMBER;
	condition->kind = CONDITION_COMPARE;
}

/* isspacep: memory that a parameter points to is global. */
static void set_space(struct ptx_frame *frame, struct ptx_condition *condition,
	const struct ptx_instruction *in, const struct ptx_state *state)
{
	const struct ptx_operand *operand = &frame->function->operand[in->operand];
	struct ptx_value address;

	if (in->count < 2)
		return;
	address = ptx_operand(frame, state, &operand[1]);
	if (address.half || (address.base != BASE_WORDS && address.base != BASE_WORD))
		return;
	condition->kind = CONDITION_KNOWN;
	condition->compare = in->space == SPACE_GLOBAL;
}

void ptx_set_condition(struct ptx_frame *frame, const struct ptx_instruction *in,
	struct ptx_state *state)
{
	const struct ptx_operand *operand = &frame->function->operand[in->operand];
	struct ptx_condition *condition;

	/* p|q: the second result is the opposite and is not tracked. */
	if (operand->kind == OPERAND_VECTOR && in->count > 1)
		operand++;
	if (operand->kind != OPERAND_REGISTER)
		return;
	condition = ptx_condition_of(frame, operand->number);
	operand = &frame->function->operand[in->operand];
	if (!condition)
		return;
	condition->kind = CONDITION_UNKNOWN;
	condition->is_comparison = 0;
	if (in->opcode == OP_ISSPACEP) {
		set_space(frame, condition, in, state);
	} else if (in->opcode == OP_SETP && !(in->modifiers & MODIFIER_COMBINED)) {
		compare(frame, condition, in, state);
	} else if (in->opcode == OP_MOV && in->count == 2 && operand[1].kind == OPERAND_NUMBER) {
		condition->kind = CONDITION_KNOWN;
		condition->compare = operand[1].value != 0;
	} else if (in->count == 3 && operand[1].kind == OPERAND_REGISTER &&
		operand[2].kind == OPERAND_REGISTER &&
		(in->opcode == OP_AND || in->opcode == OP_OR || in->opcode == OP_XOR)) {
		condition->kind = in->opcode == OP_AND ? CONDITION_AND
			: in->opcode == OP_OR          ? CONDITION_OR
						       : CONDITION_XOR;
		condition->first = operand[1].number;
		condition->second = operand[2].number;
	} else if (in->count == 2 && operand[1].kind == OPERAND_REGISTER && in->opcode == OP_NOT) {
		condition->kind = CONDITION_NOT;
		condition->first = operand[1].number;
	}
}

/* A loop that ends by "!=" reaches its limit from the side on which it starts. */
static int side_of(const struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_value *difference)
{
	struct ptx_value start = *difference;
	struct ptx_range range;
	int rounds = 0;

	for (unsigned i = 0; i < start.count;) {
		uint32_t symbol = start.term[i].symbol;
		int64_t first = ptx_multiply_bound(state->range[symbol].low, start.term[i].factor);

		if (frame->walk->symbol[symbol].which != WHICH_ROUNDS) {
			i++;
			continue;
		}
		rounds = 1;
		start.low = ptx_add_bound(start.low, first);
		start.high = ptx_add_bound(start.high, first);
		start.count--;
		memmove(&start.term[i], &start.term[i + 1],
			(start.count - i) * sizeof(*start.term));
	}
	if (!rounds)
		return COMPARE_NE;
	range = ptx_bounds(&start, state);
	return range.low > 0 ? COMPARE_GT : range.high < 0 ? COMPARE_LT : COMPARE_NE;
}

/* Only the symbols of x are known, and threads differ in these only. */
static int is_plain(const struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_value *x)
{
	if (x->loaded || x->low != x->high)
		return 0;
	for (unsigned i = 0; i < x->count; i++) {
		uint32_t symbol = x->term[i].symbol;

		if (symbol < PTX_FIXED_SYMBOLS || ptx_split_of(state, symbol))
			continue;
		if (frame->walk->symbol[symbol].which != WHICH_ROUNDS ||
			ptx_has_left_some(frame, symbol))
			return 0;
	}
	return 1;
}

/* Excludes 0 at an end of the range of x; returns 1 if it was there. */
static int exclude_zero(struct ptx_state *state, const struct ptx_value *x)
{
	struct ptx_range range = ptx_bounds(x, state);

	if (!range.low && !range.high)
		state->possible = 0;
	else if (!range.low && x->low == x->high && x->low != INT64_MIN)
		return ptx_constrain(state, x->term, x->count,
			(struct ptx_range){ ptx_add_bound(1, -x->low), INT64_MAX });
	else if (!range.high && x->low == x->high && x->low != INT64_MIN)
		return ptx_constrain(state, x->term, x->count,
			(struct ptx_range){ INT64_MIN, ptx_add_bound(-1, -x->low) });
	return !state->possible;
}

/* Returns 1 if every x within these bounds compares so with 0. */
static int is_sure(struct ptx_range bounds, int compare)
{
	switch (compare) {
	case COMPARE_EQ:
		return !bounds.low && !bounds.high;
	case COMPARE_NE:
		return bounds.low > 0 || bounds.high < 0;
	case COMPARE_LT:
		return bounds.high < 0;
	case COMPARE_LE:
		return bounds.high <= 0;
	case COMPARE_GT:
		return bounds.low > 0;
	default:
		return bounds.low >= 0;
	}
}

/* Assumes that x compares so with 0; returns 1 as for ptx_assume(). */
static int apply(struct ptx_frame *frame, struct ptx_state *state, const struct ptx_value *x,
	int compare)
{
	struct ptx_range range = { INT64_MIN, INT64_MAX }, bounds = ptx_bounds(x, state);

	/* The fact is stored in any case, since a join needs it from each path. */
	int sure = is_sure(bounds, compare);

	if (compare == COMPARE_NE)
		compare = side_of(frame, state, x);
	if (compare == COMPARE_NE)
		return (exclude_zero(state, x) && is_plain(frame, state, x)) || sure;
	if (compare == COMPARE_LT || compare == COMPARE_LE || compare == COMPARE_EQ)
		range.high = ptx_minus_bound(x->low);
	if (compare == COMPARE_GT || compare == COMPARE_GE || compare == COMPARE_EQ)
		range.low = ptx_minus_bound(x->high);
	if (compare == COMPARE_LT)
		range.high = ptx_add_bound(range.high, -1);
	if (compare == COMPARE_GT)
		range.low = ptx_add_bound(range.low, 1);
	if ((range.high != INT64_MAX && bounds.low > (compare == COMPARE_LT ? -1 : 0)) ||
		(range.low != INT64_MIN && bounds.high < (compare == COMPARE_GT))) {
		state->possible = 0;
		return 1;
	}
	return (ptx_constrain(state, x->term, x->count, range) && is_plain(frame, state, x)) ||
		sure;
}

int ptx_assume_number(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_operand *operand, int64_t number)
{
	struct ptx_value value = ptx_operand(frame, state, operand);

	if (value.base != BASE_NUMBER)
		return 0;
	value.low = ptx_add_bound(value.low, -number);
	value.high = ptx_add_bound(value.high, -number);
	return apply(frame, state, &value, COMPARE_EQ);
}

static int opposite(int compare)
{
	static const uint8_t of[] = {
		[COMPARE_EQ] = COMPARE_NE,
		[COMPARE_NE] = COMPARE_EQ,
		[COMPARE_LT] = COMPARE_GE,
		[COMPARE_LE] = COMPARE_GT,
		[COMPARE_GT] = COMPARE_LE,
		[COMPARE_GE] = COMPARE_LT,
	};

	return of[compare];
}

/* Above the largest signed number with that many bytes: negative as a signed number. */
static int may_look_negative(struct ptx_range range, unsigned bytes)
{
	return bytes && bytes < 8 && range.high != INT64_MAX &&
		range.high >= INT64_C(1) << (8 * bytes - 1);
}

/*
 * Values are signed or unsigned depending on the instruction that made them.  For a comparison,
 * values that differ by 2^32 are equal.
 */
static int may_be_other_numbers(const struct ptx_condition *condition, int compare,
	const struct ptx_range *a, const struct ptx_range *b)
{
	int a_looks = may_look_negative(*a, condition->bytes);
	int b_looks = may_look_negative(*b, condition->bytes);

	if (compare == COMPARE_EQ || compare == COMPARE_NE)
		return (a_looks && b->low < 0) || (b_looks && a->low < 0);
	return !condition->is_unsigned && (a_looks || b_looks);
}

static int assume_comparison(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_condition *condition, int compare)
{
	struct ptx_range a = ptx_bounds(&condition->a, state);
	struct ptx_range b = ptx_bounds(&condition->b, state);
	int is_all = 1;

	if (condition->a.base == BASE_NUMBER && may_be_other_numbers(condition, compare, &a, &b))
		return 0;
	if (condition->is_unsigned && compare != COMPARE_EQ && compare != COMPARE_NE) {
		int is_less = compare == COMPARE_LT || compare == COMPARE_LE;
		struct ptx_range *larger = is_less ? &b : &a, *smaller = is_less ? &a : &b;

		if (larger->low < 0)
			return 0; /* as a signed number it differs */
		if (smaller->low < 0 && larger->high > INT32_MAX && larger->high != INT64_MAX)
			return 0; /* the other one may differ, too */
		/*
		 * A number below a value that is not negative is unsigned here, so not negative
		 * either.
		 */
		if (is_less && a.low < 0)
			is_all &= apply(frame, state, &condition->a, COMPARE_GE);
		if (!is_less && b.low < 0)
			is_all &= apply(frame, state, &condition->b, COMPARE_GE);
	}
	return apply(frame, state, &condition->difference, compare) & is_all;
}

static int may_be(struct ptx_frame *frame, const struct ptx_state *state, uint32_t predicate,
	int value, unsigned depth)
{
	struct ptx_state copy;

	/* Registers are not copied: conditions contain the values that they compare. */
	memcpy(&copy, state, sizeof(copy));
	ptx_assume(frame, &copy, predicate, value, depth);
	return copy.possible;
}

/* Assumes that at least one of two predicates has the value; complete only if one decides alone. */
static int assume_either(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_condition *condition, int value, unsigned depth)
{
	const uint32_t both[2] = { condition->first, condition->second };

	for (int i = 0; i < 2; i++)
		if (!may_be(frame, state, both[i], value, depth))
			return ptx_assume(frame, state, both[!i], value, depth);
	return !may_be(frame, state, both[0], !value, depth) ||
		!may_be(frame, state, both[1], !value, depth);
}

static int assume_differ(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_condition *condition, int value, unsigned depth)
{
	const uint32_t both[2] = { condition->first, condition->second };

	for (int i = 0; i < 2; i++)
		for (int other = 0; other < 2; other++)
			if (!may_be(frame, state, both[i], !other, depth))
				return ptx_assume(frame, state, both[!i], value != other, depth);
	return 0;
}

int ptx_assume(struct ptx_frame *frame, struct ptx_state *state, uint32_t predicate, int value,
	unsigned depth)
{
	const struct ptx_condition *condition;
	int first;

	if (!frame->condition_of[predicate] || depth > DEPTH_LIMIT ||
		frame->function->reg[predicate].slot != PTX_NO_SLOT)
		return 0;
	condition = &frame->condition[frame->condition_of[predicate] - 1];
	switch (condition->kind) {
	case CONDITION_KNOWN:
		state->possible &= condition->compare == value;
		return 1;
	case CONDITION_COMPARE:
		return assume_comparison(frame, state, condition,
			value ? condition->compare : opposite(condition->compare));
	case CONDITION_AND:
	case CONDITION_OR:
		if (value != (condition->kind == CONDITION_AND))
			return assume_either(frame, state, condition, value, depth + 1);
		first = ptx_assume(frame, state, condition->first, value, depth + 1);
		return ptx_assume(frame, state, condition->second, value, depth + 1) & first;
	case CONDITION_XOR:
		return assume_differ(frame, state, condition, value, depth + 1);
	case CONDITION_NOT:
		return ptx_assume(frame, state, condition->first, !value, depth + 1);
	default:
		return 0;
	}
}
