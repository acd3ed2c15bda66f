/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers that run out of predicates store them as bits of a register:
 *
 * 	LOP3 R0, R0, 0xfffffffd     @P2 LOP3 R0, R0 | 0x2     ...     LOP3 P4, R0, 0x2
 *
 * Within a block, P4 then equals P2.
 */
#include "lower_internal.h"

/* The name of a cleared bit. */
#define CLEARED (UINT32_MAX - 1)

static struct machine_bits *find_bits(struct lower *lower, uint32_t name)
{
	for (unsigned i = 0; i < MACHINE_BITS; i++)
		if (lower->bits[i].name == name + 1)
			return &lower->bits[i];
	return NULL;
}

/* Returns the condition for a bit of a register with no known copy. */
static struct machine_when own_bit(struct lower *lower, uint32_t name, unsigned bit)
{
	uint32_t root = lower_find(lower, name);
	struct machine_when when = { .name = root, .bit = (uint8_t)(bit + 1) };

	if (lower->uses[root] & NAME_IS_WRITTEN_TWICE) {
		when.name = name;
		when.is_local = 1;
	}
	return when;
}

struct machine_when lower_bit(struct lower *lower, unsigned machine, unsigned bit)
{
	uint32_t name = lower->current[machine];
	const struct machine_bits *bits = find_bits(lower, name);
	struct machine_when when = bits ? bits->when[bit] : own_bit(lower, name, bit);

	return when.name == CLEARED ? (struct machine_when){ 0 } : when;
}

/* Matches a & mask, or a | mask, with any value of a third operand that is 0. */
static int is_masked(const struct sass_instruction *in, unsigned *is_and)
{
	const struct sass_operand *from = in->from;
	unsigned table = in->table & 0x55;

	*is_and = table == 0x40;
	return in->opcode == SASS_LOP3 && in->to_count > 1 && in->from_count > 2 &&
		(table == 0x40 || table == 0x54) && from[0].kind == SASS_OPERAND_GENERAL &&
		from[0].number < 255 && !from[0].inverted &&
		from[1].kind == SASS_OPERAND_IMMEDIATE && from[2].kind == SASS_OPERAND_GENERAL &&
		from[2].number == SASS_NONE && !from[2].inverted;
}

int lower_tested_bit(const struct sass_instruction *in)
{
	unsigned is_and;
	uint32_t mask;

	if (!is_masked(in, &is_and) || !is_and)
		return -1;
	/* The predicate combined with the test is false. */
	if (in->from_count > 3 && (in->from[3].number != SASS_NONE || !in->from[3].negated))
		return -1;
	mask = (uint32_t)in->from[1].value;
	return mask && !(mask & (mask - 1)) ? __builtin_ctz(mask) : -1;
}

/* Returns the condition of the masked bit after the instruction. */
static struct machine_when changed_bit(struct lower *lower, unsigned is_and,
	const struct machine_when *old)
{
	if (is_and)
		return (struct machine_when){ .name = CLEARED };
	if (lower->in.guard < 7 && old->name == CLEARED)
		return lower_guard(lower);
	return (struct machine_when){ 0 };
}

void lower_note_bits(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	const struct sass_operand *to = &in->to[1];
	struct machine_bits *bits, made;
	unsigned is_and, from;
	uint32_t mask;

	if (!is_masked(in, &is_and) || to->kind != SASS_OPERAND_GENERAL || to->number >= 255 ||
		(in->guard < 7 && (is_and || to->number != in->from[0].number)))
		return;
	mask = (uint32_t)in->from[1].value ^ (is_and ? UINT32_MAX : 0);
	from = MACHINE_GENERAL + in->from[0].number;
	bits = find_bits(lower, lower->current[from]);
	for (unsigned bit = 0; bit < 32; bit++) {
		struct machine_when old =
			bits ? bits->when[bit] : own_bit(lower, lower->current[from], bit);

		made.when[bit] = mask >> bit & 1 ? changed_bit(lower, is_and, &old) : old;
	}
	made.name = 1 + lower->own[MACHINE_GENERAL + to->number];
	if (!bits)
		bits = &lower->bits[lower->bits_next++ % MACHINE_BITS];
	*bits = made;
}
