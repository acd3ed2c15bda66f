/* SPDX-License-Identifier: Apache-2.0 */
/* An arithmetic instruction and its operands. */
#ifndef CUFENCE_PTX_OPERATION_H
#define CUFENCE_PTX_OPERATION_H

#include "ptx_walk.h"

static const struct ptx_range any = { INT64_MIN, INT64_MAX };

struct operation {
	struct ptx_frame *frame;
	struct ptx_state *state;
	uint32_t instruction;
	const struct ptx_instruction *in;
	const struct ptx_operand *operand;
};

/* The value may be a half. */
static inline struct ptx_value any_source(const struct operation *op, unsigned number)
{
	if (number + 1 >= op->in->count)
		return ptx_interval(INT64_MIN, INT64_MAX);
	return ptx_operand(op->frame, op->state, &op->operand[1 + number]);
}

static inline struct ptx_value source(const struct operation *op, unsigned number)
{
	struct ptx_value value = any_source(op, number);

	return value.half ? ptx_number_of(op->frame, op->state, value) : value;
}

static inline struct ptx_range bounds(const struct operation *op, const struct ptx_value *value)
{
	return ptx_bounds(value, op->state);
}

static inline struct ptx_value opaque(const struct operation *op, struct ptx_range range,
	int loaded)
{
	return ptx_opaque(op->frame, op->state, op->instruction, WHICH_RESULT, range, loaded);
}

/* Returns a result that need not have every number of the range, even if the operands do. */
static inline struct ptx_value sparse(const struct operation *op, struct ptx_range range,
	int loaded)
{
	return ptx_opaque(op->frame, op->state, op->instruction, WHICH_SPARSE, range, loaded);
}

static inline struct ptx_range of_type(struct ptx_type type)
{
	unsigned bits = type.bytes * 8u;

	if (!bits || bits >= 64)
		return any;
	if (type.class == CLASS_SIGNED)
		return (struct ptx_range){ -(INT64_C(1) << (bits - 1)),
			(INT64_C(1) << (bits - 1)) - 1 };
	/* A type that is not unsigned may be signed: 32-bit registers hold either. */
	return (struct ptx_range){ type.class == CLASS_UNSIGNED ? 0 : -(INT64_C(1) << (bits - 1)),
		(INT64_C(1) << bits) - 1 };
}

/* Returns a number as an unsigned instruction reads it. */
static inline struct ptx_value as_unsigned(const struct operation *op, struct ptx_value value,
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

static inline struct ptx_value number(const struct operation *op, unsigned which)
{
	struct ptx_value value = ptx_number_of(op->frame, op->state, source(op, which));

	if (op->in->type.class == CLASS_UNSIGNED)
		return as_unsigned(op, value, op->in->type.bytes, which);
	return value;
}

static inline int is_pointer(const struct ptx_value *value)
{
	return value->base != BASE_NUMBER;
}

/* Select one of two values, by a predicate or by size; convert to another type; extract bits. */
struct ptx_value ptx_select_one(const struct operation *op);
struct ptx_value ptx_smaller_or_larger(const struct operation *op);
struct ptx_value ptx_convert(const struct operation *op);
struct ptx_value ptx_extract(const struct operation *op);

#endif
