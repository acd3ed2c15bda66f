/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of guards: a value written under one guard and read under the same is known.  A
 * predicate that is written in one place is the same condition wherever it is read; other
 * predicates only between two writes in one block.  A condition may get another name by PLOP3, by
 * storage in a register, alone or as one of many bits, and by repeated comparison.
 */
#include <stdlib.h>

#include "lower_internal.h"

int lower_is_when(const struct machine_when *a, const struct machine_when *b)
{
	return a->name && a->name == b->name && a->negated == b->negated && a->bit == b->bit;
}

static unsigned predicate_register(const struct sass_operand *operand)
{
	return (operand->kind == SASS_OPERAND_PREDICATE ? MACHINE_PREDICATE
							: MACHINE_UNIFORM_PREDICATE) +
		operand->number;
}

static int is_predicate(const struct sass_operand *operand)
{
	return (operand->kind == SASS_OPERAND_PREDICATE ||
		       operand->kind == SASS_OPERAND_UNIFORM_PREDICATE) &&
		operand->number < 7;
}

/* The source of a condition that has another name. */
struct source {
	unsigned machine;
	int negated;
	uint8_t bit; /* as in struct machine_when */
};

/* Returns 1 or -1 if the table yields the operand or its opposite, else 0. */
static int copied_of(const struct sass_instruction *in, unsigned table, unsigned operand)
{
	int same = 1, opposite = 1;

	for (unsigned bits = 0; bits < 8; bits++) {
		unsigned value = bits >> (2 - operand) & 1, possible = 1;

		for (unsigned i = 0; i < 3; i++)
			if (i >= in->from_count || in->from[i].number == SASS_NONE)
				possible &= (bits >> (2 - i) & 1) !=
					(i < in->from_count && in->from[i].negated);
		same &= !possible || (table >> bits & 1) == value;
		opposite &= !possible || (table >> bits & 1) != value;
	}
	return same - opposite;
}

/* PLOP3 p, q: finds the operand that the result copies; -1: none. */
static int copied_by_table(const struct sass_instruction *in, unsigned result,
	struct source *source)
{
	for (unsigned i = 0; i < in->from_count; i++) {
		int copied = is_predicate(&in->from[i])
			? copied_of(in, result ? in->table2 : in->table, i)
			: 0;

		if (!copied)
			continue;
		source->machine = predicate_register(&in->from[i]);
		source->negated = (in->from[i].negated != 0) ^ (copied < 0);
		return 0;
	}
	return -1;
}

static int is_zero(const struct sass_operand *operand)
{
	return (operand->kind == SASS_OPERAND_GENERAL && operand->number == SASS_NONE) ||
		(operand->kind == SASS_OPERAND_IMMEDIATE && !operand->value);
}

static int is_general(const struct sass_operand *operand)
{
	return operand->kind == SASS_OPERAND_GENERAL && operand->number < 255;
}

/* P2R d, 1 << p; SEL d, 0, 1, p: d is nonzero if the predicate holds, or if it does not. */
static int copied_to_register(const struct sass_instruction *in, struct source *source)
{
	const struct sass_operand *from = in->from;

	if (in->from_count < 2 || !is_general(&in->to[0]))
		return -1;
	if (in->opcode == SASS_P2R) {
		unsigned mask = (unsigned)from[1].value;

		if (!is_zero(&from[0]) || in->variant || !mask || mask & (mask - 1) || mask > 64)
			return -1;
		source->machine = MACHINE_PREDICATE + (unsigned)__builtin_ctz(mask);
		source->negated = 0;
		return 0;
	}
	if (in->opcode != SASS_SEL || in->from_count < 3 || !is_predicate(&from[2]) ||
		is_zero(&from[0]) == is_zero(&from[1]) ||
		from[is_zero(&from[0])].kind != SASS_OPERAND_IMMEDIATE)
		return -1;
	source->machine = predicate_register(&from[2]);
	source->negated = (from[2].negated != 0) ^ is_zero(&from[0]);
	return 0;
}

/* ISETP p, d, 0: the predicate stored in d. */
static int copied_from_register(const struct sass_instruction *in, struct source *source)
{
	const struct sass_operand *from = in->from;
	unsigned at;

	if (in->from_count < 3 || in->is_extended || in->is_64 || from[2].negated ||
		is_predicate(&from[2]) ||
		(in->compare != SASS_COMPARE_NE && in->compare != SASS_COMPARE_EQ))
		return -1;
	at = is_zero(&from[0]);
	if (!is_general(&from[at]) || !is_zero(&from[!at]))
		return -1;
	source->machine = MACHINE_GENERAL + from[at].number;
	source->negated = in->compare == SASS_COMPARE_EQ;
	return 0;
}

/* LOP3 p, d & 1 << bit */
static int bit_of_register(const struct sass_instruction *in, struct source *source)
{
	int bit = lower_tested_bit(in);

	if (bit < 0)
		return -1;
	source->machine = MACHINE_GENERAL + in->from[0].number;
	source->bit = (uint8_t)(1 + bit);
	return 0;
}

/* Finds the source that the result copies; -1: it is no copy. */
static int source_of_copy(const struct sass_instruction *in, unsigned result, struct source *source)
{
	*source = (struct source){ 0 };
	if (in->guard != SASS_NONE)
		return -1;
	switch (in->opcode) {
	case SASS_LOP3:
		return !result && is_predicate(&in->to[0]) ? bit_of_register(in, source) : -1;
	case SASS_PLOP3:
		return is_predicate(&in->to[result]) ? copied_by_table(in, result, source) : -1;
	case SASS_ISETP:
		return !result && is_predicate(&in->to[0]) ? copied_from_register(in, source) : -1;
	case SASS_P2R:
	case SASS_SEL:
		return result ? -1 : copied_to_register(in, source);
	default:
		return -1;
	}
}

static unsigned machine_of(const struct sass_operand *operand)
{
	return operand->kind == SASS_OPERAND_GENERAL ? MACHINE_GENERAL + operand->number
						     : predicate_register(operand);
}

struct machine_when lower_when(struct lower *lower, unsigned machine, int negated)
{
	const struct machine_copy *copy = &lower->copy[machine];
	uint32_t name = lower->current[machine], root = lower_find(lower, name);
	struct machine_when when = { .name = root };

	if (copy->name && copy->name == name)
		when = copy->of;
	else if (lower->uses[root] & NAME_IS_WRITTEN_TWICE)
		when = (struct machine_when){ .name = name, .is_local = 1 };
	else if (lower->alias && lower->alias[root].name)
		when = lower->alias[root];
	when.negated ^= negated != 0;
	return when;
}

struct machine_when lower_guard(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;
	unsigned base = in->guard_is_uniform ? MACHINE_UNIFORM_PREDICATE : MACHINE_PREDICATE;

	if (in->guard >= 7)
		return (struct machine_when){ 0 };
	return lower_when(lower, base + in->guard, in->guard_negated);
}

/* --- copies --- */

static struct machine_when when_of(struct lower *lower, const struct source *source)
{
	if (source->bit)
		return lower_bit(lower, source->machine, source->bit - 1u);
	return lower_when(lower, source->machine, source->negated);
}

static void note_copy(struct lower *lower, const struct sass_operand *to, struct machine_when of)
{
	lower->copy[machine_of(to)] = (struct machine_copy){ lower->own[machine_of(to)], of };
}

void lower_note_copies(struct lower *lower)
{
	const struct sass_instruction *in = &lower->in;

	for (unsigned i = 0; i < in->to_count && i < 2; i++) {
		struct source source;
		struct machine_when when;

		if (!source_of_copy(in, i, &source))
			note_copy(lower, &in->to[i], when_of(lower, &source));
		else if (!i && is_predicate(&in->to[0]) &&
			lower_compared_before(lower, machine_of(&in->to[0]), &when))
			note_copy(lower, &in->to[0], when);
	}
	lower_note_bits(lower);
}

/*
 * Both are written in one block consecutively, so the relation holds where either is read
 * elsewhere.
 */
int lower_keep_copies(struct lower *lower, uint32_t first)
{
	const struct sass_instruction *in = &lower->in;

	for (unsigned i = 0; i < in->to_count && i < 2; i++) {
		struct source source;

		if (source_of_copy(in, i, &source) || source.bit ||
			lower->current[source.machine] < first)
			continue;
		if (PTX_ROOM(lower->copied, lower->copied_room, lower->copied_count))
			return lower_refuse(lower, "out of memory");
		lower->copied[lower->copied_count++] = (struct machine_copied){
			lower->own[machine_of(&in->to[i])],
			lower->current[source.machine],
			source.negated,
		};
	}
	return 0;
}

/* --- names under one condition --- */

/* NAME_ALWAYS: written or read under several conditions, or under none. */
#define NAME_ALWAYS UINT32_MAX

static int meet(struct lower *lower, uint32_t name, const struct machine_when *when)
{
	struct machine_when *only = &lower->only[lower_find(lower, name)];

	if (only->name == NAME_ALWAYS || lower_is_when(only, when))
		return 0;
	if (!only->name && when->name && !when->is_local)
		*only = *when;
	else
		only->name = NAME_ALWAYS;
	return 1;
}

static void meet_read(void *arg, unsigned reg)
{
	struct lower *lower = arg;

	meet(lower, lower->current[reg], &lower->when);
}

static void meet_written(void *arg, unsigned reg)
{
	struct lower *lower = arg;

	meet(lower, lower->own[reg], &lower->when);
	if (!lower->when.name)
		return;
	if (PTX_ROOM(lower->kept, lower->kept_room, lower->kept_count))
		lower_refuse(lower, "out of memory");
	else
		lower->kept[lower->kept_count++] =
			(struct machine_kept){ lower->own[reg], lower->current[reg], lower->when };
}

/*
 * If the guard does not hold, a write leaves the previous value: it is read there unless nothing
 * reads the result.
 */
static void meet_kept(struct lower *lower)
{
	int changed = 1;

	while (changed) {
		changed = 0;
		for (uint32_t i = lower->kept_count; i-- > 0;) {
			struct machine_when when = lower->kept[i].when;
			uint32_t to = lower_find(lower, lower->kept[i].to);

			if (lower_is_when(&lower->only[to], &when))
				continue;
			when.negated ^= 1;
			changed |= meet(lower, lower->kept[i].from, &when);
		}
	}
}

static void meet_instruction(struct lower *lower, uint32_t context)
{
	struct sass_instruction plain = lower->in;

	lower->when = lower_guard(lower);
	plain.guard = SASS_NONE;
	lower_visit_read(&plain, meet_read, lower);
	lower_visit_written(&plain, meet_written, lower);
	lower->when = (struct machine_when){ 0 };
	if (lower->in.guard < 7)
		meet_read(lower,
			(lower->in.guard_is_uniform ? MACHINE_UNIFORM_PREDICATE
						    : MACHINE_PREDICATE) +
				lower->in.guard);
	if (lower_is_unknown_call(lower, &lower->in, lower->at_section, lower->at, context))
		lower_visit_clobbered(meet_written, lower);
}

int lower_find_conditions(struct lower *lower)
{
	lower->alias = calloc(lower->name_count + 1, sizeof(*lower->alias));
	lower->only = calloc(lower->name_count + 1, sizeof(*lower->only));
	if (!lower->alias || !lower->only)
		return lower_refuse(lower, "out of memory");
	for (uint32_t i = 0; i < lower->copied_count; i++) {
		const struct machine_copied *copied = &lower->copied[i];
		uint32_t to = lower_find(lower, copied->to);
		uint32_t from = lower_find(lower, copied->from);
		struct machine_when when = { .name = from };

		if ((lower->uses[to] | lower->uses[from]) & NAME_IS_WRITTEN_TWICE)
			continue;
		if (lower->alias[from].name)
			when = lower->alias[from];
		when.negated ^= copied->negated != 0;
		lower->alias[to] = when;
	}
	lower_begin_names(lower);
	for (uint32_t i = 0; i < lower->block_count; i++) {
		const struct machine_block *block = &lower->block[i];

		lower_begin_block(lower, block);
		lower->at_section = block->section;
		for (lower->at = block->start; lower->at < block->end; lower->at += SASS_BYTES) {
			lower_decode(lower, block->section, lower->at, &lower->in);
			lower_take_names(lower, block->context);
			meet_instruction(lower, block->context);
			lower_note_copies(lower);
			lower_end_names(lower, block->context);
		}
	}
	meet_kept(lower);
	return lower->failed ? -1 : 0;
}
