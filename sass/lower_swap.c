/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compilers exchange registers without a third one: a ^= b, b ^= a, a ^= b.  Within a block, the
 * parts of such sums are kept: XOR of the sum with one part is the other.
 */
#include "lower_internal.h"

static unsigned machine_of(const struct sass_operand *operand)
{
	return operand->number +
		(operand->kind == SASS_OPERAND_GENERAL ? MACHINE_GENERAL : MACHINE_UNIFORM);
}

static int is_register(const struct sass_operand *operand)
{
	return (operand->kind == SASS_OPERAND_GENERAL || operand->kind == SASS_OPERAND_UNIFORM) &&
		operand->number < 255 && !operand->inverted && !operand->negated;
}

/* Returns the name of the value: for a recovered part, that part's name. */
static uint32_t value_of(const struct lower *lower, uint32_t name)
{
	for (uint32_t i = 0; i < lower->swap_count; i++)
		if (lower->swap[i].name == name && lower->swap[i].is_part)
			return lower->swap[i].value[0];
	return name;
}

/* Returns a sum with that part, and the index of the other part. */
static const struct machine_swap *find_other(const struct lower *lower, uint32_t sum, uint32_t part,
	int *other)
{
	for (uint32_t i = 0; i < lower->swap_count; i++) {
		const struct machine_swap *swap = &lower->swap[i];

		if (swap->name != sum || swap->is_part)
			continue;
		*other = swap->value[0] == part;
		if (*other || swap->value[1] == part)
			return swap;
	}
	return NULL;
}

static struct machine_swap *add_swap(struct lower *lower, uint32_t name)
{
	struct machine_swap *swap;

	if (lower->swap_count == MACHINE_SWAPS)
		lower->swap_count = 0;
	swap = &lower->swap[lower->swap_count++];
	*swap = (struct machine_swap){ .name = name };
	return swap;
}

static struct ptx_operand copy_of(struct lower *lower, struct ptx_operand value)
{
	struct ptx_operand copy = lower_reg(lower_temp(lower));

	lower_move(lower, copy, value);
	return copy;
}

struct ptx_operand lower_swapped(struct lower *lower, const struct sass_operand *to,
	const struct sass_operand *a, const struct sass_operand *b)
{
	const struct sass_operand *const operand[2] = { a, b };
	const struct machine_swap *known;
	struct machine_swap *swap;
	uint32_t value[2], own;
	int other = 0;

	if (lower->guard >= 0 || !is_register(to) || !is_register(a) || !is_register(b))
		return lower_unknown;
	own = lower->own[machine_of(to)];
	for (int i = 0; i < 2; i++)
		value[i] = value_of(lower, lower->current[machine_of(operand[i])]);
	for (int i = 0; i < 2; i++) {
		known = find_other(lower, value[i], value[!i], &other);
		if (known) {
			struct ptx_operand part = known->part[other];
			uint32_t name = known->value[other];

			swap = add_swap(lower, own);
			swap->is_part = 1;
			swap->value[0] = name;
			return part;
		}
	}
	if (machine_of(to) != machine_of(a) && machine_of(to) != machine_of(b))
		return lower_unknown;
	swap = add_swap(lower, own);
	for (int i = 0; i < 2; i++) {
		swap->value[i] = value[i];
		swap->part[i] = copy_of(lower, lower_source(lower, operand[i], 0));
	}
	return lower_unknown;
}
