/* SPDX-License-Identifier: Apache-2.0 */
/* Divisions: what is known of a quotient and a remainder also limits the dividend. */
#include "ptx_walk.h"

/* The dividend must be a sum of indices, rounds and parts of other splits, and not negative. */
static int may_split(const struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_value *a, int64_t modulus)
{
	struct ptx_range range = ptx_bounds(a, state);

	if (a->base != BASE_NUMBER || a->loaded || a->low != a->high || !a->count ||
		range.low < 0 || range.high == INT64_MAX || modulus < 2)
		return 0;
	for (unsigned i = 0; i < a->count; i++) {
		uint32_t symbol = a->term[i].symbol;

		if (symbol >= PTX_FIXED_SYMBOLS &&
			frame->walk->symbol[symbol].which != WHICH_ROUNDS &&
			!ptx_split_of(state, symbol))
			return 0;
	}
	return 1;
}

const struct ptx_split *ptx_make_split(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction, const struct ptx_value *a, int64_t modulus)
{
	const struct ptx_split *known = ptx_find_split(state, a, modulus);
	struct ptx_walk *walk = frame->walk;
	struct ptx_range range = ptx_bounds(a, state);
	struct ptx_split made = { .count = a->count, .constant = a->low, .modulus = modulus };

	if (known || !may_split(frame, state, a, modulus))
		return known;
	made.quotient = ptx_symbol(walk, frame->path, instruction, WHICH_QUOTIENT);
	made.remainder = ptx_symbol(walk, frame->path, instruction, WHICH_REMAINDER);
	if (made.quotient == PTX_NO_SYMBOL || made.remainder == PTX_NO_SYMBOL)
		return NULL;
	memcpy(made.term, a->term, a->count * sizeof(*a->term));
	ptx_redefine(state, made.quotient,
		(struct ptx_range){ range.low / modulus, range.high / modulus });
	ptx_redefine(state, made.remainder, (struct ptx_range){ 0, modulus - 1 });
	if (state->split_count == PTX_SPLITS)
		return NULL;
	state->split[state->split_count++] = made;
	return &state->split[state->split_count - 1];
}

/*
 * Returns the instruction whose result's high half is the symbol, a product of a register and a
 * number; NULL: none.
 */
static const struct ptx_instruction *product_of(const struct ptx_frame *frame, uint32_t number)
{
	const struct ptx_function *function = frame->function;
	const struct ptx_instruction *in;
	const struct ptx_operand *operand;
	const struct ptx_symbol *symbol = &frame->walk->symbol[number];

	if (number < PTX_FIXED_SYMBOLS || symbol->which != WHICH_RESULT ||
		symbol->path != frame->path)
		return NULL;
	in = &function->instruction[symbol->place];
	operand = &function->operand[in->operand];
	return in->opcode == OP_MUL && in->modifiers & MODIFIER_HIGH && in->type.bytes == 4 &&
			in->count == 3 && operand[1].kind == OPERAND_REGISTER &&
			operand[2].kind == OPERAND_NUMBER &&
			function->reg[operand[1].number].slot == PTX_NO_SLOT
		? in
		: NULL;
}

/*
 * The value is that high half, or, for a number that is negative as 32 bits, the sum of it and the
 * register.  Returns the factor of the register, divided by 2^32; 0: another value.
 */
static int64_t factor_of(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_value *value, struct ptx_value *divided)
{
	const struct ptx_instruction *in = NULL;
	const struct ptx_operand *operand;
	struct ptx_value half = { 0 };

	for (unsigned i = 0; i < value->count && !in; i++) {
		half = ptx_symbol_value(value->term[i].symbol);
		if (value->term[i].factor == 1)
			in = product_of(frame, value->term[i].symbol);
	}
	if (!in)
		return 0;
	operand = &frame->function->operand[in->operand];
	*divided = ptx_operand(frame, state, &operand[1]);
	if (ptx_same(value, &half))
		return in->type.class == CLASS_UNSIGNED ? (uint32_t)operand[2].value
							: operand[2].value;
	if (in->type.class != CLASS_SIGNED || operand[2].value >= 0 ||
		ptx_add_terms(&half, divided, 1) || !ptx_same(value, &half))
		return 0;
	return operand[2].value + (INT64_C(1) << 32);
}

/* With an error of e per 2^k the product is right up to 2^k / e. */
int64_t ptx_divisor(struct ptx_frame *frame, const struct ptx_state *state,
	const struct ptx_value *value, int64_t shift, struct ptx_value *divided)
{
	int64_t factor = factor_of(frame, state, value, divided), power, divisor;
	struct ptx_range range;

	if (factor < 2 || factor > UINT32_MAX || shift < 0 || shift > 31)
		return 0;
	range = ptx_bounds(divided, state);
	if (range.low < 0 || range.high > INT32_MAX)
		return 0;
	if (shift > 29)
		return range.high * factor >> 32 >> shift ? 0 : INT64_MAX;
	power = INT64_C(1) << (32 + shift);
	divisor = (power + factor - 1) / factor;
	return ptx_multiply_bound(range.high, factor * divisor - power) < power ? divisor : 0;
}

/* --- remainders of sums whose terms have different ratios in an address --- */

/* The place of class symbols, which no instruction has. */
#define CLASS_PLACE UINT32_MAX

static int64_t ratio_at(const struct ptx_split *split, const struct ptx_value *address, uint32_t i)
{
	int64_t factor = ptx_factor(address, split->term[i].symbol);

	return factor % split->term[i].factor ? 0 : factor / split->term[i].factor;
}

/* All terms are in the address, only the remainder is limited, and nothing else refers to it. */
static int is_mixed(const struct ptx_state *state, const struct ptx_split *split,
	const struct ptx_value *address)
{
	if (split->modulus > PTX_CLASSES || ptx_split_ratio(split, address) ||
		state->range[split->remainder].low != state->range[split->remainder].high ||
		ptx_factor(address, split->quotient) || ptx_factor(address, split->remainder))
		return 0;
	for (uint32_t i = 0; i < split->count; i++)
		if (!ratio_at(split, address, i))
			return 0;
	return 1;
}

int64_t ptx_classes(const struct ptx_state *state, const struct ptx_value *address, uint32_t *split)
{
	for (*split = 0; *split < state->split_count; ++*split)
		if (is_mixed(state, &state->split[*split], address))
			return state->split[*split].modulus;
	return 1;
}

static int set_class(struct ptx_state *state, const struct ptx_split *split, int64_t class)
{
	struct ptx_value sum = ptx_constant(split->constant);
	struct ptx_range range;

	sum.count = (uint8_t)split->count;
	memcpy(sum.term, split->term, sizeof(sum.term));
	range = ptx_bounds(&sum, state);
	if (range.low < 0 || range.high == INT64_MAX)
		return 0;
	state->range[split->quotient] =
		(struct ptx_range){ range.low / split->modulus, range.high / split->modulus };
	state->range[split->remainder] = (struct ptx_range){ class, class };
	return 1;
}

int ptx_narrow_to_class(struct ptx_frame *frame, struct ptx_state *state,
	const struct ptx_value *address, uint32_t number, int64_t class)
{
	struct ptx_split rest = state->split[number], first = rest;
	int64_t ratio = ratio_at(&rest, address, 0);
	int64_t left = state->range[rest.remainder].low - class - rest.constant;

	if (state->split_count == PTX_SPLITS)
		return 0;
	first.count = rest.count = first.constant = rest.constant = 0;
	for (uint32_t i = 0; i < state->split[number].count; i++) {
		struct ptx_split *to =
			ratio_at(&state->split[number], address, i) == ratio ? &first : &rest;

		to->term[to->count++] = state->split[number].term[i];
	}
	first.quotient = ptx_symbol(frame->walk, frame->path, CLASS_PLACE,
		WHICH_QUOTIENT + 2 * state->split_count);
	first.remainder = ptx_symbol(frame->walk, frame->path, CLASS_PLACE,
		WHICH_REMAINDER + 2 * state->split_count);
	if (first.quotient == PTX_NO_SYMBOL || first.remainder == PTX_NO_SYMBOL)
		return 0;
	state->split[number] = rest;
	state->split[state->split_count++] = first;
	return set_class(state, &first, class) &&
		set_class(state, &rest, (left % rest.modulus + rest.modulus) % rest.modulus);
}

/* --- indices that wrap around --- */

static int has_term(const struct ptx_split *split, uint32_t symbol)
{
	for (uint32_t i = 0; i < split->count; i++)
		if (split->term[i].symbol == symbol)
			return 1;
	return 0;
}

/* Another split divides some of the same terms: their relation is not tracked. */
static int is_shared(const struct ptx_state *state, const struct ptx_split *split)
{
	for (uint32_t i = 0; i < state->split_count; i++)
		for (uint32_t j = 0; &state->split[i] != split && j < split->count; j++)
			if (has_term(&state->split[i], split->term[j].symbol))
				return 1;
	return 0;
}

/* The remainder is in the address, and its sum covers a few multiples of the modulus. */
static int is_wrapped(const struct ptx_state *state, const struct ptx_split *split,
	const struct ptx_value *address)
{
	struct ptx_range rounds = state->range[split->quotient];

	return !is_shared(state, split) && ptx_factor(address, split->remainder) &&
		!ptx_factor(address, split->quotient) && rounds.low >= 0 &&
		rounds.high > rounds.low && rounds.high - rounds.low < PTX_CLASSES;
}

int ptx_wraps(const struct ptx_state *state, const struct ptx_value *address, uint32_t *split,
	struct ptx_range *rounds)
{
	for (*split = 0; *split < state->split_count; ++*split)
		if (is_wrapped(state, &state->split[*split], address)) {
			*rounds = state->range[state->split[*split].quotient];
			return 1;
		}
	return 0;
}

/* Another split's sum contains a part of it. */
static int is_divided(const struct ptx_state *state, const struct ptx_split *split)
{
	for (uint32_t i = 0; i < state->split_count; i++)
		for (uint32_t j = 0; j < state->split[i].count; j++)
			if (state->split[i].term[j].symbol == split->quotient ||
				state->split[i].term[j].symbol == split->remainder)
				return 1;
	return 0;
}

int ptx_narrow_to_round(struct ptx_state *state, struct ptx_value *address, uint32_t number,
	int64_t round)
{
	const struct ptx_split split = state->split[number];
	struct ptx_value sum = ptx_constant(split.constant);
	struct ptx_value remainder = ptx_symbol_value(split.remainder);
	int64_t factor = ptx_factor(address, split.remainder), first, moved;

	sum.count = (uint8_t)split.count;
	memcpy(sum.term, split.term, sizeof(sum.term));
	if (__builtin_mul_overflow(round, split.modulus, &first) ||
		__builtin_mul_overflow(first, -factor, &moved) ||
		ptx_add_terms(address, &remainder, -factor) || ptx_add_terms(address, &sum, factor))
		return 0;
	address->low = ptx_add_bound(address->low, moved);
	address->high = ptx_add_bound(address->high, moved);
	state->range[split.quotient] = (struct ptx_range){ round, round };
	if (!ptx_constrain(state, split.term, split.count,
		    (struct ptx_range){ first - split.constant,
			    first - split.constant + split.modulus - 1 }))
		return 0;
	/* Its sum now has all that it says about the address.  The others keep their order. */
	if (!is_divided(state, &split))
		memmove(&state->split[number], &state->split[number + 1],
			(--state->split_count - number) * sizeof(*state->split));
	return 1;
}
