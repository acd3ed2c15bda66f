/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the decoder: an instruction's bits and its row of the table. */
#ifndef CUFENCE_SASS_BITS_H
#define CUFENCE_SASS_BITS_H

#include "sass_table.h"

struct coded {
	uint64_t low, high;
	uint64_t at;
	unsigned arch;
	const struct sass_row *row;
};

static inline uint64_t bits(const struct coded *code, unsigned first, unsigned count)
{
	uint64_t value = first >= 64 ? code->high >> (first - 64) : code->low >> first;

	if (first < 64 && first + count > 64)
		value |= code->high << (64 - first);
	return count < 64 ? value & ((UINT64_C(1) << count) - 1) : value;
}

static inline int bit(const struct coded *code, unsigned number)
{
	return (int)bits(code, number, 1);
}

static inline int64_t signed_bits(const struct coded *code, unsigned first, unsigned count)
{
	uint64_t sign = UINT64_C(1) << (count - 1);

	return (int64_t)((bits(code, first, count) ^ sign) - sign);
}

static inline unsigned form(const struct coded *code)
{
	return (unsigned)bits(code, 9, 3);
}

static inline uint16_t general_number(const struct coded *code, unsigned first)
{
	unsigned number = (unsigned)bits(code, first, 8);

	return number == 0xff ? SASS_NONE : (uint16_t)number;
}

/* 63 uniform registers; more from sm_100 on. */
static inline uint16_t uniform_number(const struct coded *code, unsigned first)
{
	unsigned width = code->arch < 100 ? 6 : 8, number = (unsigned)bits(code, first, width);

	return number == (1u << width) - 1 ? SASS_NONE : (uint16_t)number;
}

static inline uint16_t predicate_number(const struct coded *code, unsigned first)
{
	unsigned number = (unsigned)bits(code, first, 3);

	return number == 7 ? SASS_NONE : (uint16_t)number;
}

/* Returns the number of registers that a tensor instruction writes. */
uint8_t sass_tensor_registers(const struct coded *code);

/* Read everything except operands. */
void sass_read_fields(const struct coded *code, struct sass_instruction *in);
void sass_read_addresses(const struct coded *code, struct sass_instruction *in);

#endif
