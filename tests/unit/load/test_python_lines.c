/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of every interpreter that is known, against what that interpreter says of them. */
#include "unit.h"

#include "script.h"
#include "python_lines.h"

struct sample {
	const char *name;
	unsigned version, first_line;
	size_t length, count;
	uint8_t table[1400];
	struct range {
		uint32_t start, end;
		int line;
	} range[48];
};

static const struct sample samples[] = {
#include "../../data/python_lines.h"
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void check_range(const struct sample *sample, const struct range *range)
{
	for (uint32_t at = range->start; at < range->end; at += 2) {
		int line = python_line(sample->version, sample->first_line, sample->table,
			sample->length, at);

		if (line != range->line)
			fail_msg("%s: line %d at %u, not %d", sample->name, line, at, range->line);
	}
}

TEST(every_instruction_has_its_line)
{
	unsigned versions = 0;

	for (unsigned i = 0; i < SAMPLES; i++) {
		versions |= 1u << (samples[i].version & 31);
		assert_true(samples[i].count > 0);
		for (size_t r = 0; r < samples[i].count; r++)
			check_range(&samples[i], &samples[i].range[r]);
	}
	assert_int_equal(versions, 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13);
}

/* A trace may hold anything. */
TEST(cut_and_damaged_tables_are_survived)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		const struct sample *sample = &samples[i];
		uint8_t *table = malloc(sample->length + 1);

		for (size_t length = 0; length <= sample->length; length++) {
			/*
			 * The buffer has the exact size, so that a sanitizer sees a read beyond it.
			 */
			uint8_t *cut = malloc(length ? length : 1);
			memcpy(cut, sample->table, length);
			assert_true(python_line(sample->version, sample->first_line, cut, length,
					    UINT32_MAX) >= 0);
			free(cut);
		}
		srand(1);
		for (unsigned round = 0; round < 1000; round++) {
			memcpy(table, sample->table, sample->length);
			for (unsigned n = 0; sample->length && n < 4; n++)
				table[(size_t)rand() % sample->length] = (uint8_t)rand();
			assert_true(python_line(sample->version, UINT32_MAX, table, sample->length,
					    (uint32_t)rand()) >= 0);
		}
		free(table);
	}
}

TEST(beyond_the_table_no_line_is_known)
{
	assert_int_equal(python_line(0x030c, 1, NULL, 0, 0), 0);
	assert_int_equal(python_line(0x030a, 1, NULL, 0, 0), 0);
	/* 3.9's has no end: the last line goes on. */
	assert_int_equal(python_line(0x0309, 7, NULL, 0, 10), 7);
}

static void expect(const char *file, enum script_origin wanted)
{
	if (script_origin(file, strlen(file)) != wanted)
		fail_msg("'%s' is not of origin %d", file, wanted);
}

TEST(files_are_told_by_their_place)
{
	expect("/home/u/train.py", SCRIPT_OWN);
	expect("train.py", SCRIPT_OWN);
	expect("<string>", SCRIPT_OWN);
	expect("/tmp/ipykernel_12/345.py", SCRIPT_OWN);
	expect("/home/u/site-packages.py", SCRIPT_OWN);
	expect("", SCRIPT_OWN);
	expect("/usr/lib/python3/dist-packages/cupy/core.py", SCRIPT_PACKAGE);
	expect("/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", SCRIPT_PACKAGE);
	expect("/tmp/torchinductor_root/ab/cabc.py", SCRIPT_PACKAGE);
	expect("<eval_with_key>.7", SCRIPT_PACKAGE);
	expect("/usr/lib/python3.11/ctypes/__init__.py", SCRIPT_STANDARD);
	expect("<frozen importlib._bootstrap>", SCRIPT_STANDARD);
}
