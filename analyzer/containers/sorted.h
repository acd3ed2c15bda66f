/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary search among rows sorted by an integer member, which is given by its offset:
 *
 *	at = sorted_from(calls, count, sizeof(*calls), offsetof(struct call, enter), time);
 */
#ifndef CUFENCE_SORTED_H
#define CUFENCE_SORTED_H

#include <stddef.h>
#include <stdint.h>

/* Returns the index of the first row whose int64_t member is at or above a value, else count. */
static inline size_t sorted_from(const void *rows, size_t count, size_t row_size, size_t member,
	int64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *row = (const char *)rows + middle * row_size;

		if (*(const int64_t *)(const void *)(row + member) < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Likewise, above a value. */
static inline size_t sorted_after(const void *rows, size_t count, size_t row_size, size_t member,
	int64_t value)
{
	return value == INT64_MAX ? count : sorted_from(rows, count, row_size, member, value + 1);
}

/* As sorted_from(), of a uint32_t member. */
static inline size_t sorted_number(const void *rows, size_t count, size_t row_size, size_t member,
	uint32_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *row = (const char *)rows + middle * row_size;

		if (*(const uint32_t *)(const void *)(row + member) < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Among rows sorted by a group, a uint32_t member, and then by an int64_t member: returns the index
 * of the first row of a group above a value, or of what comes after the group.
 */
static inline size_t sorted_in_group(const void *rows, size_t count, size_t row_size,
	size_t group_member, uint32_t group, size_t member, int64_t value)
{
	size_t from = sorted_number(rows, count, row_size, group_member, group);
	size_t end = group == UINT32_MAX
		? count
		: sorted_number(rows, count, row_size, group_member, group + 1);

	return from +
		sorted_after((const char *)rows + from * row_size, end - from, row_size, member,
			value);
}

#endif
