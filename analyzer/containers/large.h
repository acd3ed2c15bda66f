/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays with an element for each call or operation, which may exceed memory.  One of LARGE_BYTES
 * or more lies in an unlinked file of its own (scratch_file.h), of which a part is resident
 * (resident.h); without room for the file it stays in memory.  For lack of memory the process ends,
 * as in memory.h.  Owned by who grows it; NULL is an empty one.  One array is for one thread at a
 * time.
 *
 *	*large_push(span, count) = (struct span){ start, end };
 *	large_free(span);
 */
#ifndef CUFENCE_LARGE_H
#define CUFENCE_LARGE_H

#include <stddef.h>

#define LARGE_BYTES ((size_t)128 << 20)

/* The array with room for count elements or more; new ones are undefined. */
void *large_need(void *array, size_t count, size_t size);

/* Of zeros; count or size may be 0. */
void *large_zeroed(size_t count, size_t size);

void large_free(void *array);

/* A pointer to one more element of array, whose content is undefined; counts it. */
#define large_push(array, count) \
	((array) = large_need((array), (count) + 1, sizeof(*(array))), &(array)[(count)++])

#endif
