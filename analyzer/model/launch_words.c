/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_words.h"

#include <string.h>

#define PLACES_LIMIT 32768 /* more bytes than a launch can pass */

enum { WORD = 8 };

/* Offsets of words that are not pointers, in the recorder's order (preload/arguments.c). */
struct places {
	const struct launch_pointer *pointer; /* the rest of the list, in the same order */
	size_t pointer_count;
	size_t count; /* of all words; only those in offset have a known place */
	uint32_t offset[LAUNCH_WORDS_MOST];
};

static void add_place(struct places *places, uint32_t offset)
{
	if (places->pointer_count && places->pointer->offset == offset) {
		places->pointer++;
		places->pointer_count--;
		return;
	}
	if (places->count < LAUNCH_WORDS_MOST)
		places->offset[places->count] = offset;
	places->count++;
}

/*
 * Parameter by parameter, as in kernelParams.  Returns 1 if the numbers of words and pointers
 * match.
 */
static int place_each(struct places *places, size_t count, const struct function_record *layout)
{
	size_t kept;

	if (!layout || layout->parameter_count == FUNCTION_NO_PARAMETERS)
		return 0;
	for (uint32_t i = 0; i < layout->parameter_count && places->count < PLACES_LIMIT; i++) {
		struct function_parameter parameter;

		memcpy(&parameter, layout->data + i * sizeof(parameter), sizeof(parameter));
		for (uint32_t at = parameter.offset, end = at + parameter.size; at < end;
			at = (at / WORD + 1) * WORD)
			add_place(places, at);
	}
	kept = places->count <= LAUNCH_WORDS_KEPT ? places->count : LAUNCH_WORDS_KEPT + 1;
	return kept == count && !places->pointer_count;
}

/* All words of the buffer from its start. */
static int place_buffer(struct places *places, size_t count)
{
	for (uint32_t at = 0; places->count < count && places->count < LAUNCH_WORDS_MOST;
		at += WORD)
		add_place(places, at);
	return 1;
}

static struct places find_places(const struct launch_values *values, size_t all,
	const struct function_record *layout, int *found)
{
	struct places places = {
		.pointer = values->pointer,
		.pointer_count = values->pointer_count,
	};

	*found = values->extra ? place_buffer(&places, all)
			       : place_each(&places, values->count, layout);
	return places;
}

size_t launch_words_place(struct launch_word *word, const struct launch_values *values,
	const struct function_record *layout)
{
	int has_rest = values->count > LAUNCH_WORDS_KEPT && values->rest, found;
	size_t all = has_rest ? LAUNCH_WORDS_KEPT + values->rest_count : values->count;
	struct places places = find_places(values, all, layout, &found);
	size_t count = values->count;

	for (size_t i = 0; i < count; i++)
		word[i] =
			(struct launch_word){ found && i < LAUNCH_WORDS_KEPT ? places.offset[i]
									     : LAUNCH_WORD_UNPLACED,
				values->value[i] };
	if (!has_rest || !found || places.count != all) {
		if (count > LAUNCH_WORDS_KEPT)
			word[LAUNCH_WORDS_KEPT].offset = LAUNCH_WORD_HASH;
		return count;
	}
	for (size_t i = LAUNCH_WORDS_KEPT; i < all; i++)
		word[i] = (struct launch_word){ places.offset[i],
			values->rest[i - LAUNCH_WORDS_KEPT] };
	return all;
}

struct launch_word launch_words_get(const void *blob, size_t i)
{
	const char *at = (const char *)blob + i * LAUNCH_WORD_BYTES;
	struct launch_word word;

	memcpy(&word.offset, at, sizeof(word.offset));
	memcpy(&word.value, at + sizeof(word.offset), sizeof(word.value));
	return word;
}

/* A word of a buffer may hold several parameters; other words hold one each. */
int launch_words_find(const void *blob, size_t bytes, uint32_t offset, uint32_t size,
	uint64_t *value)
{
	struct launch_word best = { .offset = LAUNCH_WORD_HASH };

	for (size_t i = 0; i < bytes / LAUNCH_WORD_BYTES; i++) {
		struct launch_word word = launch_words_get(blob, i);

		if (word.offset <= offset &&
			(best.offset == LAUNCH_WORD_HASH || word.offset > best.offset))
			best = word;
	}
	if (best.offset == LAUNCH_WORD_HASH || !size || size > WORD ||
		offset - best.offset > WORD - size)
		return 0;
	*value = best.value >> 8 * (offset - best.offset);
	if (size < WORD)
		*value &= (UINT64_C(1) << 8 * size) - 1;
	return 1;
}

void launch_words_put(void *blob, size_t i, struct launch_word word)
{
	char *at = (char *)blob + i * LAUNCH_WORD_BYTES;

	memcpy(at, &word.offset, sizeof(word.offset));
	memcpy(at + sizeof(word.offset), &word.value, sizeof(word.value));
}
