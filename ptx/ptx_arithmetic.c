/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions make of sets of values. */
#include "ptx_walk.h"

static const struct ptx_range any = { INT64_MIN, INT64_MAX };

struct operation {
	struct ptx_frame *frame;
	struct ptx_state *state;
	uint32_t instruction;
	const struct ptx_instruction *in;
	const struct ptx_operand *operand;
};

static struct ptx_value source(const struct operation *op, unsigned number)
{
	if (number + 1 >= op->in->count)
		return ptx_interval(INT64_MIN, INT64_MAX);
	return ptx_operand(op->frame, op->state, &op->operand[1 + number]);
}

static struct ptx_range bounds(const struct operation *op, const struct ptx_value *value)
{
	return ptx_bounds(value, op->state);
}

static struct ptx_value opaque(const struct operation *op, struct ptx_range range, int loaded)
{
	return ptx_opaque(op->frame, op->state, op->instruction, WHICH_RESULT, range, loaded);
}

/* A result that need not be each number of the range, where the operands are each of theirs. */
static struct ptx_value sparse(const struct operation *op, struct ptx_range range, int loaded)
{
	return ptx_opaque(op->frame, op->state, op->instruction, WHICH_SPARSE, range, loaded);
}

static struct ptx_range of_type(struct ptx_type type)
{
	unsigned bits = type.bytes * 8u;

	if (!bits || bits >= 64)
		return any;
	if (type.class == CLASS_SIGNED)
		return (struct ptx_range){ -(INT64_C(1) << (bits - 1)),
			(INT64_C(1) << (bits - 1)) - 1 };
	/* What is not called signed may be: 32-bit registers hold either. */
	return (struct ptx_range){ type.class == CLASS_UNSIGNED ? 0 : -(INT64_C(1) << (bits - 1)),
		(INT64_C(1) << bits) - 1 };
}

/* A number as an instruction on unsigned ones sees it. */
static struct ptx_value as_unsigned(const struct operation *op, struct ptx_value value,
	unsigned bytes, unsigned which)
{
	struct ptx_range range = bounds(op, &value);
	int64_t modulus;

	if (bytes >= 8 || range.low >= 0 || range.low == INT64_MIN)
		return value;
	modulus = INT64_C(1) << bytes * 8;
	if (range.high < 0 && range.low >= -modulus) {
		value.low = ptx_add_bound(value.low, modulus);
		value.high = ptx_add_bound(value.high, modulus);
		return value;
	}
	return ptx_opaque(op->frame, op->state, op->instruction, WHICH_RESULT + 1 + which,
		(struct ptx_range){ 0, modulus - 1 }, value.loaded);
}

static struct ptx_value number(const struct operation *op, unsigned which)
{
	struct ptx_value value = ptx_number_of(op->frame, op->state, source(op, which));

	if (op->in->type.class == CLASS_UNSIGNED)
		return as_unsigned(op, value, op->in->type.bytes, which);
	return value;
}

/* Results of 16 and 32 bits wrap where they do not fit; open ends are left to comparisons. */
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
	return opaque(op, (struct ptx_range){ -limit / 2, limit - 1 }, 1);
}

static int is_pointer(const struct ptx_value *value)
{
	return value->base != BASE_NUMBER;
}

static struct ptx_value sum(const struct operation *op, struct ptx_value a, struct ptx_value b)
{
	int both = is_pointer(&a) && is_pointer(&b);
	struct ptx_range range;
	struct ptx_value total;

	if (both && a.base == BASE_WORD && b.base == BASE_WORD && !a.pointer && !b.pointer) {
		/* Which of the two parameters is the pointer is not known. */
		total = a;
		ptx_join_base(op->frame->walk, &total, &b);
		total.count = 0;
		total.low = INT64_MIN;
		total.high = INT64_MAX;
		return total;
	}
	if (is_pointer(&b) && (!is_pointer(&a) || (!a.pointer && b.pointer))) {
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

/* It may be a division's, which is known by its symbol, for a branch too. */
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

static struct ptx_value multiply(const struct operation *op, unsigned first)
{
	struct ptx_value a = number(op, first), b = number(op, first + 1), result;
	unsigned bits = op->in->type.bytes * 8;
	struct ptx_range range;

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

/* The rest of a division of what is not below 0. */
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

/* Rounded down; b is positive. */
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

/* ~x is -1 - x. */
static struct ptx_value complement(const struct operation *op)
{
	struct ptx_value a = product(op, number(op, 0), ptx_constant(-1));

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
	struct ptx_value a = number(op, 0), b = number(op, 1);

	if (!ptx_is_constant(&b) || b.low < 0 || b.low > 62)
		return opaque(op, op->in->type.bytes < 8 ? of_type(op->in->type) : any,
			a.loaded || b.loaded);
	return wrap(op, product(op, a, ptx_constant(INT64_C(1) << b.low)), op->in->type.bytes);
}

static struct ptx_value shift_right(const struct operation *op)
{
	struct ptx_value a = source(op, 0), b = number(op, 1), divided;
	struct ptx_range range;
	int64_t divisor =
		ptx_is_constant(&b) ? ptx_divisor(op->frame, op->state, &a, b.low, &divided) : 0;

	if (divisor > 1)
		return quotient(op, divided, divisor, 0);
	a = ptx_number_of(op->frame, op->state, a);
	/* The type says whether the sign is kept; .b is as .u. */
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

/* The lowest number of the form 2^n - 1 that is not below. */
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
	struct ptx_range x;
	int64_t mask;

	if (ptx_is_constant(&a) && ptx_is_constant(&b))
		return ptx_constant(a.low & b.low);
	if (ptx_is_constant(&a)) {
		struct ptx_value swap = a;

		a = b;
		b = swap;
	}
	/* Aligning a pointer leaves it where it is, nearly. */
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
	/* All but the lowest bits. */
	if (ptx_is_constant(&b) && b.low < 0 && b.low > INT32_MIN && !(-b.low & (-b.low - 1)) &&
		x.low >= 0 && x.high < INT64_MAX)
		return difference(op, a, rest(op, &a, -b.low));
	if (x.low >= 0)
		return sparse(op, (struct ptx_range){ 0, x.high }, a.loaded || b.loaded);
	return opaque(op, of_type(op->in->type), a.loaded || b.loaded);
}

/* Bits that one has where the other has none are a sum. */
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

static struct ptx_value smaller_or_larger(const struct operation *op)
{
	struct ptx_value a = number(op, 0), b = number(op, 1);
	struct ptx_range x = bounds(op, &a), y = bounds(op, &b);
	int smaller = op->in->opcode == OP_MIN;

	if (smaller ? x.high <= y.low : x.low >= y.high)
		return a;
	if (smaller ? y.high <= x.low : y.low >= x.high)
		return b;
	if (smaller ? y.low < x.low : y.low > x.low)
		x.low = y.low;
	if (smaller ? y.high < x.high : y.high > x.high)
		x.high = y.high;
	return opaque(op, x, a.loaded || b.loaded);
}

/* Each of the two only has to do with where it is chosen. */
static struct ptx_value select_one(const struct operation *op)
{
	struct ptx_value value[2] = { source(op, 1), source(op, 0) }, joined;
	struct ptx_range range[2], both, wide, made = { 1, 0 };
	uint32_t symbol;

	if (op->in->count < 4 || op->operand[3].kind != OPERAND_REGISTER)
		return opaque(op, any, 1);
	for (int chosen = 0; chosen < 2; chosen++) {
		ptx_copy_state(op->frame->function, op->frame->spare, op->state);
		ptx_assume(op->frame, op->frame->spare, op->operand[3].number, chosen, 0);
		if (!op->frame->spare->possible)
			return value[!chosen];
		range[chosen] = ptx_bounds(&value[chosen], op->frame->spare);
	}
	symbol = ptx_symbol(op->frame->walk, op->frame->path, op->instruction, WHICH_SELECTED);
	joined = ptx_join(op->frame, &value[0], op->state, &value[1], op->state, symbol, &made);
	both = ptx_hull(range[0], range[1]);
	wide = made.low <= made.high ? made : bounds(op, &joined);
	if (made.low <= made.high) {
		ptx_redefine(op->state, symbol, both);
	} else if (symbol != PTX_NO_SYMBOL && (both.low > wide.low || both.high < wide.high)) {
		joined.low = joined.high = 0;
		joined.count = 1;
		joined.term[0] = (struct ptx_term){ symbol, 1 };
		ptx_redefine(op->state, symbol, both);
	}
	return joined;
}

static struct ptx_value convert(const struct operation *op)
{
	struct ptx_value a = source(op, 0);
	struct ptx_type to = op->in->type, from = op->in->source;
	struct ptx_range range, limits;

	if (from.class == CLASS_FLOAT || to.class == CLASS_FLOAT)
		return opaque(op, of_type(to), 1);
	if (to.bytes >= 8 && from.bytes >= 8)
		return a;
	a = ptx_number_of(op->frame, op->state, a);
	if (from.class == CLASS_UNSIGNED)
		a = as_unsigned(op, a, from.bytes, 0);
	range = bounds(op, &a);
	limits = of_type(to.bytes < from.bytes ? to : from);
	if ((range.low == INT64_MIN || range.low >= limits.low) &&
		(range.high == INT64_MAX || range.high <= limits.high))
		return a;
	return sparse(op, limits, a.loaded);
}

static struct ptx_value extract(const struct operation *op)
{
	struct ptx_value length = source(op, 2), from = source(op, 0);

	if (ptx_is_constant(&length) && length.low >= 0 && length.low < 63 &&
		op->in->type.class == CLASS_UNSIGNED)
		return sparse(op, (struct ptx_range){ 0, (INT64_C(1) << length.low) - 1 },
			from.loaded);
	return sparse(op, of_type(op->in->type), from.loaded);
}

static struct ptx_value move(const struct operation *op)
{
	struct ptx_value value = source(op, 0);

	if (op->in->opcode == OP_CVTA)
		value.pointer = 1;
	return value;
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
		return wrap(&op, product(&op, number(&op, 0), ptx_constant(-1)), in->type.bytes);
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
		return smaller_or_larger(&op);
	case OP_SELP:
		return select_one(&op);
	case OP_CVT:
		return convert(&op);
	case OP_BFE:
		return extract(&op);
	case OP_POPC:
	case OP_CLZ:
		return sparse(&op, (struct ptx_range){ 0, 64 }, source(&op, 0).loaded);
	default:
		break;
	}
	return opaque(&op, in->type.bytes && in->type.bytes < 8 ? of_type(in->type) : any, 1);
}
