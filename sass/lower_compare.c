/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers that run out of predicates repeat comparisons.  Within a block, comparing the same
 * values again gives the same condition, or its opposite.
 */
#include <string.h>

#include "lower_internal.h"

/*
 * Identifies an operand's value while names identify register contents.  Returns 0, or -1: unknown.
 */
static int side_of(const struct lower *lower, const struct sass_operand *operand,
	struct machine_side *side)
{
	memset(side, 0, sizeof(*side));
	side->kind = operand->kind;
	if (operand->negated || operand->absolute || operand->inverted)
		return -1;
	switch (operand->kind) {
	case SASS_OPERAND_GENERAL:
		if (operand->number < 255)
			side->name = lower->current[MACHINE_GENERAL + operand->number];
		else
			side->kind = SASS_OPERAND_IMMEDIATE;
		return 0;
	case SASS_OPERAND_UNIFORM:
		if (operand->number < 63)
			side->name = lower->current[MACHINE_UNIFORM + operand->number];
		else
			side->kind = SASS_OPERAND_IMMEDIATE;
		return operand->number < 63 || operand->number == SASS_NONE ? 0 : -1;
	case SASS_OPERAND_IMMEDIATE:
		side->value = operand->value;
		return 0;
	case SASS_OPERAND_CONSTANT:
		side->value = operand->value;
		side->bank = operand->bank;
		return operand->number == SASS_NONE && operand->bank_register == SASS_NONE ? 0 : -1;
	default:
		return -1;
	}
}

static int is_plain(const struct sass_instruction *in)
{
	return in->opcode == SASS_ISETP && in->guard == SASS_NONE && !in->is_extended &&
		!in->is_64 && in->combine == SASS_COMBINE_AND && in->to_count > 0 &&
		in->to[0].number < 7 && in->from_count > 2 && in->from[2].number == SASS_NONE &&
		!in->from[2].negated && in->compare > SASS_COMPARE_FALSE &&
		in->compare < SASS_COMPARE_TRUE;
}

static struct machine_when own_condition(struct lower *lower, unsigned machine)
{
	uint32_t name = lower->own[machine], root = lower_find(lower, name);

	if (lower->uses[root] & NAME_IS_WRITTEN_TWICE)
		return (struct machine_when){ .name = name, .is_local = 1 };
	return (struct machine_when){ .name = root };
}

int lower_compared_before(struct lower *lower, unsigned machine, struct machine_when *when)
{
	const struct sass_instruction *in = &lower->in;
	struct machine_comparison made = { .compare = in->compare, .is_signed = in->is_signed };

	if (!is_plain(in) || side_of(lower, &in->from[0], &made.side[0]) ||
		side_of(lower, &in->from[1], &made.side[1]))
		return 0;
	for (unsigned i = 0; i < MACHINE_COMPARISONS; i++) {
		const struct machine_comparison *old = &lower->comparison[i];
		int opposite = old->compare == SASS_COMPARE_TRUE - made.compare;

		if (!old->when.name || old->is_signed != made.is_signed ||
			(old->compare != made.compare && !opposite) ||
			memcmp(old->side, made.side, sizeof(made.side)) != 0)
			continue;
		*when = old->when;
		when->negated ^= opposite;
		return 1;
	}
	made.when = own_condition(lower, machine);
	lower->comparison[lower->comparisons++ % MACHINE_COMPARISONS] = made;
	return 0;
}
