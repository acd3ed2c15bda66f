/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

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

/* Three findings: shown and certain, shown and likely, below the threshold. */
static struct db database(void)
{
	struct db db;

	unlink(DATABASE);
	assert_int_equal(db_create(&db, DATABASE), 0);
	assert_int_equal(
		db_exec(&db,
			"INSERT INTO run VALUES (0, 'x', './app --n 4');"
			"INSERT INTO process VALUES "
			"(1,7,1,0,1000000000,1,0,'tsc',10,'on',0,0,0,'t');"
			"INSERT INTO thread VALUES (1,1,7,'app',NULL,NULL);"
			"INSERT INTO thread_use VALUES (1,2,1,4999000);"
			"INSERT INTO call_type VALUES "
			"(1,'cudaFree','runtime',1),(2,'cuLaunchKernel','launch',0);"
			"INSERT INTO kernel VALUES (1,1,1,'_Z4workv','work',0,NULL);"
			"INSERT INTO site VALUES "
			"(1,1,1,'free_tile','/src/tiles.cu',88,NULL,'tiles.cu:88');"
			"INSERT INTO site VALUES "
			"(2,1,2,'run','/src/tiles.cu',61,NULL,'tiles.cu:61');"
			"INSERT INTO call (id,process,thread,type,enter,exit,kernel,per_thread) "
			"VALUES "
			" (1,1,1,2,0,1000,1,0),(2,1,1,1,2000,5000000,NULL,0);"
			"INSERT INTO operation (id,process,kind,start,end,device,correlation) "
			"VALUES "
			" (1,1,'kernel',0,100,0,1),(2,1,'kernel',50,80,0,2),(3,1,'memcpy',90,150,0,"
			"3);"
			"INSERT INTO loss VALUES (1,'passed_through',400),(1,'dropped_records',3);"
			"INSERT INTO finding VALUES "
			" (1,1,'blocking-free','certain','high',1,0,40,128000000,0,96000000,"
			"80000000,110000000,0.11,NULL,1,2,2,1,'cudaFree waited 3.2 ms','f1'),"
			" (2,1,'pageable-async-copy','likely','medium',1,0,4,28000000,7000000,"
			"20000000,NULL,NULL,0.02,NULL,2,NULL,2,NULL,'copy waited','f2'),"
			" (3,1,'pageable-async-copy','possible','low',0,0,4,28000,0,1000000,NULL,"
			"NULL,0.001,NULL,NULL,NULL,2,NULL,'copy waited a bit','f3');"
			"INSERT INTO finding_place SELECT id, id, 1, count, waited, delayed, NULL, "
			"share, site, other_site, call, other_call, confidence, NULL, NULL, "
			"message, NULL, NULL, fingerprint FROM finding;"),
		0);
	assert_int_equal(use_measure(&db), 0);
	return db;
}

static const char *more_findings; /* SQL, in addition to the three of database() */

static char *report(int (*write)(struct db *, const struct report_options *, FILE *),
	struct report_options options)
{
	struct db db = database();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(more_findings ? db_exec(&db, more_findings) : 0, 0);
	assert_int_equal(merge_begin(&db), 0);
	assert_int_equal(merge_findings(&db, options.finding), 0);
	assert_int_equal(write(&db, &options, out), 0);
	fclose(out);
	db_close(&db);
	unlink(DATABASE);
	if (!text)
		fail_msg("no report");
	return text;
}

static void has(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' is not in:\n%s", part, text ? text : "");
}

static void hasnt(const char *text, const char *part)
{
	if (!text || strstr(text, part))
		fail_msg("'%s' is in:\n%s", part, text ? text : "");
}

TEST(a_finding_reads_like_a_compiler_error)
{
	char *text = report(report_text, (struct report_options){ .top = 10 });

	has(text,
		"\nblocking-free: cudaFree waited 3.2 ms  [high] #1\n"
		"    40 times, 128 ms host wait; about 96 ms (80 ms to 110 ms, 11 %) of "
		"the run would be saved\n"
		"    at   free_tile             tiles.cu:88\n"
		"    for  launch of work        tiles.cu:61 in run\n"
		"    fix  ");
	has(text,
		"    4 times, 28 ms host wait, 7.0 ms device delay; at most 20 ms (2 %) of the "
		"run would be saved\n");
	hasnt(text, "a bit");
	has(text, "1 hidden: would save less than 1 %: cufence report --all");
	free(text);
}

/* The line to change is not in a wrapper, a destructor or a library without lines. */
TEST(callers_of_a_line_are_named)
{
	static const char *const frames =
		"INSERT INTO frame (site, depth, address, function, file, line, user) VALUES "
		"(1, 0, 1, 'free_tile', '/src/tiles.cu', 88, 1), "
		"(1, 1, 2, 'blur', '/src/a.cu', 5, 1);";
	char *text, more[1000];

	more_findings = frames;
	text = report(report_text, (struct report_options){ .top = 10 });
	hasnt(text, "    from ");
	free(text);
	snprintf(more, sizeof(more), "%s UPDATE site SET function = '~Tile' WHERE id = 1", frames);
	more_findings = more;
	text = report(report_text, (struct report_options){ .top = 10 });
	has(text, "tiles.cu:88\n    from blur                  a.cu:5\n    for ");
	free(text);
	snprintf(more, sizeof(more),
		"%s INSERT INTO site SELECT 3, 1, 3, function, file, line, "
		"api, text FROM site WHERE id = 1; INSERT INTO frame (site, depth, address, "
		"function, file, line, user) SELECT 3, depth, address, "
		"iif(depth, 'sum', function), file, line, 1 FROM frame",
		frames);
	text = report(report_text, (struct report_options){ .top = 10 });
	has(text, "    from blur                  a.cu:5\n    for ");
	hasnt(text, "sum");
	free(text);
	strcat(more, "; INSERT INTO finding_also VALUES (1, 3, 2)");
	text = report(report_text, (struct report_options){ .top = 10 });
	has(text, "    from blur                  a.cu:5\n    from sum                   a.cu:5\n");
	free(text);
	more_findings = NULL;
}

TEST(where_a_stream_was_made_is_told)
{
	char *text, more[2000];

	more_findings =
		"INSERT INTO stream (id, process, handle, kind, created, cupti_id) VALUES "
		"(1, 1, 64, 'blocking', 2, 14); UPDATE call SET stream = 1 WHERE id = 1; "
		"UPDATE call SET site = 2 WHERE id = 2";
	text = report(report_text, (struct report_options){ .finding = 1 });
	has(text, "    stream 14 (blocking) made at tiles.cu:61 in run\n");
	free(text);
	strcpy(more, more_findings);
	strcat(more,
		"; INSERT INTO stream_use VALUES (1, 1, 0, 'kernel', 1, 0, 5), "
		"(1, 1, 0, 'memcpy', 2, 0, 5), (1, 1, 1, 'memcpy', 3, 0, 5); "
		"UPDATE stream SET priority = -1");
	more_findings = more;
	text = report(report_text, (struct report_options){ .finding = 1 });
	has(text, "    stream 14 (blocking, priority -1, 5 copies, 1 kernel) made at tiles.cu:61");
	hasnt(text, "pool");
	free(text);
	/* Three are made there: this one is the second of its priority. */
	strcat(more,
		"; INSERT INTO stream (id, process, handle, kind, priority, created) VALUES "
		"(2, 1, 65, 'blocking', -1, 2), (3, 1, 66, 'blocking', 0, 2), "
		"(4, 1, 67, 'blocking', -1, 2); UPDATE stream SET cupti_id = 18 WHERE id = 2; "
		"UPDATE call SET stream = 2 WHERE id = 1; "
		"INSERT INTO module VALUES (77, 1, 1, 2, 0, '/lib/libc10_cuda.so', NULL); "
		"INSERT INTO frame (site, depth, address, module, function, user) "
		"VALUES (2, 50, 1, 77, 'initSingleStream', 0)");
	text = report(report_text, (struct report_options){ .finding = 1 });
	has(text, "made at tiles.cu:61 in run, number 2 of PyTorch's pool\n");
	free(text);
	more_findings = NULL;
}

TEST(the_summary_comes_first)
{
	char *text = report(report_text, (struct report_options){ .top = 10 });

	assert_int_equal(strncmp(text, "cufence: ./app --n 4\n", 21), 0);
	has(text, "1.0 s, 1 process, 1 thread, 5.0 ms in 2 CUDA calls");
	/* 0 to 150 without a gap; two at once from 50 to 80 and from 90 to 100. */
	has(text,
		"2 kernels, 1 copy; device busy 150 ns, <0.1 % of the time since its first work; "
		"40 ns of it overlapped (27 %)\n");
	has(text,
		"coverage 0 of 3 operations matched to a call, call sites of 1 of 2 calls, "
		"parameters of 1 of 1 kernels\n");
	has(text, "incomplete: 3 records were not written");
	hasnt(text, "400");
	free(text);
}

TEST(levels_choose)
{
	char *certain = report(report_text, (struct report_options){ .level = REPORT_CERTAIN });
	char *possible = report(report_text, (struct report_options){ .level = REPORT_POSSIBLE });

	hasnt(certain, "copy waited");
	has(certain, "2 hidden: 1 likely, not certain, 1 would save less than 1 %: ");
	has(possible, "copy waited a bit");
	hasnt(possible, "hidden");
	free(certain);
	free(possible);
}

/* A race that is possible only, as finding 4, in addition to finding 3. */
#define POSSIBLE_RACE(rule) \
	"INSERT INTO allocation (id, process, address, bytes, memory, created) VALUES " \
	"(1, 1, 64, 8, 'device', 1);" \
	"INSERT INTO hazard (id, process, rule, kind, confidence, call, other_call, allocation," \
	" low, high, evidence, other_evidence)" \
	" VALUES (1, 1, '" rule \
	"', 'raw', 'possible', 2, 1, 1, 64, 72, 'call', 'call');" \
	"INSERT INTO finding VALUES (4,1,'" rule \
	"','possible','low',0,0,2,0,0,0,NULL,NULL,0,NULL," \
	"2,1,2,1,'nothing orders them','f4');" \
	"INSERT INTO finding_place SELECT id, id, 1, count, 0, 0, NULL, 0, site, other_site," \
	" call, other_call, confidence, NULL, NULL, message, NULL, 1, fingerprint" \
	" FROM finding WHERE id = 4;"
#define OF_WEIGHT "UPDATE finding SET share = 0.05, site = 2 WHERE id = 3;"

static char *report_with(const char *more, enum report_level level)
{
	char *text;

	more_findings = more;
	text = report(report_text, (struct report_options){ .top = 10, .level = level });
	more_findings = NULL;
	return text;
}

TEST(possible_findings_of_weight_have_a_line)
{
	char *text = report_with(OF_WEIGHT, REPORT_LIKELY);

	has(text,
		"\n1 possible finding: tiles.cu:61 in run: copy waited a bit; 4 times, 28 us host "
		"wait; at most 1.0 ms (5 %) of the run would be saved: cufence report --level "
		"possible test_report.db\n");
	hasnt(text, "hidden");
	free(text);
	text = report_with("UPDATE finding SET share = 0.049 WHERE id = 3", REPORT_LIKELY);
	hasnt(text, "1 possible");
	has(text, "1 hidden: only possible: ");
	free(text);
	/* Less than the noise of a short run. */
	text = report_with(OF_WEIGHT "UPDATE finding SET saving = 49999 WHERE id = 3",
		REPORT_LIKELY);
	hasnt(text, "possible");
	has(text, "1 hidden: would save less than 50 us: ");
	free(text);
	text = report_with(OF_WEIGHT, REPORT_POSSIBLE);
	hasnt(text, "1 possible");
	free(text);
}

TEST(possible_races_have_the_same_line)
{
	char *text = report_with(POSSIBLE_RACE("missing-fence"), REPORT_LIKELY);

	has(text,
		"\n1 possible race: tiles.cu:61 in run: nothing orders them; 2 times: cufence "
		"confirm test_report.db 4 -- CMD...\n");
	has(text, "1 hidden");
	free(text);
	text = report_with(POSSIBLE_RACE("missing-fence") OF_WEIGHT, REPORT_LIKELY);
	has(text,
		"\n2 possible findings (1 race), the largest at tiles.cu:61 in run: copy waited a "
		"bit; ");
	has(text, " saved: cufence report --level possible test_report.db\n");
	hasnt(text, "hidden");
	free(text);
	/* In this run something orders them. */
	text = report_with(POSSIBLE_RACE("accidental-order"), REPORT_LIKELY);
	hasnt(text, "1 possible");
	has(text, "2 hidden: 1 only possible, 1 would save less than 1 %: ");
	free(text);
}

TEST(json_has_what_is_possible)
{
	char *text = report(report_json, (struct report_options){ .top = 10 });

	has(text, "\"possible\":null,");
	free(text);
	more_findings = OF_WEIGHT;
	text = report(report_json, (struct report_options){ .top = 10 });
	has(text, "\"possible\":{\"count\":1,\"races\":0,\"finding\":3,\"text\":\"1 possible ");
	has(text, "of the run would be saved: cufence report --level possible\"}");
	free(text);
	more_findings = NULL;
}

TEST(the_top_is_cut_and_said_to_be)
{
	char *text = report(report_text, (struct report_options){ .top = 1 });

	has(text, "blocking-free");
	hasnt(text, "pageable-async-copy");
	has(text, "1 more: cufence report --top 2 ");
	free(text);
}

TEST(json_has_the_same)
{
	char *text = report(report_json, (struct report_options){ .level = REPORT_POSSIBLE });

	has(text, "\"calls\":2");
	has(text, "\"rule\":\"blocking-free\"");
	has(text, "\"at\":{\"function\":\"free_tile\",\"file\":\"/src/tiles.cu\",\"line\":88");
	has(text, "\"saving_ns\":20000000,\"saving_low_ns\":null");
	has(text, "\"for\":null");
	has(text, "\"advice\":\"");
	has(text,
		"\"reason\":\"passed_through\",\"count\":400,\"incomplete\":false,"
		"\"text\":null}");
	has(text, "\"total\":3,\"left_out\":0");
	free(text);
}

/* clang-format off */
#define PLACES "INSERT INTO site VALUES " \
	"(3,1,3,'load','/src/tiles.cu',70,NULL,'tiles.cu:70')," \
	"(4,1,4,'draw','/src/tiles.cu',90,NULL,'tiles.cu:90');" \
	"UPDATE finding_place SET count = 5, waited = 64000000, saving = 50000000 WHERE id = 1;" \
	"INSERT INTO finding_place VALUES " \
	"(4,1,1,5,32000000,0,50000000,0.01,1,3,2,1,'certain',NULL,NULL," \
	"'cudaFree waited 1.2 ms',NULL,NULL,'f4')," \
	"(5,1,1,30,32000000,0,NULL,0.01,4,2,2,1,'certain',NULL,NULL," \
	"'cudaFree waited 1.1 ms',NULL,NULL,'f5')"
/* clang-format on */

/* Several pairs of lines: of a place its part, of a line what it saves alone. */
TEST(a_finding_has_several_places)
{
	char *text;

	more_findings = PLACES;
	text = report(report_text, (struct report_options){ .top = 2 });
	has(text,
		"    40 times, 128 ms host wait; about 96 ms (80 ms to 110 ms, 11 %) of the run "
		"would be saved, if all 2 lines are changed\n"
		"    at   free_tile             tiles.cu:88  (alone about 50 ms)\n"
		"    for  launch of work        tiles.cu:61 in run  (5 times, 64 ms host wait)\n"
		"    for  launch of work        tiles.cu:70 in load  (5 times, 32 ms host wait)\n"
		"    at   draw                  tiles.cu:90\n"
		"    for  launch of work        tiles.cu:61 in run  (30 times, 32 ms host wait)\n"
		"    fix  ");
	free(text);
	more_findings = PLACES
		", (6,1,1,1,1,0,NULL,0.01,3,2,2,1,'certain',NULL,NULL,'m',NULL,NULL,'f6'), "
		"(7,1,1,1,1,0,NULL,0.01,2,2,2,1,'certain',NULL,NULL,'m',NULL,NULL,'f7')";
	text = report(report_text, (struct report_options){ .top = 2 });
	has(text, ", if all 4 lines are changed\n");
	has(text,
		"(30 times, 32 ms host wait)\n"
		"    and  2 more places: cufence report --finding 1 test_report.db\n    fix  ");
	free(text);
	text = report(report_text, (struct report_options){ .finding = 1 });
	has(text,
		"    at   run                   tiles.cu:61\n"
		"    for  launch of work        tiles.cu:61 in run  (1 time, 1 ns host wait)\n"
		"    fix  ");
	free(text);
	text = report(report_json, (struct report_options){ .finding = 1 });
	has(text,
		"\"message\":\"cudaFree waited 1.1 ms\",\"shown\":true,\"count\":30,"
		"\"waited_ns\":32000000,\"delayed_ns\":0,\"saving_ns\":null,\"share\":0.01,"
		"\"confidence\":\"certain\",\"kind\":null,\"why\":null,"
		"\"fix\":null,\"memory\":null,\"confirmation\":null,\"fingerprint\":\"f5\"}");
	free(text);
	more_findings = NULL;
}

/* clang-format off */
#define PENDING "INSERT INTO call (id,process,thread,type,enter,exit,site,per_thread) VALUES " \
	"(9,1,1,1,6000000,NULL,1,0);"
/* clang-format on */

/* Another thread may be in a call when a process ends in order. */
TEST(what_a_killed_process_was_in_is_named)
{
	char *text;

	more_findings = PENDING;
	text = report(report_text, (struct report_options){ .top = 10 });
	hasnt(text, "had not returned");
	free(text);
	more_findings = PENDING "UPDATE process SET closed = 0;";
	text = report(report_text, (struct report_options){ .top = 10 });
	has(text,
		"    hung     cudaFree had not returned at the end of the trace: free_tile, "
		"tiles.cu:88 [pid 7, thread 7]\n");
	free(text);
	more_findings = NULL;
}

/* clang-format off */
#define REPLAY "INSERT INTO replay (process, measured, replayed, saving, saving_low, " \
	"saving_high, share) VALUES (1, 1000000000, 1000000000, 120000000, 0, 130000000, 0.12);"
/* clang-format on */

TEST(what_two_findings_save_together_is_told)
{
	struct report_options options = { .top = 10 };
	char *text;

	more_findings = REPLAY;
	text = report(report_text, options);
	has(text,
		"\nall findings together: about 120 ms (0 to 130 ms, 12 %) of the run would be "
		"saved\n");
	free(text);
	more_findings = REPLAY "UPDATE finding SET shown = 0 WHERE id = 2;";
	text = report(report_text, options);
	hasnt(text, "together");
	free(text);
	more_findings = REPLAY "UPDATE replay SET saving_low = NULL, refusal = 'of a reason';";
	text = report(report_text, options);
	has(text,
		"\nall findings together: at most 120 ms (12 %) of the run would be saved\n"
		"\nno closer estimate of what would be saved: of a reason\n");
	free(text);
	/* The run has 30 turns. */
	more_findings = REPLAY "UPDATE replay SET turn_saving = 4000000;";
	text = report(report_text, options);
	has(text,
		"\nall findings together: about 120 ms (0 to 130 ms) would be saved, 4.0 ms or "
		"12 % of each turn\n");
	free(text);
	more_findings = NULL;
}

/* Places that are to be changed with it. */
TEST(where_else_to_change_is_told)
{
	char *text;

	more_findings =
		"INSERT INTO site VALUES (3,1,3,'load','/src/tiles.cu',70,NULL,'tiles.cu:70'),"
		"(4,1,4,'load','/src/tiles.cu',71,NULL,'tiles.cu:71'),"
		"(5,1,5,NULL,NULL,NULL,NULL,'libtiles.so+0x88');"
		"INSERT INTO finding_also VALUES (1,3,2),(1,4,2);";
	text = report(report_text, (struct report_options){ .top = 2 });
	has(text,
		"    for  launch of work        tiles.cu:61 in run\n"
		"    also cudaFree              tiles.cu:70 in load\n"
		"    also cudaFree              tiles.cu:71 in load\n"
		"    fix  ");
	free(text);
	text = report(report_json, (struct report_options){ .finding = 1 });
	has(text, "\"also\":[{\"function\":\"load\",\"file\":\"/src/tiles.cu\",\"line\":70");
	free(text);
	more_findings =
		"WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n "
		" WHERE i < 14) INSERT INTO site "
		" SELECT i,1,i,NULL,NULL,NULL,NULL,'x.so+' || i FROM n;"
		"INSERT INTO finding_also SELECT 1,id,2 FROM site WHERE id >= 10;";
	text = report(report_text, (struct report_options){ .top = 2 });
	has(text,
		"    also cudaFree              x.so+10\n"
		"    also cudaFree              x.so+11\n"
		"    also 3 more\n"
		"    fix  ");
	free(text);
	more_findings = NULL;
}

TEST(only_a_report_that_has_all_has_the_trace)
{
	static const enum disclosure levels[] = { DISCLOSE_ALL, DISCLOSE_PROGRAM, DISCLOSE_LEAST };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		struct db db = database();

		assert_int_equal(db_exec(&db, "INSERT INTO trace VALUES (1, 'trace', 2, 3, x'4f')"),
			0);
		assert_int_equal(disclose(&db, levels[i]), 0);
		assert_int_equal(db_int(&db, "SELECT count(data) FROM trace", -1),
			levels[i] == DISCLOSE_ALL);
		db_close(&db);
		unlink(DATABASE);
	}
}
