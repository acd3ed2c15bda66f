/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of 32-bit words by 32-bit numbers, most of which are not there: four bytes for each
 * number in a stretch that is used.  Zero-initialized holds zeros; the owner releases it.
 */
#ifndef CUFENCE_SPARSE_WORDS_H
#define CUFENCE_SPARSE_WORDS_H

#include <stdint.h>

struct slots {
	uint32_t ***top; /* by the highest bits, the middle ones, the lowest */
};

/* The word of that number, which may be written. */
uint32_t *slots_at(struct slots *slots, uint32_t number);

/* The same if it is not zero, else NULL. */
uint32_t *slots_find(const struct slots *slots, uint32_t number);

/* The first number from there on whose word is not zero, UINT64_MAX: there is none. */
uint64_t slots_next(const struct slots *slots, uint64_t number);

void slots_release(struct slots *slots);

#endif
