/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of rows for qsort(), by several numbers:
 *
 *	return by_number(x->thread, y->thread) ?: by_number(y->cost, x->cost);
 */
#ifndef CUFENCE_COMPARE_H
#define CUFENCE_COMPARE_H

#include <stdint.h>

/* Ascending; descending with the two exchanged. */
static inline int by_number(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

#endif
