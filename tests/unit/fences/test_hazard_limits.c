/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many races, many nodes, many accesses: no pair of places of a race is hidden by another one, and
 * accesses that nothing can race with take no room.
 */
#include "program_text.h"

#include "history.h"

enum { SLOT = 64, SLOTS = 400 };

static void analyze_to(struct program *p, const char *sql, const char *wanted)
{
	assert_int_equal(analyze(&p->m.db), 0);
	program_expect(p, sql, wanted);
}

static const char losses[] = "SELECT ifnull(group_concat(reason || ' ' || count), '') FROM loss";

static void no_loss(struct program *p)
{
	analyze_to(p, losses, "");
	program_finish(p, "");
}

/* 560 streams write the same bytes: more than 100000 rows of one pair of places. */
static void a_repeated_race_hides_no_other_one(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	program_do(&p, "launch n1 store/64 [64K-64] =5-105 :10");
	for (int i = 0; i < 560; i++)
		program_do(&p, "launch n%d store =5-105 :10", 100 + i);
	program_do(&p, "launch n2 load/64 [64K-64] =5-105 :20");
	analyze_to(&p, "SELECT other_call || '-' || call FROM hazard WHERE kind = 'raw'", "1-562");
	/* Later operations that have no row of their own are counted. */
	program_expect(&p, "SELECT count(*) || ' ' || (sum(count) > count(*)) FROM hazard",
		"100001 1");
	program_expect(&p, "SELECT count FROM finding WHERE rule = 'missing-fence'", "560");
	program_expect(&p,
		"SELECT group_concat(s.text || ' after ' || o.text || ' ' || p.count, ', ') "
		"FROM finding_place p JOIN site s ON s.id = p.site JOIN site o ON "
		"o.id = p.other_site",
		"mini.cu:10 after mini.cu:10 559, mini.cu:20 after mini.cu:10 1");
	mini_release(&p.m);
}

/* --- graphs --- */

static void launch_graph(struct program *p, const char *stream)
{
	program_do(p, "graph x1 %s node[0] =5-105", stream);
}

/* 1770 pairs. */
static void unordered_nodes_hide_no_others(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	for (int i = 0; i < 60; i++)
		program_do(&p, "add g1 a store");
	program_do(&p, "add g1 b store/64 [64K-64]; add g1 c load/64 [64K-64]; instantiate x1 g1");
	launch_graph(&p, "n1");
	launch_graph(&p, "n1");
	analyze_to(&p,
		"SELECT group_concat(other_call || '-' || call || ' x' || count) FROM hazard "
		"WHERE kind = 'raw'",
		"61-62 x2");
	program_expect(&p, "SELECT count FROM finding WHERE rule = 'missing-fence'", "120");
	program_expect(&p, losses, "");
	mini_release(&p.m);
}

/* A chain of nodes, each with bytes of its own, and a last node with those of the first. */
static void chain_of_nodes(int nodes, int joined, const char *wanted)
{
	struct program p;

	program_begin(&p);
	program_do(&p, "add g1 last store/8");
	for (int i = 1; i < nodes; i++) {
		program_do(&p, "add g1 next store/8 [8*%d]; edge g1 last next", i);
		program_name(&p, "last", program_known(&p, "next"));
	}
	program_do(&p, "add g1 end load/8");
	if (joined)
		program_do(&p, "edge g1 last end");
	program_do(&p, "instantiate x1 g1");
	launch_graph(&p, "n1");
	analyze_to(&p, losses, "");
	program_finish(&p, wanted);
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
	struct program p;

	(void)unused;
	program_begin(&p);
	for (int i = 0; i < 4200; i++)
		program_do(&p, "add g1 a store");
	program_do(&p, "instantiate x1 g1");
	launch_graph(&p, "n1");
	analyze_to(&p, losses, "graphs_not_read 1");
	mini_release(&p.m);
}

/* An executable that is set before each launch: only some of its versions are read. */
static void versions_that_were_not_read_are_said(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	program_do(&p, "add g1 a store; instantiate x1 g1");
	for (int i = 0; i < 20; i++) {
		program_do(&p,
			"exec_kernel x1 store; "
			"INSERT INTO graph_change VALUES ($, 1, 1, 'kernel', 1, NULL, NULL)");
		launch_graph(&p, "n1");
	}
	analyze_to(&p, losses, "graphs_not_read 1");
	mini_release(&p.m);
}

/* --- histories --- */

static void fill_slots(struct program *p, const char *stream, int count)
{
	for (int i = 0; i < count; i++)
		program_do(p, "launch %s store/64 [%d] =5-105", stream, SLOT * (i % SLOTS));
}

/* 400 slots that another stream may use later have to be kept, the first one too. */
static void old_accesses_are_found(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	fill_slots(&p, "n1", SLOTS);
	program_do(&p, "launch n2 load/64 =5-105");
	program_finish(&p, "missing-fence raw certain 1-401");
}

/* More than HISTORY_ALIKE accesses of one place lie between two slots that a kernel reads. */
static void accesses_to_other_bytes_hide_no_conflict(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	fill_slots(&p, "n1", SLOTS);
	program_do(&p, "launch n2 load/64 =5-105");
	mini_exec(&p.m,
		"UPDATE kernel_access SET high = %d, run = %d, stride1 = %d, count1 = 2 "
		"WHERE direction = 'load'",
		SLOT * (SLOTS + 1), SLOT, SLOT * SLOTS);
	program_finish(&p, "missing-fence raw certain 1-401");
}

/* More than HISTORY_ALIKE memsets of one line write the same value; the first one another. */
static void what_is_no_race_hides_none(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	program_do(&p, "set_async n1 #64K dst[0] fill=1 =5-105");
	for (int i = 0; i < HISTORY_ALIKE + 10; i++)
		program_do(&p, "set_async n%d #64K dst[0] fill=0 =5-105", 100 + i);
	/* Each of them is in a race with the first one. */
	analyze_to(&p,
		"SELECT count(*) || ' ' || min(other_call) || '-' || max(other_call) FROM hazard",
		"266 1-1");
	mini_release(&p.m);
}

/* One stream has warmed up what another one uses from then on, as a captured graph's memory. */
static void memory_that_one_stream_goes_on_with_needs_no_room(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	fill_slots(&p, "n1", SLOTS);
	program_do(&p, "record f1 n1; wait f1 n2");
	fill_slots(&p, "n2", 3 * SLOTS);
	no_loss(&p);
}

/*
 * A step of 600 kernels that runs once on a side stream, is captured, and launched 100 times, as
 * torch.compile(mode="reduce-overhead") does.
 */
static void a_captured_step_needs_no_room(void **unused)
{
	enum { KERNELS = 600, STEPS = 100 };
	struct program p;

	(void)unused;
	program_begin(&p);
	program_do(&p, "add g1 last store/64");
	for (int i = 1; i < KERNELS; i++) {
		program_do(&p, "add g1 next store/64 [64*%d]; edge g1 last next", i);
		program_name(&p, "last", program_known(&p, "next"));
	}
	for (int i = 0; i < KERNELS; i++)
		program_do(&p, "launch n1 store/64 [64*%d] =5-105", i);
	program_do(&p, "record f1 n1; wait f1 n2; instantiate x1 g1");
	for (int i = 0; i < STEPS; i++)
		launch_graph(&p, "n2");
	no_loss(&p);
}

/* Slots of a ring: one stream fills each, another one reads it, and each waits for the other. */
static void fenced_streams_need_no_room(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	for (int i = 0; i < HISTORY_MOST / 2 + 100; i++)
		program_do(&p,
			"launch n1 store/8 [8*%d] =5-105; record f1 n1; wait f1 n2;"
			"launch n2 load/8 [8*%d] =5-105; record f2 n2; wait f2 n1",
			i, i);
	no_loss(&p);
}

/* There is a limit: what it removes is counted. */
static void accesses_that_were_dropped_are_said(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	program_do(&p, "INSERT INTO allocation VALUES (901, 1, 1048576, %d, 'device', NULL, NULL)",
		SLOT * (HISTORY_MOST + 10));
	for (int i = 0; i < HISTORY_MOST + 10; i++)
		program_do(&p, "launch n1 store/64 [901:960K+64*%d] =5-105", i);
	program_do(&p, "launch n2 load/64 [901:960K] =5-105");
	analyze_to(&p, losses, "accesses_forgotten 10");
	program_finish(&p, "");
}

/* Each kernel lets the next one begin and waits for none: the first may outlast them all. */
static void kernels_of_a_long_chain_are_said(void **unused)
{
	struct program p;

	(void)unused;
	program_begin(&p);
	program_do(&p, "depends load 0 1; depends store 0 1; launch n1 store =5-105");
	for (int i = 0; i < 17; i++)
		program_do(&p, "launch n1 load [%s] =5-105 attributes=2", i < 16 ? "32K" : "0");
	analyze_to(&p, losses, "accesses_forgotten 2");
	program_finish(&p, "");
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
