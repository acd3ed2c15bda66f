/* SPDX-License-Identifier: Apache-2.0 */
#include "launch_words.h"

#include <string.h>

enum {
	WORD = 8,
	MOST_PLACES = 32768, /* bytes that a launch can pass, and then some */
};

/* Places of words that are no pointers, in the recorder's order (preload/arguments.c). */
struct places {
	const struct launch_pointer *pointer; /* what is left of the list, in the same order */
	size_t pointer_count;
	size_t count; /* of all, of which the first few are kept */
	uint32_t offset[LAUNCH_WORDS_KEPT];
};

static void add_place(struct places *places, uint32_t offset)
{
	if (places->pointer_count && places->pointer->offset == offset) {
		places->pointer++;
		places->pointer_count--;
		return;
	}
	if (places->count < LAUNCH_WORDS_KEPT)
		places->offset[places->count] = offset;
	places->count++;
}

static void add_bytes(struct places *places, uint32_t offset, uint32_t size)
{
	for (uint32_t at = offset, end = offset + size; at < end; at = (at / WORD + 1) * WORD)
		add_place(places, at);
}

static struct function_parameter parameter_of(const struct function_record *layout, uint32_t i)
{
	struct function_parameter parameter;

	memcpy(&parameter, layout->data + i * sizeof(parameter), sizeof(parameter));
	return parameter;
}

/* One by one, as kernelParams gives them: 1 if that gives the words and pointers there are. */
static int place_each(struct places *places, size_t count, const struct function_record *layout)
{
	size_t kept;

	if (!layout || layout->parameter_count == FUNCTION_NO_PARAMETERS)
		return 0;
	for (uint32_t i = 0; i < layout->parameter_count && places->count < MOST_PLACES; i++) {
		struct function_parameter parameter = parameter_of(layout, i);

		add_bytes(places, parameter.offset, parameter.size);
	}
	kept = places->count <= LAUNCH_WORDS_KEPT ? places->count : LAUNCH_WORDS_KEPT + 1;
	return kept == count && !places->pointer_count;
}

/* Whole words from the start on, whatever they are. */
static int place_buffer(struct places *places, size_t count)
{
	for (uint32_t at = 0; places->count < count && places->count < LAUNCH_WORDS_KEPT;
		at += WORD)
		add_place(places, at);
	return 1;
}

void launch_words_place(struct launch_word *word, const struct launch_values *values,
	const struct function_record *layout)
{
	struct places places = {
		.pointer = values->pointer,
		.pointer_count = values->pointer_count,
	};
	int found = values->extra ? place_buffer(&places, values->count)
				  : place_each(&places, values->count, layout);

	for (size_t i = 0; i < values->count; i++) {
		word[i] = (struct launch_word){ LAUNCH_WORD_UNPLACED, values->value[i] };
		if (i == LAUNCH_WORDS_KEPT)
			word[i].offset = LAUNCH_WORD_HASH;
		else if (found)
			word[i].offset = places.offset[i];
	}
}

struct launch_word launch_words_get(const void *blob, size_t i)
{
	const char *at = (const char *)blob + i * LAUNCH_WORD_BYTES;
	struct launch_word word;

	memcpy(&word.offset, at, sizeof(word.offset));
	memcpy(&word.value, at + sizeof(word.offset), sizeof(word.value));
	return word;
}

/* Words of a buffer hold what lies in them together, others one parameter each. */
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
