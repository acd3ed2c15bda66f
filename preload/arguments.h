/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a launch.  If all of them fit into a few words, these are recorded unchanged.
 * Otherwise the record has each word that points into memory known to CUDA with its offset, the
 * first eight other words by value, and a hash of the rest, which is recorded once per hash
 * (preload/words.c).
 */
#ifndef CUFENCE_ARGUMENTS_H
#define CUFENCE_ARGUMENTS_H

#include <stdint.h>
#include <string.h>

#include "record.h"

#define MAX_POINTERS 128
#define MAX_WORDS 8
#define MAX_REST 512    /* words: 4 KiB of parameters; longer buffers keep none */
#define BUFFER_WORDS 24 /* maximum for a buffer recorded unchanged */

/* Parameters of one launch, on the wrapper's stack until the record is written. */
struct launch_arguments {
	unsigned pointer_count;
	int extra;           /* passed as one buffer, read in whole words */
	unsigned word_count; /* in word[], including the hash, if any */
	uint64_t word[MAX_WORDS + 1];
	struct launch_pointer pointer[MAX_POINTERS];
	unsigned rest_count, keeps_rest; /* words after word[], if they are to be kept */
	uint64_t rest[MAX_REST];
};

/* A kernel's parameter layout; data follows in the same arena. */
struct function_layout {
	uint32_t count;
	uint8_t words;   /* size of the whole buffer, 0: more than BUFFER_WORDS */
	uint8_t leading; /* number of leading parameters that are one word each */
	uint8_t padded;  /* 1: the buffer has padding bytes */
	uint8_t asked;   /* 1: attributes that need a loaded function have been queried */
	struct function_parameter parameter[];
};

/*
 * Reads the parameters of cuLaunchKernel: values[i] points to parameter i (layout has its size), or
 * extra contains the whole buffer.  Without a layout (NULL) values cannot be read.  If the caller
 * sets keeps_rest, the words of the hash are kept too; rest_count is their number, at most
 * MAX_REST.
 */
void arguments_scan(struct launch_arguments *arguments, const struct function_layout *layout,
	void *const *values, void *const *extra);

/* Computes words, leading and padded of a layout from its parameters. */
void arguments_measure(struct function_layout *layout);

/* Copies from parameter first on; previous ones are single words and already copied. */
void arguments_copy_from(void *to, const struct function_layout *layout, void *const *values,
	uint32_t first);

/* Copies the whole buffer, layout->words words (not 0). */
static inline void arguments_copy(void *to, const struct function_layout *layout,
	void *const *values)
{
	uint32_t leading = layout->leading, count = layout->count;

	/* In most kernels pointers come first: copy these without using the layout. */
	for (uint32_t i = 0; i < leading; i++)
		memcpy((char *)to + i * 8u, values[i], 8);
	if (leading < count)
		arguments_copy_from(to, layout, values, leading);
}

#endif
