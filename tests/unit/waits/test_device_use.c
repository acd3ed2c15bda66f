/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include "evidence_tables.h"
#include "run_columns.h"

static void operation(struct mini *m, int device, int64_t stream, int64_t start, int64_t end)
{
	mini_exec(m,
		"INSERT INTO operation (process, kind, start, end, device, stream, correlation)"
		" VALUES (1, 'kernel', %lld, %lld, %d, %lld, 0)",
		(long long)start, (long long)end, device, (long long)stream);
}

static void expect_use(struct mini *m, int device, const char *wanted)
{
	char sql[200];

	snprintf(sql, sizeof(sql),
		"SELECT first || ' ' || last || ' ' || busy || ' ' || overlapped "
		"FROM device_use WHERE device = %d",
		device);
	assert_string_equal(mini_text(m, sql), wanted);
}

static void count_time(int in_columns)
{
	struct mini m;

	mini_init(&m);
	mini_stream(&m, "blocking");
	operation(&m, 0, 1, 100, 200); /* 100 alone */
	operation(&m, 0, 1, 300, 400); /* with the next: 250 to 400, 300 to 350 twice */
	operation(&m, 0, 1, 250, 350);
	operation(&m, 0, 1, 320, 330); /* a third adds nothing */
	operation(&m, 0, 1, 400, 500); /* touches, does not overlap */
	operation(&m, 0, 1, 600, 600); /* takes no time */
	operation(&m, 3, 1, -5, 1000); /* another device */
	m.db.run = in_columns ? run_open(&m.db) : NULL;
	assert_int_equal(use_measure(&m.db), 0);
	run_close(m.db.run);
	m.db.run = NULL;
	expect_use(&m, 0, "100 600 350 50");
	expect_use(&m, 3, "-5 1000 1005 0");
	assert_string_equal(mini_text(&m, "SELECT DISTINCT kind || stream FROM stream_use"),
		"kernel1");
	assert_int_equal(mini_int(&m, "SELECT busy FROM stream_use WHERE device = 0"), 410);
	assert_int_equal(mini_int(&m, "SELECT sum(operations) FROM stream_use"), 7);
	mini_release(&m);
}

TEST(time_is_counted_once_and_overlap_apart)
{
	count_time(0);
	count_time(1);
}

TEST(what_has_no_times_is_only_counted)
{
	struct mini m;

	mini_init(&m);
	mini_exec(&m,
		"INSERT INTO operation (process, kind, device, correlation) VALUES "
		"(1, 'kernel', 0, 1), (1, 'kernel', 0, 2)");
	MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = 1, .stream = 1);
	mini_exec(&m, "UPDATE operation SET call = 1 WHERE correlation = 2");
	assert_int_equal(use_measure(&m.db), 0);
	assert_string_equal(mini_text(&m,
				    "SELECT count(*) || ' ' || operations || ' ' || unmatched"
				    " || ' ' || busy || ' ' || (stream IS NULL) FROM stream_use"),
		"1 2 1 0 1");
	assert_int_equal(mini_int(&m, "SELECT count(*) FROM device_use"), 0);
	mini_release(&m);
}

/* Against a look at every nanosecond. */
TEST(any_pile_of_operations_adds_up)
{
	enum { ROUNDS = 50, SPAN = 200 };

	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		int depth[SPAN] = { 0 }, busy = 0, overlapped = 0, count = 1 + rand() % 40;
		struct mini m;

		mini_init(&m);
		for (int i = 0; i < count; i++) {
			int start = rand() % SPAN, end = start + rand() % (SPAN - start);

			operation(&m, 0, 1, start, end);
			for (int at = start; at < end; at++)
				depth[at]++;
		}
		for (int at = 0; at < SPAN; at++) {
			busy += depth[at] > 0;
			overlapped += depth[at] > 1;
		}
		assert_int_equal(use_measure(&m.db), 0);
		assert_int_equal(mini_int(&m, "SELECT busy FROM device_use"), busy);
		assert_int_equal(mini_int(&m, "SELECT overlapped FROM device_use"), overlapped);
		mini_release(&m);
	}
}
