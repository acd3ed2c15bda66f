/* SPDX-License-Identifier: Apache-2.0 */
#include "sparse_words.h"

#include <stdlib.h>

#include "memory.h"

enum { LOW_BITS = 10, MIDDLE_BITS = 11, TOP_BITS = 11 };
enum { LOW = 1 << LOW_BITS, MIDDLE = 1 << MIDDLE_BITS, TOP = 1 << TOP_BITS };

static unsigned top_of(uint32_t number)
{
	return number >> (LOW_BITS + MIDDLE_BITS);
}

static unsigned middle_of(uint32_t number)
{
	return number >> LOW_BITS & (MIDDLE - 1);
}

/* The level below, made if need be. */
static void *below(void *slot, size_t count, size_t size)
{
	void **at = slot;

	if (!*at)
		*at = xcalloc(count, size);
	return *at;
}

uint32_t *sparse_words_at(struct sparse_words *words, uint32_t number)
{
	uint32_t ***top = below(&words->top, TOP, sizeof(*top));
	uint32_t **middle = below(&top[top_of(number)], MIDDLE, sizeof(*middle));
	uint32_t *low = below(&middle[middle_of(number)], LOW, sizeof(*low));

	return &low[number & (LOW - 1)];
}

static uint32_t **middle_at(const struct sparse_words *words, uint32_t number)
{
	return words->top ? words->top[top_of(number)] : NULL;
}

uint32_t *sparse_words_find(const struct sparse_words *words, uint32_t number)
{
	uint32_t **middle = middle_at(words, number);
	uint32_t *low = middle ? middle[middle_of(number)] : NULL;

	return low && low[number & (LOW - 1)] ? &low[number & (LOW - 1)] : NULL;
}

uint64_t sparse_words_next(const struct sparse_words *words, uint64_t number)
{
	while (words->top && number <= UINT32_MAX) {
		uint32_t **middle = middle_at(words, (uint32_t)number), *low;

		if (!middle) {
			number = (number >> (LOW_BITS + MIDDLE_BITS)) + 1;
			number <<= LOW_BITS + MIDDLE_BITS;
			continue;
		}
		low = middle[middle_of((uint32_t)number)];
		if (!low) {
			number = ((number >> LOW_BITS) + 1) << LOW_BITS;
			continue;
		}
		if (low[number & (LOW - 1)])
			return number;
		number++;
	}
	return UINT64_MAX;
}

void sparse_words_release(struct sparse_words *words)
{
	for (unsigned i = 0; words->top && i < TOP; i++) {
		for (unsigned j = 0; words->top[i] && j < MIDDLE; j++)
			free(words->top[i][j]);
		free(words->top[i]);
	}
	free(words->top);
	*words = (struct sparse_words){ 0 };
}
