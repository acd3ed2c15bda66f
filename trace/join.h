/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins texts and numbers in a caller's array.  Replaces snprintf(), which uses more than a
 * kilobyte of stack; threads and signal handlers that call CUDA may not have that much.
 */
#ifndef CUFENCE_JOIN_H
#define CUFENCE_JOIN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The text in array is NUL-terminated after each function, truncated to size bytes. */
struct joined {
	char *array;
	size_t size;   /* of array, 1 or more */
	size_t length; /* of the whole text; size or more: truncated */
};

static inline void join_bytes(struct joined *joined, const char *bytes, size_t count)
{
	size_t at = joined->length < joined->size ? joined->length : joined->size - 1;
	size_t room = joined->size - 1 - at, fits = count < room ? count : room;

	memcpy(joined->array + at, bytes, fits);
	joined->array[at + fits] = '\0';
	joined->length += count;
}

static inline void join(struct joined *joined, const char *text)
{
	join_bytes(joined, text, strlen(text));
}

static inline void join_number(struct joined *joined, uint64_t number)
{
	char digits[20];
	size_t first = sizeof(digits);

	do
		digits[--first] = (char)('0' + number % 10);
	while (number /= 10);
	join_bytes(joined, digits + first, sizeof(digits) - first);
}

/* 1: the text was not truncated. */
static inline int joined_whole(const struct joined *joined)
{
	return joined->length < joined->size;
}

#endif
