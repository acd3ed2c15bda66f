/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow one element at a time, by doubling.
 *
 *	more = array_room(list, count, sizeof(*list));
 *	if (!more)
 *		return -1;
 *	list = more;
 *	list[count++] = element;
 */
#ifndef CUFENCE_ARRAY_H
#define CUFENCE_ARRAY_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* The array with room for one more than count elements; NULL after a message, array untouched. */
static inline void *array_room(void *array, size_t count, size_t size)
{
	void *more = array;

	if (!(count & (count - 1)))
		more = realloc(array, (count ? 2 * count : 1) * size);
	if (!more)
		fputs("cufence: out of memory\n", stderr);
	return more;
}

#endif
