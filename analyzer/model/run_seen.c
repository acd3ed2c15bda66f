/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"
#include "run_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t home_of(const struct run_seen *seen, const void *row, size_t row_size)
{
	const unsigned char *bytes = row;
	uint64_t hash = 0, word;

	for (size_t i = 0; i < row_size; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return (size_t)hash & (seen->size - 1);
}

static void grow(struct run_seen *seen, const unsigned char *rows, size_t row_size)
{
	struct run_seen more = { .size = seen->size ? 2 * seen->size : 64, .count = seen->count };

	more.slot = xcalloc(more.size, sizeof(*more.slot));
	for (size_t i = 0; i < seen->size; i++) {
		size_t at;

		if (!seen->slot[i])
			continue;
		at = home_of(&more, rows + seen->slot[i] * row_size, row_size);
		while (more.slot[at])
			at = (at + 1) & (more.size - 1);
		more.slot[at] = seen->slot[i];
	}
	free(seen->slot);
	*seen = more;
}

uint32_t run_seen_need(struct run_seen *seen, const void *rows, const void *row, size_t row_size,
	uint32_t number)
{
	const unsigned char *all = rows;
	size_t at;

	if (2 * (seen->count + 1) > seen->size)
		grow(seen, all, row_size);
	at = home_of(seen, row, row_size);
	for (; seen->slot[at]; at = (at + 1) & (seen->size - 1))
		if (!memcmp(all + seen->slot[at] * row_size, row, row_size))
			return seen->slot[at];
	seen->slot[at] = number;
	seen->count++;
	return number;
}

void run_seen_release(struct run_seen *seen)
{
	free(seen->slot);
	*seen = (struct run_seen){ 0 };
}
