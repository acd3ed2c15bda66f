/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing fences among the nodes of one graph: its edges are all the order there is.  And which
 * vertices of a graph come before others (graph_order.h).
 */
#include "miniature.h"

#include "graph_order.h"
#include "record.h"

enum { MEMORY = 900, ADDRESS = 0x10000, BYTES = 65536, GRAPH = 1, EXEC = 1 };

struct test {
	struct mini m;
	int64_t stream, reader, writer;
	int64_t edges;
	double t; /* us */
};

static int64_t kernel(struct mini *m, const char *direction)
{
	int64_t id = mini_kernel(m, direction);

	mini_exec(m, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL)",
		(long long)id);
	mini_exec(m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, '%s', 1, 0, %d, "
		"NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)id, direction, BYTES);
	return id;
}

static void begin(struct test *test)
{
	struct mini *m = &test->m;

	mini_init(m);
	test->t = 10;
	test->stream = mini_stream(m, "non-blocking");
	test->reader = kernel(m, "load");
	test->writer = kernel(m, "store");
	mini_exec(m, "INSERT INTO allocation VALUES (%d, 1, %d, %d, 'device', NULL, NULL)", MEMORY,
		ADDRESS, BYTES);
	mini_exec(m, "INSERT INTO graph VALUES (%d, 1, 64, NULL, NULL)", GRAPH);
}

static int64_t step(struct test *test, int type, int64_t kernel)
{
	test->t += 10;
	return MINI_CALL(&test->m, .type = type, .at = test->t, .kernel = kernel);
}

static void names(struct test *test, int64_t call)
{
	mini_exec(&test->m, "INSERT INTO operand VALUES (%lld, 'word', 0, %d, %d)", (long long)call,
		ADDRESS, MEMORY);
}

/* A node that is added by a call: both have the same number. */
static int64_t node_of(struct test *test, int64_t graph, const char *type, int64_t kernel)
{
	int64_t call = step(test, CALL_cuGraphAddKernelNode_v2, kernel);

	if (kernel)
		names(test, call);
	mini_exec(&test->m,
		"INSERT INTO graph_node (id, graph, type, call) "
		"VALUES (%lld, %lld, '%s', %lld)",
		(long long)call, (long long)graph, type, (long long)call);
	return call;
}

static int64_t node(struct test *test, int64_t kernel)
{
	return node_of(test, GRAPH, "kernel", kernel);
}

static void edge(struct test *test, int64_t graph, int64_t from, int64_t to, int programmatic)
{
	mini_exec(&test->m, "INSERT INTO graph_edge VALUES (%lld, %lld, %lld, %lld, NULL, %d)",
		(long long)graph, (long long)from, (long long)to,
		(long long)(from > to ? from : to), programmatic);
}

/* Two nodes of a graph with an edge, of kernels or of nothing. */
static void chain(struct test *test, int64_t graph, int64_t first, int64_t second, int programmatic)
{
	int64_t from = node_of(test, graph, first ? "kernel" : "empty", first);
	int64_t to = node_of(test, graph, second ? "kernel" : "empty", second);

	edge(test, graph, from, to, programmatic);
}

/* A node that consists of a graph of its own. */
static int64_t child(struct test *test, int64_t graph)
{
	int64_t id = node_of(test, GRAPH, "graph", 0);

	mini_exec(&test->m, "UPDATE graph_node SET child = %lld WHERE id = %lld", (long long)graph,
		(long long)id);
	return id;
}

static int64_t new_graph(struct test *test, int64_t id)
{
	mini_exec(&test->m, "INSERT INTO graph VALUES (%lld, 1, %lld, NULL, NULL)", (long long)id,
		(long long)(64 + id));
	return id;
}

static void instantiate(struct test *test)
{
	int64_t call = step(test, CALL_cuGraphInstantiateWithFlags, 0);

	mini_exec(&test->m, "INSERT INTO graph_exec VALUES (%d, 1, 99, %d, %lld, %lld, NULL)", EXEC,
		GRAPH, (long long)call, (long long)call);
}

static int64_t launch(struct test *test)
{
	int64_t call;

	test->t += 10;
	call = MINI_CALL(&test->m, .type = CALL_cuGraphLaunch, .at = test->t,
		.stream = test->stream, .runs = { test->t + 5, test->t + 105 });
	mini_exec(&test->m,
		"INSERT INTO call_object VALUES (%lld, 'exec', %d); "
		"INSERT INTO operand VALUES (%lld, 'node', NULL, %d, %d)",
		(long long)call, EXEC, (long long)call, ADDRESS, MEMORY);
	return call;
}

/* The hazards, in order. */
static void finish(struct test *test, const char *wanted)
{
	assert_int_equal(analyze(&test->m.db), 0);
	assert_string_equal(mini_text(&test->m,
				    "SELECT ifnull(group_concat(rule || ' ' || kind || ' ' || "
				    "confidence || ' ' || other_call || '-' || call || ' x' || "
				    "count || ifnull(' ' || why, ''), ', '), '') FROM hazard"),
		wanted);
	mini_release(&test->m);
}

static void pair(int64_t (*first)(const struct test *), int64_t (*second)(const struct test *),
	const char *wanted)
{
	struct test test;

	begin(&test);
	node(&test, first(&test));
	node(&test, second(&test));
	instantiate(&test);
	launch(&test);
	launch(&test);
	finish(&test, wanted);
}

static int64_t reads(const struct test *test)
{
	return test->reader;
}

static int64_t writes(const struct test *test)
{
	return test->writer;
}

static void nodes_without_an_edge(void **unused)
{
	(void)unused;
	pair(writes, reads, "missing-fence raw certain 1-2 x2");
	pair(reads, writes, "missing-fence war certain 1-2 x2");
	pair(writes, writes, "missing-fence waw certain 1-2 x2");
	pair(reads, reads, "");
}

static void edges_order(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test); /* one edge */
	chain(&test, GRAPH, test.writer, test.reader, 0);
	instantiate(&test);
	launch(&test);
	finish(&test, "");
	begin(&test); /* two, by way of a node that does nothing; added against their direction */
	node(&test, test.reader);
	node_of(&test, GRAPH, "empty", 0);
	node(&test, test.writer);
	edge(&test, GRAPH, 3, 2, 0);
	edge(&test, GRAPH, 2, 1, 0);
	instantiate(&test);
	launch(&test);
	finish(&test, "");
	begin(&test); /* both after one node */
	node_of(&test, GRAPH, "empty", 0);
	edge(&test, GRAPH, 1, node(&test, test.writer), 0);
	edge(&test, GRAPH, 1, node(&test, test.reader), 0);
	instantiate(&test);
	launch(&test);
	finish(&test, "missing-fence raw certain 2-3 x1");
}

/* An edge is removed before the graph is instantiated, and after. */
static void an_edge_counts_as_long_as_it_is_there(void **unused)
{
	struct test test;
	int64_t removal;

	(void)unused;
	begin(&test);
	chain(&test, GRAPH, test.writer, test.reader, 0);
	removal = step(&test, CALL_cuGraphRemoveDependencies, 0);
	instantiate(&test);
	mini_exec(&test.m, "UPDATE graph_edge SET removed = %lld", (long long)removal);
	launch(&test);
	finish(&test, "missing-fence raw certain 1-2 x1");
	begin(&test);
	chain(&test, GRAPH, test.writer, test.reader, 0);
	instantiate(&test);
	removal = step(&test, CALL_cuGraphRemoveDependencies, 0);
	mini_exec(&test.m, "UPDATE graph_edge SET removed = %lld", (long long)removal);
	launch(&test);
	finish(&test, "");
}

static void nodes_of_a_child_are_where_it_stands(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test); /* a writer inside, a reader outside */
	node_of(&test, new_graph(&test, 2), "kernel", test.writer);
	child(&test, 2);
	node(&test, test.reader);
	instantiate(&test);
	launch(&test);
	finish(&test, "missing-fence raw certain 1-3 x1");
	begin(&test); /* after the child */
	node_of(&test, new_graph(&test, 2), "kernel", test.writer);
	child(&test, 2);
	edge(&test, GRAPH, 2, node(&test, test.reader), 0);
	instantiate(&test);
	launch(&test);
	finish(&test, "");
	begin(&test); /* and before it: inside, the second node is after the first */
	new_graph(&test, 2);
	chain(&test, 2, 0, test.reader, 0);
	node(&test, test.writer);
	edge(&test, GRAPH, 3, child(&test, 2), 0);
	instantiate(&test);
	launch(&test);
	finish(&test, "");
	begin(&test); /* the same graph twice, at once */
	node_of(&test, new_graph(&test, 2), "kernel", test.writer);
	child(&test, 2);
	child(&test, 2);
	instantiate(&test);
	launch(&test);
	finish(&test, "missing-fence waw certain 1-1 x1");
}

static void bodies_may_run(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	node_of(&test, new_graph(&test, 2), "kernel", test.writer);
	node_of(&test, GRAPH, "conditional", 0);
	mini_exec(&test.m, "INSERT INTO graph_body VALUES (2, 2)");
	node(&test, test.reader);
	instantiate(&test);
	launch(&test);
	finish(&test, "missing-fence raw possible 1-3 x1");
	begin(&test); /* one of two */
	node_of(&test, new_graph(&test, 2), "kernel", test.writer);
	node_of(&test, new_graph(&test, 3), "kernel", test.writer);
	node_of(&test, GRAPH, "conditional", 0);
	mini_exec(&test.m, "INSERT INTO graph_body VALUES (3, 2), (3, 3)");
	instantiate(&test);
	launch(&test);
	finish(&test, "");
}

/* Kernels may change the first node: by an attribute of its launch, or of the node. */
static void nodes_that_the_device_changes_are_possible(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	mini_exec(&test.m, "INSERT INTO call_object VALUES (%lld, 'attributes', %d)",
		(long long)node(&test, test.writer), LAUNCH_UPDATABLE);
	node(&test, test.reader);
	instantiate(&test);
	launch(&test);
	finish(&test, "missing-fence raw possible 1-2 x1");
	begin(&test);
	node(&test, test.writer);
	node(&test, test.reader);
	mini_exec(&test.m,
		"INSERT INTO graph_change VALUES (%lld, %d, 1, 'kernel', NULL, NULL, NULL)",
		(long long)step(&test, CALL_cuGraphKernelNodeSetAttribute, 0), GRAPH);
	instantiate(&test);
	launch(&test);
	finish(&test, "");
}

/* A body writes all of what another stream reads. */
static void bodies_may_run_beside_others(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	node_of(&test, new_graph(&test, 2), "kernel", test.writer);
	node_of(&test, GRAPH, "conditional", 0);
	mini_exec(&test.m, "INSERT INTO graph_body VALUES (2, 2)");
	instantiate(&test);
	launch(&test);
	names(&test,
		MINI_CALL(&test.m, .type = CALL_cuLaunchKernel, .at = test.t + 10,
			.kernel = test.reader, .stream = mini_stream(&test.m, "non-blocking"),
			.runs = { test.t + 15, test.t + 25 }));
	finish(&test, "missing-fence raw possible 4-5 x1");
}

/* A node after the second of a pair may or may not be ordered after the first. */
static void a_programmatic_port_does_not_wait_for_the_end(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	chain(&test, GRAPH, test.writer, test.reader, 1);
	instantiate(&test);
	launch(&test);
	finish(&test, "");
	begin(&test);
	chain(&test, GRAPH, test.writer, 0, 1);
	edge(&test, GRAPH, 2, node(&test, test.reader), 0);
	instantiate(&test);
	launch(&test);
	finish(&test, "missing-fence raw possible 1-3 x1");
	begin(&test);
	mini_exec(&test.m, "INSERT INTO kernel_dependence VALUES (%lld, 0, 1), (%lld, 0, 0)",
		(long long)test.writer, (long long)test.reader);
	mini_exec(&test.m, "UPDATE kernel_access SET early = 1");
	chain(&test, GRAPH, test.writer, test.reader, 1);
	instantiate(&test);
	launch(&test);
	finish(&test, "missing-fence raw certain 1-2 x1 early-launch");
}

/* Sending an executable to the device is no launch. */
static void upload(struct test *test)
{
	test->t += 10;
	mini_exec(&test->m, "INSERT INTO call_object VALUES (%lld, 'exec', %d)",
		(long long)MINI_CALL(&test->m, .type = CALL_cuGraphUpload, .at = test->t,
			.stream = test->stream),
		EXEC);
}

/* The executable becomes what another graph is, in which the same nodes have an edge. */
static void an_updated_executable_is_judged_anew(void **unused)
{
	struct test test;
	int64_t update;

	(void)unused;
	begin(&test);
	node(&test, test.writer);
	node(&test, test.reader);
	instantiate(&test);
	launch(&test);
	upload(&test);
	launch(&test);
	launch(&test);
	new_graph(&test, 2);
	chain(&test, 2, test.writer, test.reader, 0);
	update = step(&test, CALL_cuGraphExecUpdate_v2, 0);
	mini_exec(&test.m, "INSERT INTO graph_update VALUES (%lld, %d, 2)", (long long)update,
		EXEC);
	launch(&test);
	finish(&test, "missing-fence raw certain 1-2 x3");
}

/* A node of the executable gets a kernel that writes, and later one that reads again. */
static void a_node_that_is_set_does_something_else(void **unused)
{
	struct test test;
	int64_t set;

	(void)unused;
	begin(&test);
	node(&test, test.reader);
	node(&test, test.reader);
	instantiate(&test);
	launch(&test);
	for (int i = 0; i < 2; i++) {
		set = step(&test, CALL_cuGraphExecKernelNodeSetParams_v2,
			i ? test.reader : test.writer);
		names(&test, set);
		mini_exec(&test.m,
			"INSERT INTO call_object VALUES (%lld, 'exec', %d); "
			"INSERT INTO graph_change VALUES (%lld, %d, 2, 'kernel', %d, NULL, NULL)",
			(long long)set, EXEC, (long long)set, GRAPH, EXEC);
		launch(&test);
		launch(&test);
	}
	finish(&test, "missing-fence war certain 1-5 x2");
}

/*
 * Nodes that allocate, write and free MEMORY; edges: bit 0 joins the first two, bit 1 the last two.
 */
static void use_of_graph_memory(int edges, const char *wanted)
{
	struct test test;
	int64_t alloc, use, release;

	begin(&test);
	alloc = node_of(&test, GRAPH, "alloc", 0);
	use = node(&test, test.writer);
	release = node_of(&test, GRAPH, "free", 0);
	mini_exec(&test.m,
		"UPDATE allocation SET memory = 'graph', created = %lld WHERE id = %d; "
		"UPDATE call SET ptr = %d WHERE id IN (%lld, %lld)",
		(long long)alloc, MEMORY, ADDRESS, (long long)alloc, (long long)release);
	edge(&test, GRAPH, alloc, edges & 1 ? use : release, 0);
	edge(&test, GRAPH, edges & 2 ? use : alloc, release, 0);
	instantiate(&test);
	launch(&test);
	finish(&test, wanted);
}

static void memory_of_a_graph_is_used_between_its_nodes(void **unused)
{
	(void)unused;
	use_of_graph_memory(3, "");
	use_of_graph_memory(1, "async-alloc-order waw certain 2-3 x1");
	use_of_graph_memory(2, "async-alloc-order waw certain 1-2 x1");
}

/*
 * A graph that allocates is launched twice. Its memory is read in another stream (1) or its own
 * (2), once for each launch. frees: after each read.
 */
static void launches_with_memory(const char *readers, int frees, const char *wanted)
{
	struct test test;
	int64_t alloc, other;

	begin(&test);
	other = mini_stream(&test.m, "non-blocking");
	alloc = node_of(&test, GRAPH, "alloc", 0);
	edge(&test, GRAPH, alloc, node(&test, test.writer), 0);
	mini_exec(&test.m,
		"UPDATE allocation SET memory = 'graph', created = %lld WHERE id = %d; "
		"UPDATE call SET ptr = %d WHERE id = %lld",
		(long long)alloc, MEMORY, ADDRESS, (long long)alloc);
	instantiate(&test);
	for (int i = 0; i < 2; i++) {
		launch(&test);
		test.t += 10;
		names(&test,
			MINI_CALL(&test.m, .type = CALL_cuLaunchKernel, .at = test.t,
				.kernel = test.reader,
				.stream = readers[i] == '1' ? other : test.stream,
				.runs = { test.t + 5, test.t + 105 }));
		test.t += 10;
		if (frees)
			MINI_CALL(&test.m, .type = CALL_cuMemFreeAsync, .at = test.t,
				.ptr = ADDRESS, .stream = test.stream);
	}
	finish(&test, wanted);
}

static void each_launch_has_memory_of_its_own(void **unused)
{
	(void)unused;
	launches_with_memory("22", 1, "");
	/* The free comes too early, and the next launch is not to blame. */
	launches_with_memory("12", 1,
		"missing-fence raw certain 4-5 x1, async-alloc-order war certain 5-6 x1");
	/* The next launch frees it. */
	launches_with_memory("12", 0,
		"missing-fence raw certain 4-5 x1, async-alloc-order war certain 5-6 x1");
}

/* The trace does not record which graph a child set in the executable is a copy of. */
static void what_is_not_known_in_full_is_not_judged(void **unused)
{
	struct test test;
	int64_t set;

	(void)unused;
	begin(&test);
	node_of(&test, new_graph(&test, 2), "kernel", test.writer);
	child(&test, 2);
	node(&test, test.reader);
	instantiate(&test);
	set = step(&test, CALL_cuGraphExecChildGraphNodeSetParams, 0);
	mini_exec(&test.m,
		"INSERT INTO call_object VALUES (%lld, 'exec', %d); "
		"INSERT INTO graph_change VALUES (%lld, %d, 2, 'graph', %d, NULL, NULL)",
		(long long)set, EXEC, (long long)set, GRAPH, EXEC);
	launch(&test);
	launch(&test);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(analyze(&test.m.db), 0);
		assert_string_equal(mini_text(&test.m, "SELECT reason || ' ' || count FROM loss"),
			"graphs_not_read 1");
	}
	finish(&test, "");
}

/* An event recorded inside a graph does not stand for the whole graph. */
static void events_act_in_the_middle(void **unused)
{
	for (int behind = 0; behind < 2; behind++) {
		struct test test;
		int64_t event, other, wait;

		(void)unused;
		begin(&test);
		event = mini_event(&test.m);
		other = mini_stream(&test.m, "non-blocking");
		node(&test, test.writer);
		node_of(&test, GRAPH, "record", 0);
		mini_exec(&test.m, "UPDATE graph_node SET event = %lld WHERE id = 2",
			(long long)event);
		if (behind)
			edge(&test, GRAPH, 1, 2, 0);
		instantiate(&test);
		launch(&test);
		test.t += 10;
		wait = MINI_CALL(&test.m, .type = CALL_cuStreamWaitEvent, .at = test.t,
			.event = event, .stream = other);
		test.t += 10;
		names(&test,
			MINI_CALL(&test.m, .type = CALL_cuLaunchKernel, .at = test.t,
				.kernel = test.reader, .stream = other,
				.runs = { test.t + 5, test.t + 15 }));
		assert_int_equal(wait, 5);
		finish(&test, behind ? "" : "missing-fence raw certain 4-6 x1");
	}
}

static void the_edge_to_add_is_named(void **unused)
{
	for (int captured = 0; captured < 2; captured++) {
		struct test test;

		(void)unused;
		begin(&test);
		node(&test, test.writer);
		node(&test, test.reader);
		instantiate(&test);
		launch(&test);
		mini_exec(&test.m, "UPDATE call SET site = %lld WHERE kernel = %lld",
			(long long)mini_site(&test.m, "build", 7), (long long)test.writer);
		if (captured)
			mini_exec(&test.m,
				"INSERT INTO call_object VALUES (2, 'captured', %d); "
				"UPDATE call SET stream = %lld WHERE id < 3",
				GRAPH, (long long)test.stream);
		assert_int_equal(analyze(&test.m.db), 0);
		assert_string_equal(mini_text(&test.m,
					    "SELECT message || '; ' || fix FROM finding_place"),
			captured
				? "kernel 'load' reads what kernel 'store' writes, and in their "
				  "graph no edge orders them; during capture, record an "
				  "event on stream 8 after `store` (mini.cu:7), let stream 8 wait "
				  "for it before `load`"
				: "kernel 'load' reads what kernel 'store' writes, and in their "
				  "graph no edge orders them; add an edge from `store` (mini.cu:7) "
				  "to `load`");
		mini_release(&test.m);
	}
}

/* --- the order of vertices --- */

/* Any graph: the same as a search along its edges. */
static void places_say_what_a_search_says(void **unused)
{
	enum { VERTICES = 40, ROUNDS = 200 };
	uint64_t seed = 1;

	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		char reaches[VERTICES][VERTICES] = { { 0 } };
		int64_t rank[VERTICES];
		struct graph_order order;
		size_t vertex, taken = 0;

		assert_int_equal(graph_order_init(&order, VERTICES), 0);
		for (size_t i = 0; i < VERTICES; i++)
			rank[i] = (int64_t)i;
		for (int i = 0; i < 20 + round; i++) {
			size_t from, to;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			from = (seed >> 33) % VERTICES;
			to = (seed >> 45) % VERTICES;
			if (from >= to)
				continue;
			graph_order_add(&order, from, to);
			reaches[from][to] = 1;
		}
		for (int k = 0; k < VERTICES; k++)
			for (int i = 0; i < VERTICES; i++)
				for (int j = 0; j < VERTICES; j++)
					reaches[i][j] |= reaches[i][k] & reaches[k][j];
		assert_int_equal(graph_order_start(&order, rank), 0);
		while (graph_order_next(&order, &vertex) > 0) {
			assert_int_equal(vertex, taken++);
			for (size_t i = 0; i < VERTICES; i++)
				assert_int_equal(graph_order_is_before(&order,
							 graph_order_place(&order, i)),
					reaches[i][vertex]);
		}
		assert_int_equal(taken, VERTICES);
		graph_order_release(&order);
	}
}

static void circles_are_refused(void **unused)
{
	struct graph_order order;
	int64_t rank[2] = { 0, 0 };

	(void)unused;
	assert_int_equal(graph_order_init(&order, 2), 0);
	graph_order_add(&order, 0, 1);
	graph_order_add(&order, 1, 0);
	assert_int_equal(graph_order_start(&order, rank), 1);
	graph_order_release(&order);
}

/* Layers of a thousand that all follow one vertex, which follows all of the layer before. */
static void wide_graphs_stay_cheap(void **unused)
{
	enum { WIDTH = 1000, LAYERS = 50, STEP = WIDTH + 1 };
	size_t vertices = (size_t)LAYERS * STEP, vertex;
	int64_t *rank = calloc(vertices, sizeof(*rank));
	struct graph_order order;

	(void)unused;
	assert_non_null(rank);
	assert_int_equal(graph_order_init(&order, vertices), 0);
	for (size_t i = 0; i < vertices; i++) {
		size_t hub = i / STEP * STEP;

		rank[i] = (int64_t)i;
		if (i != hub)
			graph_order_add(&order, hub, i);
		if (i != hub && hub + STEP < vertices)
			graph_order_add(&order, i, hub + STEP);
	}
	assert_int_equal(graph_order_start(&order, rank), 0);
	while (graph_order_next(&order, &vertex) > 0)
		;
	assert_int_equal(order.taken, vertices);
	assert_int_equal(order.chains, WIDTH);
	assert_true(order.work < 8 * vertices);
	graph_order_release(&order);
	free(rank);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_without_an_edge),
		cmocka_unit_test(edges_order),
		cmocka_unit_test(an_edge_counts_as_long_as_it_is_there),
		cmocka_unit_test(nodes_of_a_child_are_where_it_stands),
		cmocka_unit_test(bodies_may_run),
		cmocka_unit_test(bodies_may_run_beside_others),
		cmocka_unit_test(nodes_that_the_device_changes_are_possible),
		cmocka_unit_test(a_programmatic_port_does_not_wait_for_the_end),
		cmocka_unit_test(an_updated_executable_is_judged_anew),
		cmocka_unit_test(a_node_that_is_set_does_something_else),
		cmocka_unit_test(memory_of_a_graph_is_used_between_its_nodes),
		cmocka_unit_test(each_launch_has_memory_of_its_own),
		cmocka_unit_test(what_is_not_known_in_full_is_not_judged),
		cmocka_unit_test(events_act_in_the_middle),
		cmocka_unit_test(the_edge_to_add_is_named),
		cmocka_unit_test(places_say_what_a_search_says),
		cmocka_unit_test(circles_are_refused),
		cmocka_unit_test(wide_graphs_stay_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
