/* SPDX-License-Identifier: Apache-2.0 */
/* A graph launch is one unit of work, recorded as a whole or node by node. */
#include "miniature.h"

#include "run_columns.h"
#include "savings.h"
#include "work.h"

/* Two launches: of each two branches, one of which ends last, or the whole; then a kernel. */
static void launch_graphs(struct mini *m, int by_node)
{
	int64_t stream = mini_stream(m, "blocking");

	for (int i = 0; i < 2; i++) {
		double t = 2000 * i;
		int64_t call =
			MINI_CALL(m, .type = CALL_cuGraphLaunch, .at = t + 10, .stream = stream);
		const char *kind = by_node ? "kernel" : "graph";

		for (int k = 0; k < (by_node ? 2 : 1); k++)
			mini_exec(m,
				"INSERT INTO operation (process, call, kind, start, end, "
				"device, context, stream, correlation, graph_node) "
				"VALUES (1, %lld, '%s', %d, %d, 0, 1, %lld, 1, %s)",
				(long long)call, kind, (int)mini_ns(t + 20 + 10 * k),
				(int)mini_ns(by_node && k ? t + 900 : t + 1000), (long long)stream,
				by_node ? "7" : "NULL");
		m->ops += by_node ? 2 : 1;
	}
	stream = mini_stream(m, "blocking");
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 4990, .stream = stream,
		.runs = { 5000, 5500 });
	assert_int_equal(work_make(&m->db), 0);
}

MINI_TEST(nodes_are_one_unit_from_first_to_last)
{
	launch_graphs(m, 1);
	assert_string_equal(mini_text(m,
				    "SELECT group_concat(call || ' ' || kind || ' ' || stream "
				    "|| ' ' || start || ' ' || end || ' ' || id, ', ') "
				    "FROM work WHERE kind = 'graph'"),
		"1 graph 2 20000 1000000 1, 2 graph 2 2020000 3000000 3");
	assert_int_equal(mini_int(m, "SELECT count(*) FROM operation"), 5);
}

static struct run_length length_of(int by_node)
{
	struct run_length run = { 0 };
	struct mini m;

	mini_init(&m);
	launch_graphs(&m, by_node);
	m.db.run = run_open(&m.db);
	assert_int_equal(run_length(&m.db, 1, &run), 0);
	run_close(m.db.run);
	m.db.run = NULL;
	mini_release(&m);
	return run;
}

/* The bounds of savings that cannot be replayed. */
TEST(a_run_is_as_long_and_as_busy_at_either_level)
{
	struct run_length whole = length_of(0), nodes = length_of(1);

	assert_int_equal(whole.whole, nodes.whole);
	assert_int_equal(whole.idle, nodes.idle);
	assert_int_equal(whole.serial, nodes.serial);
}
