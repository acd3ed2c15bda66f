/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many races, many nodes, many accesses: no pair of places of a race is hidden by another one, and
 * accesses that nothing can race with take no room.
 */
#include "hazard_runs.h"

#include "history.h"
#include "record.h"

enum { SLOT = 64, SLOTS = 400, LARGE = 901, LARGE_ADDRESS = 0x100000 };

static int64_t slot_kernel(struct test *test, const char *direction)
{
	return kernel(&test->m, direction, SLOT, 1);
}

static void expect(struct test *test, const char *sql, const char *wanted)
{
	assert_string_equal(mini_text(&test->m, sql), wanted);
}

static void no_loss(struct test *test)
{
	assert_int_equal(analyze(&test->m.db), 0);
	expect(test, "SELECT group_concat(reason || ' ' || count) FROM loss", "");
	expect(test, "SELECT count(*) FROM hazard", "0");
	mini_release(&test->m);
}

/* 560 streams write the same bytes: more than 100000 rows of one pair of places. */
static void a_repeated_race_hides_no_other_one(void **unused)
{
	enum { STREAMS = 560 };
	struct test test;
	int64_t other, first, last;

	(void)unused;
	begin(&test);
	other = slot_kernel(&test, "store");
	first = launch(&test, other, test.one, BYTES - SLOT);
	for (int i = 0; i < STREAMS; i++)
		launch(&test, test.writer, mini_stream(&test.m, "non-blocking"), 0);
	last = launch(&test, slot_kernel(&test, "load"), test.two, BYTES - SLOT);
	mini_exec(&test.m, "UPDATE call SET site = iif(id = %lld, %lld, %lld)", (long long)last,
		(long long)mini_site(&test.m, "sum", 20),
		(long long)mini_site(&test.m, "fill", 10));
	assert_int_equal(analyze(&test.m.db), 0);
	assert_int_equal(mini_int(&test.m, "SELECT call FROM hazard WHERE kind = 'raw'"), last);
	assert_int_equal(mini_int(&test.m, "SELECT other_call FROM hazard WHERE kind = 'raw'"),
		first);
	/* Later operations that have no row of their own are counted. */
	expect(&test, "SELECT count(*) FROM hazard", "100001");
	expect(&test, "SELECT sum(count) > count(*) FROM hazard", "1");
	expect(&test, "SELECT count FROM finding WHERE rule = 'missing-fence'", "560");
	expect(&test,
		"SELECT group_concat(s.text || ' after ' || o.text || ' ' || p.count, ', ') "
		"FROM finding_place p JOIN site s ON s.id = p.site JOIN site o ON "
		"o.id = p.other_site",
		"mini.cu:10 after mini.cu:10 559, mini.cu:20 after mini.cu:10 1");
	mini_release(&test.m);
}

/* --- graphs --- */

static void add_node(struct test *test, int64_t kernel, int64_t offset)
{
	int64_t call;

	test->t += 10;
	call = MINI_CALL(&test->m, .type = CALL_cuGraphAddKernelNode_v2, .at = test->t,
		.kernel = kernel);
	mini_exec(&test->m,
		"INSERT INTO operand VALUES (%lld, 'word', 0, %lld, %d); "
		"INSERT INTO graph_node (id, graph, type, call) VALUES (%lld, 1, 'kernel', %lld)",
		(long long)call, (long long)(ADDRESS + offset), MEMORY, (long long)call,
		(long long)call);
}

static void launch_graph(struct test *test, int64_t stream)
{
	int64_t call;

	test->t += 10;
	call = MINI_CALL(&test->m, .type = CALL_cuGraphLaunch, .at = test->t, .stream = stream,
		.runs = { test->t + 5, test->t + 105 });
	mini_exec(&test->m,
		"INSERT INTO call_object VALUES (%lld, 'exec', 1); "
		"INSERT INTO operand VALUES (%lld, 'node', NULL, %d, %d)",
		(long long)call, (long long)call, ADDRESS, MEMORY);
}

static void instantiate(struct test *test)
{
	int64_t call;

	test->t += 10;
	call = MINI_CALL(&test->m, .type = CALL_cuGraphInstantiateWithFlags, .at = test->t);
	mini_exec(&test->m,
		"INSERT INTO graph VALUES (1, 1, 64, NULL, NULL);"
		"INSERT INTO graph_exec VALUES (1, 1, 99, 1, %lld, %lld, NULL)",
		(long long)call, (long long)call);
}

static void unordered_nodes_hide_no_others(void **unused)
{
	enum { NODES = 60 }; /* 1770 pairs */
	struct test test;

	(void)unused;
	begin(&test);
	for (int i = 0; i < NODES; i++)
		add_node(&test, test.writer, 0);
	add_node(&test, slot_kernel(&test, "store"), BYTES - SLOT);
	add_node(&test, slot_kernel(&test, "load"), BYTES - SLOT);
	instantiate(&test);
	launch_graph(&test, test.one);
	launch_graph(&test, test.one);
	assert_int_equal(analyze(&test.m.db), 0);
	expect(&test,
		"SELECT group_concat(other_call || '-' || call || ' x' || count) FROM hazard "
		"WHERE kind = 'raw'",
		"61-62 x2");
	expect(&test, "SELECT count FROM finding WHERE rule = 'missing-fence'", "120");
	expect(&test, "SELECT group_concat(reason) FROM loss", "");
	mini_release(&test.m);
}

static void add_edge(struct test *test, int64_t from, int64_t to)
{
	mini_exec(&test->m, "INSERT INTO graph_edge VALUES (1, %lld, %lld, %lld, NULL, 0)",
		(long long)from, (long long)to, (long long)to);
}

/* A chain of nodes, each with bytes of its own, and a last node with those of the first. */
static void chain_of_nodes(int nodes, int joined, const char *wanted)
{
	struct test test;
	int64_t store;

	begin(&test);
	store = kernel(&test.m, "store", 8, 1);
	for (int i = 0; i < nodes; i++) {
		add_node(&test, store, 8 * i);
		if (i)
			add_edge(&test, i, i + 1);
	}
	add_node(&test, kernel(&test.m, "load", 8, 1), 0);
	if (joined)
		add_edge(&test, nodes, nodes + 1);
	instantiate(&test);
	launch_graph(&test, test.one);
	assert_int_equal(analyze(&test.m.db), 0);
	expect(&test, "SELECT group_concat(reason || ' ' || count) FROM loss", "");
	finish(&test, wanted);
}

static void a_chain_of_nodes_needs_no_room(void **unused)
{
	(void)unused;
	chain_of_nodes(HISTORY_MOST + 100, 1, "");
	chain_of_nodes(2 * HISTORY_SWEEP, 0, "missing-fence raw certain 1-129");
}

/* Too many unordered nodes to compare: that is a row of table loss. */
static void nodes_that_were_not_compared_are_said(void **unused)
{
	enum { NODES = 4200 };
	struct test test;

	(void)unused;
	begin(&test);
	for (int i = 0; i < NODES; i++)
		add_node(&test, test.writer, 0);
	instantiate(&test);
	launch_graph(&test, test.one);
	assert_int_equal(analyze(&test.m.db), 0);
	expect(&test, "SELECT reason || ' ' || count FROM loss", "graphs_not_read 1");
	mini_release(&test.m);
}

/* An executable that is set before each launch: only some of its versions are read. */
static void versions_that_were_not_read_are_said(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	add_node(&test, test.writer, 0);
	instantiate(&test);
	for (int i = 0; i < 20; i++) {
		int64_t set;

		test.t += 10;
		set = MINI_CALL(&test.m, .type = CALL_cuGraphExecKernelNodeSetParams_v2,
			.at = test.t, .kernel = test.writer);
		mini_exec(&test.m,
			"INSERT INTO operand VALUES (%lld, 'word', 0, %d, %d); "
			"INSERT INTO call_object VALUES (%lld, 'exec', 1); "
			"INSERT INTO graph_change VALUES (%lld, 1, 1, 'kernel', 1, NULL, NULL)",
			(long long)set, ADDRESS, MEMORY, (long long)set, (long long)set);
		launch_graph(&test, test.one);
	}
	assert_int_equal(analyze(&test.m.db), 0);
	expect(&test, "SELECT reason || ' ' || count FROM loss", "graphs_not_read 1");
	mini_release(&test.m);
}

/* --- histories --- */

/* 400 slots that another stream may use later have to be kept, the first one too. */
static void old_accesses_are_found(void **unused)
{
	struct test test;
	int64_t store;

	(void)unused;
	begin(&test);
	store = slot_kernel(&test, "store");
	for (int i = 0; i < SLOTS; i++)
		launch(&test, store, test.one, SLOT * i);
	launch(&test, slot_kernel(&test, "load"), test.two, 0);
	finish(&test, "missing-fence raw certain 1-401");
}

/* More than HISTORY_ALIKE accesses of one place lie between two slots that a kernel reads. */
static void accesses_to_other_bytes_hide_no_conflict(void **unused)
{
	struct test test;
	int64_t store, ends;

	(void)unused;
	begin(&test);
	store = slot_kernel(&test, "store");
	ends = slot_kernel(&test, "load");
	mini_exec(&test.m,
		"UPDATE kernel_access SET high = %d, run = %d, stride1 = %d, count1 = 2 "
		"WHERE kernel = %lld",
		SLOT * (SLOTS + 1), SLOT, SLOT * SLOTS, (long long)ends);
	for (int i = 0; i < SLOTS; i++)
		launch(&test, store, test.one, SLOT * i);
	launch(&test, ends, test.two, 0);
	finish(&test, "missing-fence raw certain 1-401");
}

static int64_t clear(struct test *test, int64_t stream, int64_t value)
{
	int64_t call;

	test->t += 10;
	call = MINI_CALL(&test->m, .type = CALL_cuMemsetD8Async, .at = test->t, .stream = stream,
		.bytes = BYTES, .runs = { test->t + 5, test->t + 105 });
	mini_exec(&test->m,
		"INSERT INTO operand VALUES (%lld, 'dst', NULL, %d, %d);"
		"INSERT INTO call_object VALUES (%lld, 'fill', %lld)",
		(long long)call, ADDRESS, MEMORY, (long long)call, (long long)value);
	return call;
}

/* More than HISTORY_ALIKE memsets of one line write the same value; the first one another. */
static void what_is_no_race_hides_none(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	clear(&test, test.one, 1);
	for (int i = 0; i < HISTORY_ALIKE + 10; i++)
		clear(&test, mini_stream(&test.m, "non-blocking"), 0);
	assert_int_equal(analyze(&test.m.db), 0);
	/* Each of them is in a race with the first one. */
	expect(&test,
		"SELECT count(*) || ' ' || min(other_call) || '-' || max(other_call) "
		"FROM hazard",
		"266 1-1");
	mini_release(&test.m);
}

/* One stream has warmed up what another one uses from then on, as a captured graph's memory. */
static void memory_that_one_stream_goes_on_with_needs_no_room(void **unused)
{
	struct test test;
	int64_t store;

	(void)unused;
	begin(&test);
	store = slot_kernel(&test, "store");
	for (int i = 0; i < SLOTS; i++)
		launch(&test, store, test.one, SLOT * i);
	record(&test, mini_event(&test.m), test.one);
	wait_for(&test, 1, test.two);
	for (int i = 0; i < 3 * SLOTS; i++)
		launch(&test, store, test.two, SLOT * (i % SLOTS));
	no_loss(&test);
}

/*
 * A step of 600 kernels that runs once on a side stream, is captured, and launched 100 times, as
 * torch.compile(mode="reduce-overhead") does.
 */
static void a_captured_step_needs_no_room(void **unused)
{
	enum { KERNELS = 600, STEPS = 100 };
	struct test test;
	int64_t store, event;

	(void)unused;
	begin(&test);
	store = slot_kernel(&test, "store");
	event = mini_event(&test.m);
	for (int i = 0; i < KERNELS; i++) {
		add_node(&test, store, SLOT * i);
		if (i)
			add_edge(&test, i, i + 1);
	}
	for (int i = 0; i < KERNELS; i++)
		launch(&test, store, test.one, SLOT * i);
	record(&test, event, test.one);
	wait_for(&test, event, test.two);
	instantiate(&test);
	for (int i = 0; i < STEPS; i++)
		launch_graph(&test, test.two);
	no_loss(&test);
}

/* Slots of a ring: one stream fills each, another one reads it, and each waits for the other. */
static void fenced_streams_need_no_room(void **unused)
{
	struct test test;
	int64_t store, load, filled, read;

	(void)unused;
	begin(&test);
	store = kernel(&test.m, "store", 8, 1);
	load = kernel(&test.m, "load", 8, 1);
	filled = mini_event(&test.m);
	read = mini_event(&test.m);
	for (int i = 0; i < HISTORY_MOST / 2 + 100; i++) {
		launch(&test, store, test.one, 8 * i);
		record(&test, filled, test.one);
		wait_for(&test, filled, test.two);
		launch(&test, load, test.two, 8 * i);
		record(&test, read, test.two);
		wait_for(&test, read, test.one);
	}
	no_loss(&test);
}

/* There is a limit: what it removes is counted. */
static void accesses_that_were_dropped_are_said(void **unused)
{
	struct test test;
	int64_t store;

	(void)unused;
	begin(&test);
	store = slot_kernel(&test, "store");
	mini_exec(&test.m, "INSERT INTO allocation VALUES (%d, 1, %d, %d, 'device', NULL, NULL)",
		LARGE, LARGE_ADDRESS, SLOT * (HISTORY_MOST + 10));
	for (int i = 0; i < HISTORY_MOST + 10; i++)
		launch(&test, store, test.one, LARGE_ADDRESS - ADDRESS + SLOT * i);
	launch(&test, slot_kernel(&test, "load"), test.two, LARGE_ADDRESS - ADDRESS);
	mini_exec(&test.m, "UPDATE operand SET allocation = %d", LARGE);
	assert_int_equal(analyze(&test.m.db), 0);
	expect(&test, "SELECT reason || ' ' || count FROM loss", "accesses_forgotten 10");
	finish(&test, "");
}

/* Each kernel lets the next one begin and waits for none: the first may outlast them all. */
static void kernels_of_a_long_chain_are_said(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	for (int64_t which = test.reader; which <= test.writer; which++) {
		mini_exec(&test.m, "INSERT INTO kernel_dependence VALUES (%lld, 0, 1)",
			(long long)which);
		mini_exec(&test.m, "UPDATE kernel_access SET early = 1 WHERE kernel = %lld",
			(long long)which);
	}
	launch(&test, test.writer, test.one, 0);
	for (int i = 0; i < 17; i++)
		mini_exec(&test.m, "INSERT INTO call_object VALUES (%lld, 'attributes', 2)",
			(long long)launch(&test, test.reader, test.one, i < 16 ? BYTES / 2 : 0));
	assert_int_equal(analyze(&test.m.db), 0);
	expect(&test, "SELECT reason || ' ' || count FROM loss", "accesses_forgotten 2");
	finish(&test, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repeated_race_hides_no_other_one),
		cmocka_unit_test(unordered_nodes_hide_no_others),
		cmocka_unit_test(a_chain_of_nodes_needs_no_room),
		cmocka_unit_test(nodes_that_were_not_compared_are_said),
		cmocka_unit_test(versions_that_were_not_read_are_said),
		cmocka_unit_test(old_accesses_are_found),
		cmocka_unit_test(accesses_to_other_bytes_hide_no_conflict),
		cmocka_unit_test(what_is_no_race_hides_none),
		cmocka_unit_test(memory_that_one_stream_goes_on_with_needs_no_room),
		cmocka_unit_test(a_captured_step_needs_no_room),
		cmocka_unit_test(fenced_streams_need_no_room),
		cmocka_unit_test(accesses_that_were_dropped_are_said),
		cmocka_unit_test(kernels_of_a_long_chain_are_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
