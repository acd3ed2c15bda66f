/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <unistd.h>

#include "disclose.h"
#include "format.h"
#include "losses.h"
#include "merge.h"
#include "report.h"
#include "report_internal.h"
#include "evidence_tables.h"

#define DATABASE "test_report.db"

static void expect_duration(int64_t ns, const char *wanted)
{
	char text[DURATION_SIZE];

	assert_string_equal(format_duration(text, ns), wanted);
}

TEST(durations_are_readable)
{
	expect_duration(0, "0 ns");
	expect_duration(850, "850 ns");
	expect_duration(999, "999 ns");
	expect_duration(1000, "1.0 us");
	expect_duration(3249999, "3.2 ms");
	expect_duration(9960000, "10 ms");
	expect_duration(128400000, "128 ms");
	expect_duration(999600, "1.0 ms");
	expect_duration(INT64_C(75500000000), "76 s");
}

TEST(bytes_are_readable)
{
	char text[DURATION_SIZE];

	assert_string_equal(format_bytes(text, 999), "999 B");
	assert_string_equal(format_bytes(text, 65536), "64 KiB");
	assert_string_equal(format_bytes(text, (1 << 20) - 4096), "0.996 MiB");
	assert_string_equal(format_bytes(text, INT64_C(3) << 29), "1.5 GiB");
}

TEST(shares_are_readable)
{
	char text[DURATION_SIZE];

	assert_string_equal(format_share(text, 0.112), "11 %");
	assert_string_equal(format_share(text, 0.004), "0.4 %");
	assert_string_equal(format_share(text, 0.0001), "<0.1 %");
	assert_string_equal(format_share(text, 0), "0.0 %");
	assert_string_equal(format_share(text, 0.0097), "1 %");
}

static void expect_wrapped(int width, const char *text, const char *wanted)
{
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	report_wrap(text, width, out);
	fclose(out);
	assert_string_equal(got, wanted);
	free(got);
}

TEST(lines_fit_a_terminal)
{
	expect_wrapped(20, "    fix  do this or that\n", "    fix  do this or\n         that\n");
	expect_wrapped(24, "    fix  do this or that\n", "    fix  do this or that\n");
	expect_wrapped(0, "    fix  do this or that\nx", "    fix  do this or that\nx");
	/* A word that is too long by itself stays with its label. */
	expect_wrapped(20, "    see  https://example.org\n\n", "    see  https://example.org\n\n");
	/* Colors take no room, letters of two bytes take one. */
	expect_wrapped(16, "\033[1mthe rule: \xc3\xa4 word\033[0m\n",
		"\033[1mthe rule: \xc3\xa4 word\033[0m\n");
	expect_wrapped(15, "\033[1mthe rule: \xc3\xa4 word\033[0m\n",
		"\033[1mthe rule: \xc3\xa4\n         word\033[0m\n");
	expect_wrapped(20, "      stream 13  [aaaaaaa ]  [b]\n",
		"      stream 13  [aaaaaaa ]  [b]\n");
}

TEST(only_real_gaps_make_a_trace_incomplete)
{
	assert_true(loss_find("not_closed")->effect == LOSS_INCOMPLETE);
	assert_true(loss_find("host_only")->effect == LOSS_OPERATIONS);
	assert_true(loss_find("dropped_sites")->effect == LOSS_INCOMPLETE);
	assert_false(loss_find("passed_through")->effect == LOSS_INCOMPLETE);
	assert_false(loss_find("clock_estimated")->effect == LOSS_INCOMPLETE);
	assert_false(loss_find("bypassed_calls")->effect == LOSS_INCOMPLETE);
	assert_false(loss_find("late_ends")->effect == LOSS_INCOMPLETE);
	assert_true(loss_find("lost_times")->effect == LOSS_OPERATIONS);
	assert_true(loss_find("other_namespaces")->effect == LOSS_INCOMPLETE);
	assert_null(loss_find("of a later version"));
}

TEST(one_is_not_several)
{
	const struct loss *late = loss_find("late_ends");

	assert_string_equal(loss_wording(late, 1),
		"1 operation's end was impossible and was corrected");
	assert_string_equal(loss_wording(late, 2),
		"%lld operations' ends were impossible and were corrected");
	assert_null(loss_wording(loss_find("passed_through"), 1));
}

/* The case's statements, merged for this finding (0: all). */
static struct db database(int64_t finding)
{
	struct db db;

	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	assert_int_equal(db_exec(&db, cases_read.text), 0);
	assert_int_equal(use_measure(&db), 0);
	assert_int_equal(merge_begin(&db), 0);
	assert_int_equal(merge_findings(&db, finding), 0);
	return db;
}

/* What the report of the case says by its options, those of "-- json top 2". */
static const char *report(void)
{
	static char *text;
	const char *at = strstr(cases_read.text, "-- ");
	char *options = strndup(at, strcspn(at, "\n")), *top = strstr(options, "top ");
	char *finding = strstr(options, "finding ");
	struct report_options wanted = { .top = top ? atoi(top + 4) : 0,
		.finding = finding ? atoll(finding + 8) : 0,
		.level = strstr(options, "certain")   ? REPORT_CERTAIN
			: strstr(options, "possible") ? REPORT_POSSIBLE
						      : REPORT_LIKELY };
	struct db db = database(wanted.finding);
	size_t size;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	assert_int_equal((strstr(options, "json") ? report_json : report_text)(&db, &wanted, out),
		0);
	fclose(out);
	db_close(&db);
	unlink(DATABASE);
	free(options);
	return text;
}

/* A line's end is written as a bar and a blank. */
static const char *in_one_line(const char *text)
{
	static char *line;
	size_t size;
	FILE *out;

	free(line);
	out = open_memstream(&line, &size);
	for (; *text; text++)
		fputs(*text == '\n' ? "| " : (char[]){ *text, '\0' }, out);
	fclose(out);
	return line;
}

ANSWER(has)
{
	const char *text = in_one_line(report());

	return strstr(text, cases_read.wanted) ? cases_read.wanted : text;
}

ANSWER(lacks)
{
	const char *text = in_one_line(report());

	return strstr(text, cases_read.wanted) ? text : cases_read.wanted;
}

ANSWER(begins)
{
	const char *text = in_one_line(report());

	return strncmp(text, cases_read.wanted, strlen(cases_read.wanted)) ? text
									   : cases_read.wanted;
}

/* How many traces are left in a report that has all, what is the program's, and the least. */
ANSWER(traces)
{
	static const enum disclosure levels[] = { DISCLOSE_ALL, DISCLOSE_PROGRAM, DISCLOSE_LEAST };
	static char found[3 * 20];
	size_t used = 0;

	for (size_t i = 0; i < 3; i++) {
		struct db db = database(0);

		assert_int_equal(disclose(&db, levels[i]), 0);
		used += (size_t)snprintf(found + used, sizeof(found) - used, "%s%d", i ? " " : "",
			(int)db_int(&db, "SELECT count(data) FROM trace", -1));
		db_close(&db);
		unlink(DATABASE);
	}
	return found;
}
