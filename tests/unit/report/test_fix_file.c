/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "calls.h"
#include "fix_file.h"

static struct fix_file file;
static char buffer[1 << 16];

/* NULL, or what is wrong; *line then has where. */
static const char *read_text(const char *text, unsigned *line)
{
	assert_true(strlen(text) < sizeof(buffer));
	strcpy(buffer, text);
	return fix_file_read(&file, buffer, line);
}

TEST(a_call_has_the_place_of_its_frames)
{
	static const uint8_t id[20] = { 0xab, 0xcd };
	uint64_t place = hold_place_add(BYTE_HASH_SEED, "/usr/bin/app 2", id, 0x1f);
	unsigned line;

	place = hold_place_add(place, "libc.so.6", NULL, 16);
	place = hold_place_add(place, "", NULL, 0);
	assert_null(
		read_text(FIX_FILE_HEAD "\n# note\n\nfix 7 put-off reuse-host\n"
					"call cuMemFree_v2\nat abcd 1f app 2\n"
					"at - 10 libc.so.6\nat - 0 \nerror cuMemAlloc_v2 2\n",
			&line));
	assert_int_equal(file.plan.count, 1);
	assert_int_equal(file.plan.places[0].place.place, place);
	assert_int_equal(file.plan.places[0].place.call, CALL_cuMemFree_v2);
	assert_int_equal(file.plan.findings[0].number, 7);
	assert_int_equal(file.plan.findings[0].treatment, FIX_PUT_OFF);
	assert_int_equal(file.plan.findings[0].reuses_host, 1);
	assert_int_equal(file.modules_count, 2);
	assert_string_equal(file.module[0].name, "app 2");
	assert_int_equal(file.errors_count, 1);
	assert_int_equal(file.error[0].result, 2);
}

TEST(a_module_knows_the_findings_with_frames_in_it)
{
	unsigned line;

	assert_null(
		read_text(FIX_FILE_HEAD "\nfix 1 leave-out\ncall cuCtxSynchronize\n"
					"at 01 1 a\nat 02 1 b\nfix 2 put-off\n"
					"call cuMemFree_v2\nat 02 2 b\nfix 3 eager\n",
			&line));
	assert_int_equal(file.modules_count, 2);
	assert_int_equal(file.module[0].findings, 1);
	assert_int_equal(file.module[1].findings, 3);
	assert_int_equal(file.plan.findings_count, 3);
}

/* Of two findings with one call the first has it; each fence keeps its sides. */
TEST(places_are_sorted_and_there_once)
{
	unsigned line;

	assert_null(read_text(FIX_FILE_HEAD
		"\nfix 1 leave-out\ncall cuCtxSynchronize\nat - 2 a\ncall cuCtxSynchronize\n"
		"at - 1 a\nfix 2 leave-out\ncall cuCtxSynchronize\nat - 2 a\n"
		"fix 3 fence\ncall cuLaunchKernel earlier\nat - 2 a\ncall cuLaunchKernel later\n"
		"at - 2 a\nfix 4 fence\ncall cuLaunchKernel earlier\nat - 2 a\n",
		&line));
	assert_int_equal(file.plan.count, 5);
	for (uint32_t i = 1; i < file.plan.count; i++) {
		const struct fix_place *one = &file.plan.places[i - 1], *next = one + 1;

		assert_true(one->place.place < next->place.place ||
			(one->place.place == next->place.place &&
				one->place.call <= next->place.call));
	}
	for (uint32_t i = 0; i < file.plan.count; i++)
		assert_int_not_equal(file.plan.places[i].finding, 1);
}

TEST(a_treatment_has_its_own_sides)
{
	unsigned line;

	assert_null(
		read_text(FIX_FILE_HEAD "\nfix 1 move\ncall cuLaunchKernel moved\nat - 1 a\n"
					"call cuLaunchKernel apart\nat - 2 a\n",
			&line));
	assert_int_equal(file.plan.count, 2);
	assert_int_equal(file.plan.places[0].side + file.plan.places[1].side,
		FIX_MOVED + FIX_APART);
	assert_non_null(
		read_text(FIX_FILE_HEAD "\nfix 1 move\ncall cuLaunchKernel later\n", &line));
	assert_int_equal(line, 3);
	assert_non_null(read_text(FIX_FILE_HEAD "\nfix 1 move\ncall cuLaunchKernel\n", &line));
	assert_non_null(
		read_text(FIX_FILE_HEAD "\nfix 1 put-off\ncall cuMemFree_v2 apart\n", &line));
}

/* Every text that is cut somewhere, or has another byte, is read or refused with a line. */
TEST(any_text_is_read_or_refused)
{
	static const char text[] = FIX_FILE_HEAD
		"\nfix 1 put-off\ncall cuMemFree_v2\nat abcd 1f app\nimage 1a\n"
		"fix 2 fence\ncall cuLaunchKernel later\nat - 1 a\nerror cuMemAlloc_v2 2\n";
	char changed[sizeof(text)];
	unsigned line;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		for (int byte = 0; byte < 256; byte += 5) {
			memcpy(changed, text, sizeof(text));
			changed[i] = (char)byte;
			read_text(changed, &line);
			assert_in_range(line, 1, 10);
			assert_in_range(file.plan.count, 0, 2);
		}
}

TEST(too_much_is_refused)
{
	static char text[1 << 16];
	unsigned line;
	size_t at = (size_t)sprintf(text, FIX_FILE_HEAD "\nfix 1 leave-out\n");

	for (int i = 0; i <= FIX_PLACES; i++)
		at += (size_t)sprintf(text + at, "call cuCtxSynchronize\nat - %x a\n", i);
	assert_string_equal(read_text(text, &line), "there are too many calls");
	at = (size_t)sprintf(text, FIX_FILE_HEAD "\nfix 1 leave-out\ncall cuCtxSynchronize\n");
	for (int i = 0; i <= FIX_MODULES; i++)
		at += (size_t)sprintf(text + at, "at - 1 a%d\n", i);
	assert_string_equal(read_text(text, &line), "there are too many files");
	at = (size_t)sprintf(text, FIX_FILE_HEAD "\nfix 1 remember\n");
	for (int i = 0; i <= FIX_IMAGES; i++)
		at += (size_t)sprintf(text + at, "image 1\n");
	assert_string_equal(read_text(text, &line), "there are too many images");
}
