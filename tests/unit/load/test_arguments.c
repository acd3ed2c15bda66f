/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a launch's parameters, against a word-by-word reference. */
#include "unit.h"

#include "allocation.h"
#include "arguments.h"
#include "launch_words.h"

#define KNOWN 0x7f1234000000u /* a granule with memory in it */
#define BLOCK 4096

/* The index, with one granule in use. */
uint16_t *allocation_granules;
uint64_t allocation_regions[(1u << (ADDRESS_BITS - REGION_SHIFT)) / 64];

struct sample {
	char bytes[BLOCK];
	void *values[64];
	struct function_layout *layout;
};

static uint64_t random_word(unsigned *seed)
{
	switch (rand_r(seed) % 4) {
	case 0:
		return KNOWN + (uint64_t)(rand_r(seed) % 65536);
	case 1: /* looks like an address, is none that we know */
		return 0x7f9900000000u + (uint64_t)rand_r(seed);
	case 2:
		return (uint64_t)(rand_r(seed) % 100);
	default:
		return ~(uint64_t)rand_r(seed) << 20;
	}
}

/* Parameters of odd sizes at their natural alignment, as a compiler lays them out. */
static void make_sample(struct sample *sample, unsigned *seed)
{
	static const uint16_t sizes[] = { 1, 2, 4, 8, 8, 8, 12, 24, 40, 136, 1000 };
	unsigned count = 1 + (unsigned)rand_r(seed) % 16;
	uint32_t at = 0;

	sample->layout =
		malloc(sizeof(*sample->layout) + count * sizeof(sample->layout->parameter[0]));
	sample->layout->count = 0;
	for (size_t i = 0; i < BLOCK; i += 8) {
		uint64_t word = random_word(seed);
		memcpy(sample->bytes + i, &word, 8);
	}
	for (unsigned i = 0; i < count; i++) {
		uint16_t size = sizes[(size_t)rand_r(seed) % (sizeof(sizes) / sizeof(*sizes))];
		uint32_t align = size % 8 == 0 ? 8 : size % 4 == 0 ? 4 : size;

		at = (at + align - 1) / align * align;
		if (at + size > BLOCK)
			break;
		sample->layout->parameter[i] = (struct function_parameter){ (uint16_t)at, size };
		sample->values[i] = sample->bytes + at;
		sample->layout->count++;
		at += size;
	}
}

static void expect_word(const struct launch_arguments *got, unsigned *pointers, unsigned *others,
	uint32_t offset, uint64_t word, int whole)
{
	if (whole && word >> GRANULE_SHIFT == KNOWN >> GRANULE_SHIFT && *pointers < MAX_POINTERS) {
		const struct launch_pointer *pointer = &got->pointer[(*pointers)++];

		assert_int_equal(pointer->offset, offset);
		assert_int_equal((uint64_t)pointer->pointer[1] << 32 | pointer->pointer[0], word);
	} else if ((*others)++ < MAX_WORDS) {
		assert_int_equal(got->word[*others - 1], word);
	}
}

static void check(const struct sample *sample, const struct launch_arguments *got)
{
	unsigned pointers = 0, others = 0;

	for (uint32_t i = 0; i < sample->layout->count; i++) {
		uint32_t at = sample->layout->parameter[i].offset;
		uint32_t end = at + sample->layout->parameter[i].size;

		while (at < end) {
			uint32_t step = 8 - at % 8 < end - at ? 8 - at % 8 : end - at;
			uint64_t word = 0;

			memcpy(&word, sample->bytes + at, step);
			expect_word(got, &pointers, &others, at, word, step == 8);
			at += step;
		}
	}
	assert_int_equal(got->pointer_count, pointers);
	assert_int_equal(got->word_count, others > MAX_WORDS ? MAX_WORDS + 1 : others);
}

/* The analyzer finds the places of the words again. */
static void check_places(const struct sample *sample, const struct launch_arguments *got)
{
	_Alignas(8) static char
		buffer[sizeof(struct function_record) + 64 * sizeof(struct function_parameter)];
	struct function_record *layout = (struct function_record *)(void *)buffer;
	struct launch_values values = { .count = got->word_count,
		.pointer = got->pointer,
		.pointer_count = got->pointer_count,
		.extra = got->extra };
	static struct launch_word word[LAUNCH_WORDS_MOST];
	size_t count;

	layout->parameter_count = sample->layout->count;
	memcpy(layout->data, sample->layout->parameter,
		sample->layout->count * sizeof(struct function_parameter));
	memcpy(values.value, got->word, got->word_count * sizeof(uint64_t));
	launch_words_place(word, &values, got->extra ? NULL : layout);
	for (size_t i = 0; i < values.count && i < LAUNCH_WORDS_KEPT; i++) {
		assert_true(word[i].offset < BLOCK);
		assert_memory_equal(&values.value[i], &word[i].value, sizeof(uint64_t));
		/* Its low bytes at least: an odd parameter may be shorter. */
		assert_memory_equal(sample->bytes + word[i].offset, &word[i].value, 1);
		assert_true(!i || word[i].offset > word[i - 1].offset);
	}
	if (values.count <= LAUNCH_WORDS_KEPT)
		return;
	assert_int_equal(word[LAUNCH_WORDS_KEPT].offset, LAUNCH_WORD_HASH);
	if (got->rest_count > MAX_REST)
		return;
	values.rest = got->rest;
	values.rest_count = got->rest_count;
	count = launch_words_place(word, &values, got->extra ? NULL : layout);
	assert_int_equal(count, LAUNCH_WORDS_KEPT + got->rest_count);
	for (size_t i = 0; i < count; i++) {
		assert_true(word[i].offset < BLOCK);
		assert_memory_equal(sample->bytes + word[i].offset, &word[i].value, 1);
		assert_true(!i || word[i].offset > word[i - 1].offset);
	}
}

TEST(a_layout_that_does_not_fit_places_nothing)
{
	static const struct function_parameter parameter[2] = { { 0, 8 }, { 8, 4 } };
	_Alignas(8) char buffer[sizeof(struct function_record) + sizeof(parameter)];
	struct function_record *layout = (struct function_record *)(void *)buffer;
	struct launch_pointer pointer = { .offset = 16 };
	struct launch_values values = { .count = 2, .value = { 1, 2 } };
	static struct launch_word word[LAUNCH_WORDS_MOST];

	layout->parameter_count = 2;
	memcpy(layout->data, parameter, sizeof(parameter));
	launch_words_place(word, &values, NULL);
	assert_int_equal(word[0].offset, LAUNCH_WORD_UNPLACED);
	launch_words_place(word, &values, layout);
	assert_int_equal(word[1].offset, 8);
	values.count = 3;
	launch_words_place(word, &values, layout);
	assert_int_equal(word[1].offset, LAUNCH_WORD_UNPLACED);
	values.count = 2;
	values.pointer = &pointer;
	values.pointer_count = 1;
	launch_words_place(word, &values, layout);
	assert_int_equal(word[1].offset, LAUNCH_WORD_UNPLACED);
}

TEST(words_hold_parameters_of_any_size)
{
	uint64_t value;
	char blob[3 * LAUNCH_WORD_BYTES];

	launch_words_put(blob, 0, (struct launch_word){ 0, 0x1122334455667788 });
	launch_words_put(blob, 1, (struct launch_word){ 16, 0x99 });
	launch_words_put(blob, 2, (struct launch_word){ LAUNCH_WORD_HASH, 7 });
	assert_true(launch_words_find(blob, sizeof(blob), 0, 8, &value));
	assert_true(value == 0x1122334455667788);
	assert_true(launch_words_find(blob, sizeof(blob), 4, 2, &value));
	assert_true(value == 0x3344);
	assert_true(launch_words_find(blob, sizeof(blob), 16, 4, &value));
	assert_true(value == 0x99);
	/* Beyond the known words, across their end, or in a word that is not listed. */
	assert_false(launch_words_find(blob, sizeof(blob), 24, 4, &value));
	assert_false(launch_words_find(blob, sizeof(blob), 4, 8, &value));
	assert_false(launch_words_find(blob, sizeof(blob), 8, 4, &value));
	assert_false(launch_words_find(blob, 0, 0, 4, &value));
}

TEST(every_word_is_a_pointer_or_a_scalar)
{
	static struct sample sample;
	static struct launch_arguments got = { .keeps_rest = 1 };
	size_t size = 512;
	void *extra[] = { (void *)1, sample.bytes, (void *)2, &size, NULL };
	unsigned seed = 1;

	for (int i = 0; i < 5000; i++) {
		make_sample(&sample, &seed);
		arguments_scan(&got, sample.layout, sample.values, NULL);
		check(&sample, &got);
		check_places(&sample, &got);
		arguments_scan(&got, NULL, NULL, extra);
		check_places(&sample, &got);
		free(sample.layout);
	}
}

TEST(the_hash_tells_any_scalar_beyond_the_eighth)
{
	static struct launch_arguments before, after;
	_Alignas(8) char
		buffer[sizeof(struct function_layout) + sizeof(struct function_parameter)] = { 0 };
	struct function_layout *one = (struct function_layout *)(void *)buffer;
	uint64_t words[50] = { 0 };
	void *values[1] = { words };

	one->count = 1;
	one->parameter[0] = (struct function_parameter){ 0, 400 };
	arguments_scan(&before, one, values, NULL);
	for (unsigned i = MAX_WORDS; i < 50; i++) {
		words[i] = 1;
		arguments_scan(&after, one, values, NULL);
		assert_int_not_equal(before.word[MAX_WORDS], after.word[MAX_WORDS]);
		words[i] = 0;
	}
	arguments_scan(&after, one, values, NULL);
	assert_int_equal(before.word[MAX_WORDS], after.word[MAX_WORDS]);
}

TEST(a_whole_buffer_is_read_without_a_layout)
{
	static struct launch_arguments got;
	uint64_t words[3] = { 7, KNOWN + 24, 9 };
	size_t size = sizeof(words);
	void *extra[] = { (void *)1, words, (void *)2, &size, NULL };

	arguments_scan(&got, NULL, NULL, extra);
	assert_int_equal(got.pointer_count, 1);
	assert_int_equal(got.pointer[0].offset, 8);
	assert_int_equal(got.word_count, 2);
	assert_int_equal(got.word[1], 9);
}

TEST(a_small_buffer_is_copied_whole)
{
	static struct sample sample;
	uint64_t got[BUFFER_WORDS + 1], wanted[BUFFER_WORDS];
	unsigned seed = 2, copied = 0;

	for (int i = 0; i < 5000; i++) {
		make_sample(&sample, &seed);
		struct function_layout *layout = sample.layout;
		uint32_t end = 0;

		arguments_measure(layout);
		memset(wanted, 0, sizeof(wanted));
		for (uint32_t j = 0; j < layout->count; j++) {
			struct function_parameter *at = &layout->parameter[j];

			end = at->offset + at->size;
			if (end <= sizeof(wanted))
				memcpy((char *)wanted + at->offset, sample.values[j], at->size);
		}
		if (end > sizeof(wanted)) {
			assert_int_equal(layout->words, 0);
		} else {
			assert_int_equal(layout->words, (end + 7) / 8);
			memset(got, 0xee, sizeof(got));
			arguments_copy(got, layout, sample.values);
			assert_memory_equal(got, wanted, layout->words * sizeof(*got));
			assert_int_equal(got[layout->words], 0xeeeeeeeeeeeeeeee);
			copied++;
		}
		free(layout);
	}
	assert_true(copied > 500);
}

/* A structure of one word may be aligned to two. */
TEST(words_apart_are_copied_to_their_places)
{
	_Alignas(8) char buffer[sizeof(struct function_layout) +
		2 * sizeof(struct function_parameter)] = { 0 };
	struct function_layout *layout = (struct function_layout *)(void *)buffer;
	uint64_t first = 1, second = 2, got[3] = { 7, 7, 7 };
	void *values[] = { &first, &second };

	layout->count = 2;
	layout->parameter[0] = (struct function_parameter){ 0, 8 };
	layout->parameter[1] = (struct function_parameter){ 16, 8 };
	arguments_measure(layout);
	arguments_copy(got, layout, values);
	assert_int_equal(got[0], 1);
	assert_int_equal(got[1], 0);
	assert_int_equal(got[2], 2);
}

static int set_up(void **state)
{
	allocation_granules = calloc(1ull << (ADDRESS_BITS - GRANULE_SHIFT), sizeof(uint16_t));
	if (allocation_granules)
		allocation_granules[KNOWN >> GRANULE_SHIFT] = 1;
	allocation_regions[(KNOWN >> REGION_SHIFT) / 64] = 1ull << (KNOWN >> REGION_SHIFT) % 64;
	return allocation_granules ? 0 : -1;
}

GROUP(set_up, NULL)
