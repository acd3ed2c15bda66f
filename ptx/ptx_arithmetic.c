/* SPDX-License-Identifier: Apache-2.0 */
/* Computes sets of values for arithmetic instructions. */
#include "ptx_operation.h"

/* Reduces a sum to the instruction's width: for 32 bits, to the low half. */
static struct ptx_value wrapped(const struct operation *op, const struct ptx_value *sum,
	struct ptx_range range)
{
	struct ptx_value value = opaque(op, range, 1);

	if (op->in->type.bytes == 4)
		ptx_note_congruent(op->frame->walk, &value, sum);
	return value;
}

/* Results of 16 and 32 bits wrap if they do not fit; unknown bounds are left to comparisons. */
static struct ptx_value wrap(const struct operation *op, struct ptx_value value, unsigned bytes)
{
	struct ptx_range range;
	int64_t limit;

	if (bytes >= 8 || !bytes || value.base != BASE_NUMBER)
		return value;
	range = bounds(op, &value);
	limit = INT64_C(1) << bytes * 8;
	if ((range.low == INT64_MIN || range.low >= -limit / 2) &&
		(range.high == INT64_MAX || range.high < limit))
		return value;
	return wrapped(op, &value, (struct ptx_range){ -limit / 2, limit - 1 });
}

static struct ptx_value sum(const struct operation *op, struct ptx_value a, struct ptx_value b)
{
	int both = is_pointer(&a) && is_pointer(&b);
	struct ptx_range range;
	struct ptx_value total;

	if (both && a.base == BASE_WORD && b.base == BASE_WORD && !a.pointer && !b.pointer) {
		/* It is unknown which of the two parameters is the pointer. */
		total = a;
		ptx_join_base(op->frame->walk, &total, &b);
		total.count = 0;
		total.low = INT64_MIN;
		total.high = INT64_MAX;
		return total;
	}
	if (is_pointer(&b) &&
		(!is_pointer(&a) || (!a.pointer && b.pointer) ||
			(a.base == BASE_UNKNOWN && b.base == BASE_WORDS))) {
		total = a;
		a = b;
		b = total;
	}
	if (both)
		b = ptx_number_of(op->frame, op->state, b);
	total = a;
	if (!ptx_add_terms(&total, &b, 1)) {
		ptx_fold_splits(&total, op->state);
		return total;
	}
	range = ptx_add_range(bounds(op, &a), bounds(op, &b));
	total = opaque(op, range, a.loaded || b.loaded);
	total.base = a.base;
	total.id = a.id;
	total.pointer = a.pointer;
	return total;
}

static struct ptx_value difference(const struct operation *op, struct ptx_value a,
	struct ptx_value b)
{
	struct ptx_range range;
	struct ptx_value total = a;

	if (is_pointer(&a) && a.base == b.base && a.id == b.id && a.base != BASE_UNKNOWN &&
		a.base != BASE_WORDS)
		total.base = a.base = b.base = BASE_NUMBER;
	b = ptx_number_of(op->frame, op->state, b);
	if (!ptx_add_terms(&total, &b, -1)) {
		ptx_fold_splits(&total, op->state);
		return total;
	}
	range = ptx_add_range(bounds(op, &a), ptx_scale_range(bounds(op, &b), -1));
	total = opaque(op, range, a.loaded || b.loaded);
	total.base = a.base;
	total.id = a.id;
	total.pointer = a.pointer;
	return total;
}

static struct ptx_value product(const struct operation *op, struct ptx_value a, struct ptx_value b)
{
	struct ptx_range x, y, range;
	int64_t corner[4];

	if (ptx_is_constant(&a)) {
		struct ptx_value swap = a;

		a = b;
		b = swap;
	}
	if (ptx_is_constant(&b) && b.low != INT64_MIN && b.low != INT64_MAX &&
		!ptx_scale(&a, b.low))
		return a;
	x = bounds(op, &a);
	y = bounds(op, &b);
	corner[0] = ptx_multiply_bound(x.low, y.low);
	corner[1] = ptx_multiply_bound(x.low, y.high);
	corner[2] = ptx_multiply_bound(x.high, y.low);
	corner[3] = ptx_multiply_bound(x.high, y.high);
	range = (struct ptx_range){ corner[0], corner[0] };
	for (int i = 1; i < 4; i++)
		range = ptx_hull(range, (struct ptx_range){ corner[i], corner[i] });
	return sparse(op, range, a.loaded || b.loaded);
}

/* Makes a symbol: it may be part of a division, which is recognized by it, also for a branch. */
static struct ptx_value half_of(const struct operation *op, struct ptx_range range, int loaded)
{
	uint32_t symbol = PTX_NO_SYMBOL;
	struct ptx_value value;

	if (range.low < range.high)
		symbol =
			ptx_symbol(op->frame->walk, op->frame->path, op->instruction, WHICH_RESULT);
	if (symbol == PTX_NO_SYMBOL)
		return opaque(op, range, loaded);
	ptx_redefine(op->state, symbol, range);
	value = ptx_symbol_value(symbol);
	value.loaded = loaded != 0;
	return value;
}

/* Multiplies the value that a half belongs to, if that is correct; returns 0 if not. */
static int multiply_half(const struct operation *op, const struct ptx_value *half, int64_t factor,
	struct ptx_value *result)
{
	*result = ptx_whole(half);
	if (half->half && half->base == BASE_WORD && !half->pointer)
		*result = ptx_number_of(op->frame, op->state, *result);
	if (!half->half || op->in->type.bytes != 4 || result->base != BASE_NUMBER ||
		ptx_scale(result, factor))
		return 0;
	*result = ptx_take_half(op->state, result, half->half);
	return 1;
}

static struct ptx_value multiply(const struct operation *op, unsigned first)
{
	struct ptx_value a = number(op, first), b = number(op, first + 1), result, half;
	unsigned bits = op->in->type.bytes * 8;
	struct ptx_range range;

	half = any_source(op, ptx_is_constant(&a) ? first + 1 : first);
	if (!(op->in->modifiers & (MODIFIER_HIGH | MODIFIER_WIDE)) && half.half == HALF_LOW &&
		(ptx_is_constant(&a) || ptx_is_constant(&b)) &&
		multiply_half(op, &half, ptx_is_constant(&a) ? a.low : b.low, &result))
		return result;
	result = product(op, a, b);
	if (op->in->modifiers & MODIFIER_HIGH) {
		range = bounds(op, &result);
		if (bits > 32 || range.low == INT64_MIN || range.high == INT64_MAX)
			return opaque(op, of_type(op->in->type), result.loaded);
		return half_of(op, (struct ptx_range){ range.low >> bits, range.high >> bits },
			result.loaded);
	}
	if (op->in->modifiers & MODIFIER_WIDE)
		return result;
	return wrap(op, result, op->in->type.bytes);
}

static int is_multiple(const struct ptx_value *value, int64_t of)
{
	if (value->low != value->high || value->low % of)
		return 0;
	for (unsigned i = 0; i < value->count; i++)
		if (value->term[i].factor % of)
			return 0;
	return 1;
}

static struct ptx_value symbol_of(const struct operation *op, uint32_t symbol)
{
	struct ptx_value value = ptx_symbol_value(symbol);

	ptx_settle(&value, op->state);
	return value;
}

/* Returns the remainder of a value that is not negative. */
static struct ptx_value rest(const struct operation *op, const struct ptx_value *a, int64_t modulus)
{
	const struct ptx_split *known =
		ptx_make_split(op->frame, op->state, op->instruction, a, modulus);

	if (known)
		return symbol_of(op, known->remainder);
	return opaque(op, (struct ptx_range){ 0, modulus - 1 }, a->loaded);
}

static int64_t floor_divide(int64_t a, int64_t b)
{
	if (a == INT64_MIN || a == INT64_MAX)
		return a;
	return a / b - (a % b && (a < 0) != (b < 0));
}

/* Rounds down; b is positive. */
static struct ptx_value quotient(const struct operation *op, struct ptx_value a, int64_t b,
	int rounds_to_zero)
{
	struct ptx_range range = bounds(op, &a);
	const struct ptx_split *known;

	if (is_multiple(&a, b)) {
		a.low /= b;
		a.high /= b;
		for (unsigned i = 0; i < a.count; i++)
			a.term[i].factor /= b;
		return a;
	}
	known = range.low >= 0 && range.low / b != range.high / b
		? ptx_make_split(op->frame, op->state, op->instruction, &a, b)
		: NULL;
	if (known)
		return symbol_of(op, known->quotient);
	range.low = rounds_to_zero && range.low != INT64_MIN ? range.low / b
							     : floor_divide(range.low, b);
	range.high = floor_divide(range.high, b);
	if (rounds_to_zero && range.high < 0)
		range.high = 0;
	return opaque(op, range, a.loaded);
}

static struct ptx_value negate(const struct operation *op)
{
	struct ptx_value a = any_source(op, 0), result;

	if (a.half == HALF_LOW && multiply_half(op, &a, -1, &result))
		return result;
	return wrap(op, product(op, number(op, 0), ptx_constant(-1)), op->in->type.bytes);
}

/* ~x is -1 - x, for either half. */
static struct ptx_value complement(const struct operation *op)
{
	struct ptx_value a = any_source(op, 0), whole = ptx_whole(&a);

	if (a.half && a.base == BASE_NUMBER && op->in->type.bytes == 4 && !ptx_scale(&whole, -1)) {
		whole.low = ptx_add_bound(whole.low, -1);
		whole.high = ptx_add_bound(whole.high, -1);
		return ptx_take_half(op->state, &whole, a.half);
	}
	a = product(op, number(op, 0), ptx_constant(-1));
	a.low = ptx_add_bound(a.low, -1);
	a.high = ptx_add_bound(a.high, -1);
	return a;
}

static struct ptx_value divide(const struct operation *op)
{
	struct ptx_value a = number(op, 0), b = number(op, 1);
	struct ptx_range x, y = bounds(op, &b);

	if (ptx_is_constant(&b) && b.low > 0)
		return quotient(op, a, b.low, 1);
	x = bounds(op, &a);
	if (x.low < 0 || y.low < 0)
		return opaque(op, of_type(op->in->type), a.loaded || b.loaded);
	x.high = floor_divide(x.high, y.low > 1 ? y.low : 1);
	x.low = 0;
	return sparse(op, x, a.loaded || b.loaded);
}

static struct ptx_value remainder_of(const struct operation *op)
{
	struct ptx_value a = number(op, 0), b = number(op, 1);
	struct ptx_range x = bounds(op, &a), y = bounds(op, &b), range;

	if (y.low <= 0 || y.high == INT64_MAX)
		return opaque(op,
			x.low >= 0 ? (struct ptx_range){ 0, x.high } : of_type(op->in->type),
			a.loaded || b.loaded);
	if (x.low >= 0 && x.high < y.low)
		return a;
	if (x.low >= 0 && x.high >= y.high - 1 && y.low == y.high)
		return rest(op, &a, y.low);
	range = (struct ptx_range){ x.low < 0 ? 1 - y.high : 0, y.high - 1 };
	if (x.low >= 0 && x.high < range.high)
		range.high = x.high;
	return opaque(op, range, a.loaded || b.loaded);
}

static struct ptx_value shift_left(const struct operation *op)
{
	struct ptx_value a = any_source(op, 0), b = number(op, 1), half;

	if (a.half == HALF_LOW && ptx_is_constant(&b) && b.low >= 0 && b.low < 32 &&
		multiply_half(op, &a, INT64_C(1) << b.low, &half))
		return half;
	a = number(op, 0);
	if (!ptx_is_constant(&b) || b.low < 0 || b.low > 62)
		return opaque(op, op->in->type.bytes < 8 ? of_type(op->in->type) : any,
			a.loaded || b.loaded);
	return wrap(op, product(op, a, ptx_constant(INT64_C(1) << b.low)), op->in->type.bytes);
}

/* Returns the number of lowest bits that are 0 in the words' addresses. */
static unsigned zeros_of(const struct ptx_walk *walk, const struct ptx_value *pointer)
{
	const struct ptx_launch *launch = walk->launch;
	const struct ptx_set *set = pointer->base == BASE_WORDS ? &walk->set[pointer->id] : NULL;
	unsigned least = 63;

	for (uint32_t i = 0; i < (set ? set->count : 1); i++) {
		uint32_t word = set ? set->word[i] : pointer->id;

		if (word >= launch->size || launch->state[word] != PTX_POINTER)
			return 0;
		least = launch->value[word] < least ? launch->value[word] : least;
	}
	return least;
}

static int is_even(const struct ptx_value *value, int64_t bits)
{
	for (unsigned i = 0; i < value->count; i++)
		if (value->term[i].factor & bits)
			return 0;
	return value->low == value->high;
}

/* Finds the lowest bits of a sum, or of an aligned address.  Returns 1 if they are constant. */
static int bits_of(const struct operation *op, const struct ptx_value *value,
	const struct ptx_value *mask, int64_t *bits)
{
	int is_word = value->base == BASE_WORD || value->base == BASE_WORDS;

	if (value->half == HALF_HIGH || (!is_word && value->base != BASE_NUMBER) ||
		!ptx_is_constant(mask) || mask->low < 0 ||
		(uint64_t)mask->low & ((uint64_t)mask->low + 1) || !is_even(value, mask->low) ||
		(is_word && mask->low >> zeros_of(op->frame->walk, value)))
		return 0;
	*bits = value->low & mask->low;
	return 1;
}

/* Shifts out lowest address bits that are 0; the next ones are known to be 0, too. */
static int shift_address(const struct operation *op, const struct ptx_value *address,
	const struct ptx_value *shift, struct ptx_value *shifted)
{
	unsigned zeros;
	int64_t low = address->low;

	if (op->in->type.bytes != 8 || address->half || !ptx_is_constant(shift) || shift->low < 0 ||
		(address->base != BASE_WORD && address->base != BASE_WORDS))
		return 0;
	zeros = zeros_of(op->frame->walk, address);
	if (shift->low > zeros || !is_even(address, (INT64_C(1) << shift->low) - 1))
		return 0;
	*shifted = opaque(op, (struct ptx_range){ 0, INT64_MAX >> (zeros + 1) }, 1);
	if (ptx_scale(shifted, INT64_C(1) << (zeros - shift->low)))
		return 0;
	for (unsigned i = 0; i < address->count; i++) {
		struct ptx_value term = ptx_symbol_value(address->term[i].symbol);

		if (ptx_scale(&term, address->term[i].factor >> shift->low) ||
			ptx_add_terms(shifted, &term, 1))
			return 0;
	}
	shifted->low += low >> shift->low;
	shifted->high += low >> shift->low;
	return 1;
}

static struct ptx_value shift_right(const struct operation *op)
{
	struct ptx_value a = source(op, 0), b = number(op, 1), divided, shifted;
	struct ptx_range range;
	int64_t divisor =
		ptx_is_constant(&b) ? ptx_divisor(op->frame, op->state, &a, b.low, &divided) : 0;

	if (divisor > 1)
		return quotient(op, divided, divisor, 0);
	if (shift_address(op, &a, &b, &shifted))
		return shifted;
	a = ptx_number_of(op->frame, op->state, a);
	/* The type tells whether the sign is kept; .b is like .u. */
	if (op->in->type.class != CLASS_SIGNED)
		a = as_unsigned(op, a, op->in->type.bytes, 0);
	range = bounds(op, &a);
	if (ptx_is_constant(&b) && b.low >= 0 && b.low <= 62 &&
		(range.low >= 0 || op->in->type.class == CLASS_SIGNED))
		return quotient(op, a, INT64_C(1) << b.low, 0);
	if (range.low >= 0)
		return sparse(op, (struct ptx_range){ 0, range.high }, a.loaded || b.loaded);
	return sparse(op, any, a.loaded || b.loaded);
}

/* Returns the lowest number of the form 2^n - 1 that is not below the value. */
static int64_t mask_over(int64_t value)
{
	uint64_t mask = (uint64_t)value;

	for (unsigned shift = 1; shift < 64; shift *= 2)
		mask |= mask >> shift;
	return (int64_t)mask;
}

static struct ptx_value bit_and(const struct operation *op)
{
	struct ptx_value a = source(op, 0), b = source(op, 1);
	struct ptx_value low = any_source(op, ptx_is_constant(&a) ? 1 : 0);
	struct ptx_range x;
	int64_t mask;

	if (ptx_is_constant(&a) && ptx_is_constant(&b))
		return ptx_constant(a.low & b.low);
	if (bits_of(op, &low, ptx_is_constant(&a) ? &a : &b, &mask))
		return ptx_constant(mask);
	if (ptx_is_constant(&a)) {
		struct ptx_value swap = a;

		a = b;
		b = swap;
	}
	/* Aligning a pointer changes it only slightly. */
	if (low.half == HALF_LOW && low.base != BASE_NUMBER && low.base != BASE_UNKNOWN &&
		ptx_is_constant(&b) && b.low < 0 && b.low >= -4096) {
		low.low = ptx_add_bound(low.low, b.low + 1);
		return low;
	}
	if (is_pointer(&a) && ptx_is_constant(&b) && b.low < 0 && b.low >= -4096) {
		a.low = ptx_add_bound(a.low, b.low + 1);
		return a;
	}
	a = ptx_number_of(op->frame, op->state, a);
	b = ptx_number_of(op->frame, op->state, b);
	x = bounds(op, &a);
	if (ptx_is_constant(&b) && b.low >= 0) {
		mask = b.low;
		if (mask == mask_over(mask) && x.low >= 0 && x.high <= mask)
			return a;
		if (mask == mask_over(mask) && x.low >= 0)
			return rest(op, &a, mask + 1);
		return sparse(op,
			(struct ptx_range){ 0, x.low >= 0 && x.high < mask ? x.high : mask },
			a.loaded);
	}
	/* Clears only the lowest bits. */
	if (ptx_is_constant(&b) && b.low < 0 && b.low > INT32_MIN && !(-b.low & (-b.low - 1)) &&
		x.low >= 0 && x.high < INT64_MAX)
		return difference(op, a, rest(op, &a, -b.low));
	if (x.low >= 0)
		return sparse(op, (struct ptx_range){ 0, x.high }, a.loaded || b.loaded);
	return opaque(op, of_type(op->in->type), a.loaded || b.loaded);
}

/* Returns 1 if the two have no bit in common: then OR is a sum. */
static int are_apart(const struct ptx_value *high, struct ptx_range low)
{
	return low.low >= 0 && low.high < INT64_C(1) << 32 &&
		is_multiple(high, mask_over(low.high) + 1);
}

static struct ptx_value bit_or(const struct operation *op)
{
	struct ptx_value a = source(op, 0), b = source(op, 1);
	struct ptx_range x = bounds(op, &a), y = bounds(op, &b);

	if (ptx_is_constant(&a) && ptx_is_constant(&b))
		return ptx_constant(op->in->opcode == OP_OR ? a.low | b.low : a.low ^ b.low);
	if (op->in->opcode == OP_OR && !is_pointer(&b) && are_apart(&a, y))
		return sum(op, a, b);
	if (op->in->opcode == OP_OR && !is_pointer(&a) && are_apart(&b, x))
		return sum(op, b, a);
	if (is_pointer(&a) || is_pointer(&b) || x.low < 0 || y.low < 0 || x.high == INT64_MAX ||
		y.high == INT64_MAX)
		return opaque(op, of_type(op->in->type), a.loaded || b.loaded);
	return sparse(op, (struct ptx_range){ 0, mask_over(x.high | y.high) },
		a.loaded || b.loaded);
}

static struct ptx_value move(const struct operation *op)
{
	struct ptx_value value = any_source(op, 0);

	if (op->in->opcode == OP_CVTA)
		value.pointer = 1;
	return value;
}

struct ptx_value ptx_sum(struct ptx_frame *frame, struct ptx_state *state, uint32_t instruction,
	const struct ptx_value *a, const struct ptx_value *b)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];
	struct operation op = {
		frame,
		state,
		instruction,
		in,
		&frame->function->operand[in->operand],
	};

	return sum(&op, *a, *b);
}

struct ptx_value ptx_calculate(struct ptx_frame *frame, struct ptx_state *state,
	uint32_t instruction)
{
	const struct ptx_instruction *in = &frame->function->instruction[instruction];
	struct operation op = {
		frame,
		state,
		instruction,
		in,
		&frame->function->operand[in->operand],
	};

	if (in->type.class == CLASS_FLOAT && in->opcode != OP_CVT)
		return opaque(&op, any, 1);
	switch (in->opcode) {
	case OP_MOV:
	case OP_CVTA:
		return move(&op);
	case OP_ADD:
		return wrap(&op, sum(&op, source(&op, 0), source(&op, 1)), in->type.bytes);
	case OP_SUB:
		return wrap(&op, difference(&op, source(&op, 0), source(&op, 1)), in->type.bytes);
	case OP_MUL:
		return multiply(&op, 0);
	case OP_MAD:
		return wrap(&op, sum(&op, multiply(&op, 0), source(&op, 2)),
			in->modifiers & MODIFIER_WIDE ? in->type.bytes * 2 : in->type.bytes);
	case OP_NEG:
		return negate(&op);
	case OP_NOT:
		return complement(&op);
	case OP_DIV:
		return divide(&op);
	case OP_REM:
		return remainder_of(&op);
	case OP_SHL:
		return shift_left(&op);
	case OP_SHR:
		return shift_right(&op);
	case OP_AND:
		return bit_and(&op);
	case OP_OR:
	case OP_XOR:
		return bit_or(&op);
	case OP_MIN:
	case OP_MAX:
		return ptx_smaller_or_larger(&op);
	case OP_SELP:
		return ptx_select_one(&op);
	case OP_CVT:
		return ptx_convert(&op);
	case OP_BFE:
		return ptx_extract(&op);
	case OP_POPC:
	case OP_CLZ:
		return sparse(&op, (struct ptx_range){ 0, 64 }, source(&op, 0).loaded);
	default:
		break;
	}
	return opaque(&op, in->type.bytes && in->type.bytes < 8 ? of_type(in->type) : any, 1);
}
