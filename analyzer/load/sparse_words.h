/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sparse array of 32-bit words by a 32-bit number: a table of three levels, four bytes for each
 * number of a block that is used.  Zero-initialized holds zeros; the owner releases it.
 */
#ifndef CUFENCE_SPARSE_WORDS_H
#define CUFENCE_SPARSE_WORDS_H

#include <stdint.h>

struct sparse_words {
	uint32_t ***top; /* by the highest bits, the middle ones, the lowest */
};

/* The word of that number, which may be written. */
uint32_t *sparse_words_at(struct sparse_words *words, uint32_t number);

/* The same if it is not zero, else NULL. */
uint32_t *sparse_words_find(const struct sparse_words *words, uint32_t number);

/* The first number from there on whose word is not zero, UINT64_MAX: there is none. */
uint64_t sparse_words_next(const struct sparse_words *words, uint64_t number);

void sparse_words_release(struct sparse_words *words);

#endif
