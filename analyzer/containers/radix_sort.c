/* SPDX-License-Identifier: Apache-2.0 */
#include "radix_sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "large.h"
#include "memory.h"

/* Of a digit.  Few rows take less time than clearing and adding up many counters. */
enum {
	BITS_FEW = 8,
	BITS_MANY = 16,
	MANY_ROWS = 4096,
};

/* Negative numbers come first. */
static size_t digit_of(const uint64_t *row, unsigned shift, size_t digits)
{
	return (*row ^ (uint64_t)1 << 63) >> shift & (digits - 1);
}

/* By one digit; 0 if all have the same.  words: of a row. */
static int sort_digit(const uint64_t *from, uint64_t *to, size_t count, size_t words,
	unsigned shift, size_t *next, size_t digits)
{
	size_t sum = 0;

	memset(next, 0, digits * sizeof(*next));
	for (size_t i = 0; i < count; i++)
		next[digit_of(from + i * words, shift, digits)]++;
	if (next[digit_of(from, shift, digits)] == count)
		return 0;
	for (size_t i = 0; i < digits; i++) {
		size_t here = next[i];

		next[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++, from += words) {
		uint64_t *row = to + words * next[digit_of(from, shift, digits)]++;

		for (size_t word = 0; word < words; word++)
			row[word] = from[word];
	}
	return 1;
}

/* Returns one of the two, which is sorted; the other one is the caller's, too. */
static void *sort(void *rows, void *spare, size_t count, size_t row_size)
{
	unsigned bits = count < MANY_ROWS ? BITS_FEW : BITS_MANY;
	size_t digits = (size_t)1 << bits, *next = xrealloc(NULL, digits, sizeof(*next));

	for (unsigned shift = 0; count && shift < 64; shift += bits) {
		void *before = rows;

		if (!sort_digit(rows, spare, count, row_size / sizeof(uint64_t), shift, next,
			    digits))
			continue;
		rows = spare;
		spare = before;
	}
	free(next);
	return rows;
}

void *radix_sort(void *rows, size_t count, size_t row_size)
{
	void *spare = xrealloc(NULL, count, row_size);
	void *sorted = sort(rows, spare, count, row_size);

	free(sorted == rows ? spare : rows);
	return sorted;
}

void *radix_sort_large(void *rows, size_t count, size_t row_size)
{
	void *spare = large_need(NULL, count, row_size);
	void *sorted = sort(rows, spare, count, row_size);

	large_free(sorted == rows ? spare : rows);
	return sorted;
}
