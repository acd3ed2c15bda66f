/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameter words of a launch that lie in no allocation (those that do are rows of operand):
 * the scalars from which a kernel computes what it touches.  A blob of the database, column words
 * of shape: entries of 12 bytes, little-endian, u32 offset and u64 value.
 *
 * Of a small parameter buffer the recorder keeps all.  Of a large one it keeps the first eight
 * scalars and a hash of the rest, without their places, and the rest once for each hash; the places
 * are found again from the layout of the kernel's parameters and the places of the pointers.
 */
#ifndef CUFENCE_LAUNCH_WORDS_H
#define CUFENCE_LAUNCH_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct launch_word {
	uint32_t offset; /* bytes into the parameter buffer, or one of these: */
	uint64_t value;  /* the bytes from there on, up to 8 or to the next offset */
};
#define LAUNCH_WORD_HASH UINT32_MAX           /* of all words that are not listed */
#define LAUNCH_WORD_UNPLACED (UINT32_MAX - 1) /* it is not known where it stands */

enum {
	LAUNCH_WORDS_KEPT = 8,   /* by the recorder; a ninth is the hash */
	LAUNCH_WORDS_MAX = 64,   /* beside the rest */
	LAUNCH_WORDS_REST = 512, /* that a hash stands for */
	LAUNCH_WORDS_MOST = LAUNCH_WORDS_KEPT + LAUNCH_WORDS_REST,
	LAUNCH_WORD_BYTES = 12,
};

/*
 * A parameter word that points into an allocation, of column pointers of shape: its offset, and in
 * the upper byte how many of the address's lowest bits are 0, up to those that the widest access of
 * a thread asks for.
 */
enum { LAUNCH_POINTED_BITS = 24, LAUNCH_ALIGNED_MOST = 5 };

static inline uint32_t launch_pointed(uint32_t offset, uint64_t address)
{
	uint64_t bits = address | UINT64_C(1) << LAUNCH_ALIGNED_MOST;

	return offset | (uint32_t)__builtin_ctzll(bits) << LAUNCH_POINTED_BITS;
}

/* The words of a record that lie behind its pointers. */
struct launch_values {
	uint64_t value[LAUNCH_WORDS_KEPT + 1];
	size_t count;
	const uint64_t *rest; /* what the hash stands for; NULL: not known */
	size_t rest_count;
	const struct launch_pointer *pointer;
	size_t pointer_count;
	int extra; /* CALL_EXTRA */
};

/*
 * Fills word, of which there is room for LAUNCH_WORDS_MOST: how many.  Those are as many as values
 * has, or where the rest is known and has its places, all of them without the hash.  layout: NULL
 * if it is not known.
 */
size_t launch_words_place(struct launch_word *word, const struct launch_values *values,
	const struct function_record *layout);

/*
 * The parameter of size bytes, at most 8, at that offset: 1 and *value, or 0 if it is not known.  A
 * pointer into an allocation is not among the words.
 */
int launch_words_find(const void *blob, size_t bytes, uint32_t offset, uint32_t size,
	uint64_t *value);

/* Entry i of a blob; the blob has bytes / LAUNCH_WORD_BYTES of them. */
struct launch_word launch_words_get(const void *blob, size_t i);
void launch_words_put(void *blob, size_t i, struct launch_word word);

#endif
