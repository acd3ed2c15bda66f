/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <string.h>

#include "allocation.h"

/* The first words of cuLaunchKernel's extra parameter: CU_LAUNCH_PARAM_* of cuda.h. */
enum { EXTRA_END = 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 };

#define LANES 4
#define MULTIPLIER 0x9e3779b97f4a7c15u

struct scan {
	struct launch_arguments *out;
	uint64_t hash[LANES];
	unsigned others; /* words that are not pointers */
};

#define INLINE static inline __attribute__((always_inline))

static void keep_rest(struct launch_arguments *out, const uint64_t *word, unsigned count)
{
	for (unsigned i = 0; i < count; i++, out->rest_count++)
		if (out->rest_count < MAX_REST)
			out->rest[out->rest_count] = word[i];
}

INLINE void add_other(struct scan *scan, unsigned lane, uint64_t word)
{
	if (scan->others++ < MAX_WORDS) {
		scan->out->word[scan->out->word_count++] = word;
		return;
	}
	scan->hash[lane] = (scan->hash[lane] ^ word) * MULTIPLIER;
	if (scan->out->keeps_rest)
		keep_rest(scan->out, &word, 1);
}

INLINE void add_word(struct scan *scan, unsigned lane, uint32_t offset, uint64_t word)
{
	struct launch_pointer *pointer;

	if (!allocation_maybe(word) || scan->out->pointer_count == MAX_POINTERS) {
		add_other(scan, lane, word);
		return;
	}
	pointer = &scan->out->pointer[scan->out->pointer_count++];
	pointer->offset = offset;
	pointer->pointer[0] = (uint32_t)word;
	pointer->pointer[1] = (uint32_t)(word >> 32);
}

/* Two words at a time with SSE2, which every x86-64 compiler supports. */
typedef uint64_t word_pair __attribute__((vector_size(16)));

/* 1: none of the four words can be an address above the first granule. */
static int are_scalars(const uint64_t word[LANES])
{
	const word_pair one = { 1, 1 };
	word_pair low, high;

	memcpy(&low, word, sizeof(low));
	memcpy(&high, word + 2, sizeof(high));
	/* 0 only for granules 1 to 2^(ADDRESS_BITS - GRANULE_SHIFT). */
	low = ((low >> GRANULE_SHIFT) - one) >> (ADDRESS_BITS - GRANULE_SHIFT);
	high = ((high >> GRANULE_SHIFT) - one) >> (ADDRESS_BITS - GRANULE_SHIFT);
	return low[0] && low[1] && high[0] && high[1];
}

INLINE int are_unknown(const uint64_t word[LANES])
{
	return are_scalars(word) ||
		!(allocation_maybe(word[0]) | allocation_maybe(word[1]) |
			allocation_maybe(word[2]) | allocation_maybe(word[3]));
}

/*
 * Returns the number of words, from the first one on and in steps of four, that cannot be pointers.
 * Each lane has its own hash in a register, so that words do not depend on each other.
 */
static uint32_t hash_others(struct scan *scan, const char *bytes, uint32_t count)
{
	uint64_t hash[LANES], word[LANES];
	uint32_t i = 0;

	memcpy(hash, scan->hash, sizeof(hash));
	for (; count - i >= LANES; i += LANES) {
		memcpy(word, bytes + i * sizeof(*word), sizeof(word));
		if (!are_unknown(word))
			break;
#pragma GCC unroll 4
		for (unsigned lane = 0; lane < LANES; lane++)
			hash[lane] = (hash[lane] ^ word[lane]) * MULTIPLIER;
		if (scan->out->keeps_rest)
			keep_rest(scan->out, word, LANES);
	}
	memcpy(scan->hash, hash, sizeof(hash));
	scan->others += i;
	return i;
}

/* Structures passed by value may have hundreds of words, most of them not pointers. */
static void scan_words(struct scan *scan, uint32_t offset, const char *bytes, uint32_t count)
{
	uint64_t word;
	uint32_t i = 0, end;

	while (i < count) {
		if (scan->others >= MAX_WORDS)
			i += hash_others(scan, bytes + i * sizeof(word), count - i);
		for (end = i + LANES; i < end && i < count; i++) {
			memcpy(&word, bytes + i * sizeof(word), sizeof(word));
			add_word(scan, i % LANES, offset + i * 8, word);
		}
	}
}

/* Pointers are 8-byte aligned in the parameter buffer; shorter parameters are scalars. */
static void scan_bytes(struct scan *scan, uint32_t offset, const char *bytes, uint32_t size)
{
	uint32_t at = 0;

	if (offset % 8 == 0) {
		scan_words(scan, offset, bytes, size / 8);
		at = size & ~7u;
	}
	while (at < size) {
		uint32_t step = 8 - (offset + at) % 8;
		uint64_t word = 0;

		if (step > size - at)
			step = size - at;
		memcpy(&word, bytes + at, step);
		if (step == 8)
			add_word(scan, 0, offset + at, word);
		else
			add_other(scan, 0, word);
		at += step;
	}
}

/* Most parameters are one word. */
INLINE void scan_parameter(struct scan *scan, const struct function_parameter *parameter,
	const void *value)
{
	uint64_t word;

	if (parameter->size != 8 || parameter->offset % 8) {
		scan_bytes(scan, parameter->offset, value, parameter->size);
		return;
	}
	memcpy(&word, value, sizeof(word));
	add_word(scan, 0, parameter->offset, word);
}

static void scan_extra(struct scan *scan, void *const *extra)
{
	const char *buffer = NULL;
	size_t size = 0;

	for (unsigned i = 0; i < 8 && extra[i] != (void *)EXTRA_END; i += 2) {
		if (extra[i] == (void *)EXTRA_BUFFER)
			buffer = extra[i + 1];
		else if (extra[i] == (void *)EXTRA_SIZE)
			size = *(const size_t *)extra[i + 1];
	}
	if (buffer && size <= 32768)
		scan_bytes(scan, 0, buffer, (uint32_t)size);
}

void arguments_scan(struct launch_arguments *arguments, const struct function_layout *layout,
	void *const *values, void *const *extra)
{
	struct scan scan = { .out = arguments, .hash = { 1, 2, 3, 4 } };

	arguments->pointer_count = arguments->word_count = arguments->rest_count = 0;
	arguments->extra = !(values && layout);
	if (values && layout) {
		for (uint32_t i = 0; i < layout->count; i++)
			scan_parameter(&scan, &layout->parameter[i], values[i]);
	} else if (extra) {
		scan_extra(&scan, extra);
	}
	if (scan.others > MAX_WORDS)
		arguments->word[arguments->word_count++] =
			scan.hash[0] ^ scan.hash[1] * 3 ^ scan.hash[2] * 5 ^ scan.hash[3] * 7;
}

void arguments_measure(struct function_layout *layout)
{
	uint32_t end = 0, used = 0;

	for (uint32_t i = 0; i < layout->count; i++) {
		uint32_t behind = layout->parameter[i].offset + layout->parameter[i].size;

		used += layout->parameter[i].size;
		if (behind > end)
			end = behind;
	}
	end = (end + 7) & ~7u;
	layout->words = (uint8_t)(end <= BUFFER_WORDS * 8 ? end / 8 : 0);
	layout->leading = 0;
	while (layout->leading < layout->count && layout->leading < BUFFER_WORDS &&
		layout->parameter[layout->leading].size == 8 &&
		layout->parameter[layout->leading].offset == layout->leading * 8)
		layout->leading++;
	layout->padded = used != end;
}

void arguments_copy_from(void *to, const struct function_layout *layout, void *const *values,
	uint32_t first)
{
	if (layout->padded)
		memset((char *)to + first * 8u, 0, (layout->words - first) * 8u);
	for (uint32_t i = first; i < layout->count; i++) {
		const struct function_parameter *parameter = &layout->parameter[i];
		char *at = (char *)to + parameter->offset;

		if (parameter->size == 8)
			memcpy(at, values[i], 8);
		else if (parameter->size == 4)
			memcpy(at, values[i], 4);
		else
			memcpy(at, values[i], parameter->size);
	}
}
