/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a launch.  Most take a few words in all: these go into the record as they are.
 * Of more, word by word, those that point into memory CUDA knows go there with their offset, the
 * first eight others by value, and a hash stands for the rest, which is recorded once for each hash
 * (preload/words.c).
 */
#ifndef CUFENCE_ARGUMENTS_H
#define CUFENCE_ARGUMENTS_H

#include <stdint.h>
#include <string.h>

#include "record.h"

#define MAX_POINTERS 128
#define MAX_WORDS 8
#define MAX_REST 512    /* words: 4 KiB of parameters, of which a longer buffer keeps none */
#define BUFFER_WORDS 24 /* of a buffer that is recorded whole, at most */

/* Of one launch; lives on the wrapper's stack until the record is written. */
struct launch_arguments {
	unsigned pointer_count;
	int extra;           /* they came as one buffer, read in whole words */
	unsigned word_count; /* in word[]; the hash, if any, is one of them */
	uint64_t word[MAX_WORDS + 1];
	struct launch_pointer pointer[MAX_POINTERS];
	unsigned rest_count, keeps_rest; /* words after word[], if they are to be kept */
	uint64_t rest[MAX_REST];
};

/* A kernel's parameters; data follows in the same arena. */
struct function_layout {
	uint32_t count;
	uint8_t words;   /* of the whole buffer, 0: more than BUFFER_WORDS */
	uint8_t leading; /* parameters that are the first words, one each */
	uint8_t padded;  /* 1: there are bytes that belong to no parameter */
	uint8_t asked;   /* 1: for what only a loaded function says */
	struct function_parameter parameter[];
};

/*
 * Reads the parameters that cuLaunchKernel was given: values[i] points to parameter i (layout
 * says how long it is), or extra holds the whole buffer.  layout may be NULL: then values cannot
 * be read.  keeps_rest is the caller's: words that the hash stands for are kept as well, and
 * rest_count says how many there are, of which MAX_REST are kept.
 */
void arguments_scan(struct launch_arguments *arguments, const struct function_layout *layout,
	void *const *values, void *const *extra);

/* Sets words, leading and padded of a layout whose parameters are there. */
void arguments_measure(struct function_layout *layout);

/* From parameter first on; those before it are words, and copied. */
void arguments_copy_from(void *to, const struct function_layout *layout, void *const *values,
	uint32_t first);

/* Writes layout->words words, not 0: the whole buffer. */
static inline void arguments_copy(void *to, const struct function_layout *layout,
	void *const *values)
{
	uint32_t leading = layout->leading, count = layout->count;

	/* Pointers come first in most kernels: without a look at the table. */
	for (uint32_t i = 0; i < leading; i++)
		memcpy((char *)to + i * 8u, values[i], 8);
	if (leading < count)
		arguments_copy_from(to, layout, values, leading);
}

#endif
