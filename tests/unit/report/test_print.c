/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "print.h"

/* Expects the text that print() makes of the arguments. */
#define EXPECT(wanted, ...) \
	do { \
		char *got = NULL; \
		size_t size; \
		FILE *out = open_memstream(&got, &size); \
		print(out, __VA_ARGS__); \
		fclose(out); \
		assert_string_equal(got, wanted); \
		free(got); \
	} while (0)

TEST(formats_are_those_of_printf)
{
	EXPECT("a 1 -2 3 4 100 %", "a %d %d %lld %zu %.0f %%", 1, -2, 3LL, (size_t)4, 100.0);
	EXPECT("  7|7  |007|7f|x", "%3d|%-3d|%03d|%x|%c", 7, 7, 7, 0x7f, 'x');
	EXPECT("  ab|ab  |ab", "%4s|%-*s|%.*s", "ab", 4, "ab", 2, "abc");
	EXPECT("1.5 18446744073709551615", "%.3g %lu", 1.5, ~0ul);
	EXPECT("end\n", "end\n");
}

TEST(controls_in_arguments_are_escaped)
{
	EXPECT("a\\x0ab\n", "%s\n", "a\nb");
	EXPECT("\\x1b[31m\\x0d\\x09\\x7f", "%s", "\033[31m\r\t\177");
	EXPECT("\\xc2\\x9b31m", "%s",
		"\xc2\x9b"
		"31m"); /* U+009B, "control sequence introducer" */
	EXPECT("\033[1m", "\033[1m");
	EXPECT("\\x1b", "%s", "\\x1b"); /* shown once more it stays the same */
}

TEST(marks_of_direction_are_escaped)
{
	EXPECT("\\xe2\\x80\\xaex", "%s", "\xe2\x80\xaex"); /* U+202E, right-to-left override */
	EXPECT("\\xe2\\x81\\xa6", "%s", "\xe2\x81\xa6");   /* U+2066 */
	EXPECT("\\xe2\\x80\\x8e\\xe2\\x80\\x8b\\xd8\\x9c", "%s",
		"\xe2\x80\x8e\xe2\x80\x8b\xd8\x9c");
}

TEST(what_is_no_utf8_is_escaped)
{
	EXPECT("gr\xc3\xb6\xc3\x9f"
	       "e \xf0\x9f\x9a\x80",
		"%s",
		"gr\xc3\xb6\xc3\x9f"
		"e \xf0\x9f\x9a\x80");
	EXPECT("\\xff\\xc3", "%s", "\xff\xc3");
	EXPECT("\\xc0\\x8a", "%s", "\xc0\x8a");                   /* overlong newline */
	EXPECT("\\xed\\xa0\\x80", "%s", "\xed\xa0\x80");          /* a surrogate */
	EXPECT("\\xf4\\x90\\x80\\x80", "%s", "\xf4\x90\x80\x80"); /* past the last character */
	EXPECT("\\xe2\\x82\xc3\xa4", "%s", "\xe2\x82\xc3\xa4");   /* cut short */
}

TEST(columns_are_characters)
{
	EXPECT("\xc3\xa4  |", "%-3s|", "\xc3\xa4");
	EXPECT("\\x0a |", "%-5s|", "\n");
	EXPECT("  \xc3\xa4", "%3s", "\xc3\xa4");
}

static void expect_json(const char *json, const char *wanted)
{
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	print_json(out, json, strlen(json));
	fclose(out);
	assert_string_equal(got, wanted);
	free(got);
}

TEST(json_is_utf8_of_the_same_meaning)
{
	expect_json(
		"{\"a\":\"gr\xc3\xb6\xc3\x9f"
		"e\\n\"}",
		"{\"a\":\"gr\xc3\xb6\xc3\x9f"
		"e\\n\"}");
	expect_json("\"\xff\xe2\x82\"", "\"\\ufffd\\ufffd\\ufffd\"");
	expect_json("\"\xed\xa0\x80\"", "\"\\ufffd\\ufffd\\ufffd\"");
	expect_json("\"\xc2\x9b\x7f\xe2\x80\xae\"", "\"\\u009b\\u007f\\u202e\"");
	expect_json("\"\xf3\xa0\x81\x81\"", "\"\\udb40\\udc41\"");
}
