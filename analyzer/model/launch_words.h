/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameter words of a launch that do not point into an allocation (those that do are rows of
 * operand): scalars from which a kernel computes addresses.  Stored as a blob in column words of
 * shape: entries of 12 bytes, little-endian, u32 offset and u64 value.
 *
 * The recorder keeps all words of a small parameter buffer.  For a large one it keeps the first
 * eight scalars and a hash of the rest, without their offsets, and the rest once per hash; the
 * offsets are reconstructed from the layout of the kernel's parameters and the offsets of the
 * pointers.
 */
#ifndef CUFENCE_LAUNCH_WORDS_H
#define CUFENCE_LAUNCH_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct launch_word {
	uint32_t offset; /* bytes into the parameter buffer, or one of the constants below */
	uint64_t value;  /* the bytes from there on, up to 8 or up to the next offset */
};
#define LAUNCH_WORD_HASH UINT32_MAX           /* hash of all words that are not listed */
#define LAUNCH_WORD_UNPLACED (UINT32_MAX - 1) /* offset unknown */

enum {
	LAUNCH_WORDS_KEPT = 8,   /* kept by the recorder; a ninth is the hash */
	LAUNCH_WORDS_MAX = 64,   /* in addition to the rest */
	LAUNCH_WORDS_REST = 512, /* words that a hash stands for */
	LAUNCH_WORDS_MOST = LAUNCH_WORDS_KEPT + LAUNCH_WORDS_REST,
	LAUNCH_WORD_BYTES = 12,
};

/*
 * A parameter word that points into an allocation, in column pointers of shape: its offset and, in
 * the upper byte, the number of lowest bits of the address that are 0, limited to the alignment of
 * the widest access of a thread.
 */
enum { LAUNCH_POINTED_BITS = 24, LAUNCH_ALIGNED_MOST = 5 };

static inline uint32_t launch_pointed(uint32_t offset, uint64_t address)
{
	uint64_t bits = address | UINT64_C(1) << LAUNCH_ALIGNED_MOST;

	return offset | (uint32_t)__builtin_ctzll(bits) << LAUNCH_POINTED_BITS;
}

/* The words after the pointers of a record. */
struct launch_values {
	uint64_t value[LAUNCH_WORDS_KEPT + 1];
	size_t count;
	const uint64_t *rest; /* the words that the hash stands for; NULL: unknown */
	size_t rest_count;
	const struct launch_pointer *pointer;
	size_t pointer_count;
	int extra; /* CALL_EXTRA */
};

/*
 * Fills word, which has room for LAUNCH_WORDS_MOST entries, and returns the number of entries.  If
 * the rest and its offsets are known, these are all words without the hash; otherwise they are the
 * words of values. layout: NULL if unknown.
 */
size_t launch_words_place(struct launch_word *word, const struct launch_values *values,
	const struct function_record *layout);

/*
 * Finds the parameter of size bytes, at most 8, at that offset.  Returns 1 and *value, or 0 if
 * unknown.  Pointers into allocations are not among the words.
 */
int launch_words_find(const void *blob, size_t bytes, uint32_t offset, uint32_t size,
	uint64_t *value);

/* Returns entry i of a blob, which has bytes / LAUNCH_WORD_BYTES entries. */
struct launch_word launch_words_get(const void *blob, size_t i);
void launch_words_put(void *blob, size_t i, struct launch_word word);

#endif
