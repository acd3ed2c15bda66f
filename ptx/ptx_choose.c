/* SPDX-License-Identifier: Apache-2.0 */
/* Computes selections between two values, and conversions. */
#include "ptx_operation.h"

/* Registers of 32 bits hold signed numbers, where the next reader distinguishes. */
static struct ptx_value as_signed(const struct operation *op, struct ptx_value value)
{
	struct ptx_range range = bounds(op, &value);

	if (op->in->type.class != CLASS_UNSIGNED || op->in->type.bytes != 4 ||
		range.high <= INT32_MAX)
		return value;
	if (range.low <= INT32_MAX)
		return opaque(op, (struct ptx_range){ INT32_MIN, UINT32_MAX }, value.loaded);
	value.low = ptx_add_bound(value.low, -(INT64_C(1) << 32));
	value.high = ptx_add_bound(value.high, -(INT64_C(1) << 32));
	return value;
}

struct ptx_value ptx_smaller_or_larger(const struct operation *op)
{
	struct ptx_value a = number(op, 0), b = number(op, 1);
	struct ptx_range x = bounds(op, &a), y = bounds(op, &b);
	int smaller = op->in->opcode == OP_MIN;

	if (smaller ? x.high <= y.low : x.low >= y.high)
		return as_signed(op, a);
	if (smaller ? y.high <= x.low : y.low >= x.high)
		return as_signed(op, b);
	if (smaller ? y.low < x.low : y.low > x.low)
		x.low = y.low;
	if (smaller ? y.high < x.high : y.high > x.high)
		x.high = y.high;
	a = opaque(op, x, a.loaded || b.loaded);
	return as_signed(op, a);
}

/* Returns 1 if the value has the base and half of the result. */
static int is_alike(const struct ptx_value *value, const struct ptx_value *result)
{
	return value->base == result->base && value->id == result->id &&
		value->half == result->half;
}

/* Each of the two only matters where it is selected. */
struct ptx_value ptx_select_one(const struct operation *op)
{
	struct ptx_value value[2] = { any_source(op, 1), any_source(op, 0) }, joined;
	struct ptx_range range[2], both, wide, made = { 1, 0 };
	uint32_t symbol;

	if (op->in->count < 4 || op->operand[3].kind != OPERAND_REGISTER)
		return opaque(op, any, 1);
	for (int chosen = 0; chosen < 2; chosen++) {
		ptx_copy_knowledge(op->frame->spare, op->state);
		ptx_assume(op->frame, op->frame->spare, op->operand[3].number, chosen, 0);
		if (!op->frame->spare->possible)
			return value[!chosen];
		range[chosen] = ptx_bounds(&value[chosen], op->frame->spare);
	}
	if (ptx_find_twin(op->frame->twins, op->operand[3].number, &value[0], op->state, &value[1],
		    op->state, &joined))
		return joined;
	symbol = ptx_symbol(op->frame->walk, op->frame->path, op->instruction, WHICH_SELECTED);
	joined = ptx_join(op->frame, &value[0], op->state, &value[1], op->state, symbol, &made);
	both = is_alike(&value[0], &joined) && is_alike(&value[1], &joined)
		? ptx_hull(range[0], range[1])
		: any;
	wide = made.low <= made.high ? made : bounds(op, &joined);
	if (made.low <= made.high) {
		ptx_redefine(op->state, symbol, both);
	} else if (symbol != PTX_NO_SYMBOL && (both.low > wide.low || both.high < wide.high)) {
		joined.low = joined.high = 0;
		joined.count = 1;
		joined.term[0] = (struct ptx_term){ symbol, 1 };
		ptx_redefine(op->state, symbol, both);
	}
	ptx_note_twin(op->frame->twins, op->operand[3].number, &value[0], &value[1], &joined);
	return joined;
}

struct ptx_value ptx_convert(const struct operation *op)
{
	struct ptx_value a = source(op, 0), result;
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
	result = sparse(op, limits, a.loaded);
	if (to.bytes == 8 && from.bytes == 4)
		ptx_note_congruent(op->frame->walk, &result, &a);
	return result;
}

struct ptx_value ptx_extract(const struct operation *op)
{
	struct ptx_value length = source(op, 2), from = source(op, 0);

	if (ptx_is_constant(&length) && length.low >= 0 && length.low < 63 &&
		op->in->type.class == CLASS_UNSIGNED)
		return sparse(op, (struct ptx_range){ 0, (INT64_C(1) << length.low) - 1 },
			from.loaded);
	return sparse(op, of_type(op->in->type), from.loaded);
}
