/* SPDX-License-Identifier: Apache-2.0 */
#include "radix_sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define DIGIT_BITS 16
#define DIGITS ((size_t)1 << DIGIT_BITS)

/* Negative numbers come first. */
static size_t digit_of(const uint64_t *row, unsigned shift)
{
	return (*row ^ (uint64_t)1 << 63) >> shift & (DIGITS - 1);
}

/* By one digit; 0 if all have the same.  words: of a row. */
static int sort_digit(const uint64_t *from, uint64_t *to, size_t count, size_t words,
	unsigned shift, size_t *next)
{
	size_t sum = 0;

	memset(next, 0, DIGITS * sizeof(*next));
	for (size_t i = 0; i < count; i++)
		next[digit_of(from + i * words, shift)]++;
	if (next[digit_of(from, shift)] == count)
		return 0;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t here = next[i];

		next[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++, from += words) {
		uint64_t *row = to + words * next[digit_of(from, shift)]++;

		for (size_t word = 0; word < words; word++)
			row[word] = from[word];
	}
	return 1;
}

void *radix_sort(void *rows, size_t count, size_t row_size)
{
	void *spare = xrealloc(NULL, count, row_size), *sorted;
	size_t *next = xrealloc(NULL, DIGITS, sizeof(*next));

	for (unsigned shift = 0; count && shift < 64; shift += DIGIT_BITS) {
		if (!sort_digit(rows, spare, count, row_size / sizeof(uint64_t), shift, next))
			continue;
		sorted = spare;
		spare = rows;
		rows = sorted;
	}
	free(next);
	free(spare);
	return rows;
}
