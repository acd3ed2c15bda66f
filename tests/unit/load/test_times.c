/* SPDX-License-Identifier: Apache-2.0 */
/* Device times that contradict each other within a stream. */
#include "analyze.h"
#include "trace_text.h"

static struct db load(const char *body)
{
	return trace_text_load("test_times", body);
}

static void expect(struct db *db, const char *sql, const char *wanted)
{
	trace_text_expect(db, sql, wanted);
}

static void finish(struct db *db)
{
	trace_text_finish(db, "test_times");
}

#define TIMES_SQL \
	"SELECT ifnull(start || '-' || end, 'unknown') FROM operation ORDER BY correlation, id"
#define LATE_SQL \
	"SELECT correlation || ':' || recorded_end FROM operation " \
	"WHERE recorded_end NOT NULL ORDER BY 1"
#define LOSS_SQL \
	"SELECT reason || count FROM loss WHERE reason IN ('late_ends', 'lost_times') ORDER BY 1"

/* Traces begin at 5000 ns of CUPTI's time, which is 0. */
#define COPY(correlation, start, end) \
	"device kind=2 detail=8 src=3 dst=3 start=" #start " end=" #end \
	" correlation=" #correlation " context=3 device=0 stream=7 value=4096\n"
#define GRAPH(correlation, start, end) \
	"device kind=5 start=" #start " end=" #end " correlation=" #correlation \
	" context=3 device=0 stream=7\n"
#define GRAPH_LAUNCH(correlation, enter) \
	"call cuGraphLaunch correlation=" #correlation " enter=" #enter \
	" duration=10 context=1 | exec=0x9 stream=0x0\n"
#define KERNEL(correlation, start, end) \
	"device kind=1 start=" #start " end=" #end " correlation=" #correlation \
	" context=3 device=0 stream=7\n"
#define LAUNCH(correlation, enter) \
	"call cuLaunchKernel correlation=" #correlation " enter=" #enter \
	" duration=10 context=1 | function=0xf stream=0x0 grid=0x1 block=0x1 bytes=0x0\n"

/* A copy whose recorded end lies after all later work of its stream. */
static void the_end_of_one_is_corrected_not_the_times_of_many(void **state)
{
	struct db db = load(COPY(1, 100000, 9000000) KERNEL(2, 200000, 300000)
			KERNEL(3, 301000, 400000) KERNEL(4, 5000000, 5100000));

	expect(&db, TIMES_SQL, "95000-195000 195000-295000 296000-395000 4995000-5095000");
	expect(&db, LATE_SQL, "1:8995000");
	expect(&db, LOSS_SQL, "late_ends1");
	/* It ended long before the process did. */
	expect(&db, "SELECT end FROM process", "5095000");
	finish(&db);
}

static void less_than_the_clocks_error_is_no_contradiction(void **state)
{
	struct db db =
		load(KERNEL(1, 100000, 209000) KERNEL(2, 200000, 300000) KERNEL(3, 289000, 400000));

	expect(&db, TIMES_SQL, "95000-204000 195000-284000 284000-395000");
	expect(&db, LATE_SQL, "2:295000");
	finish(&db);
}

static void streams_and_contexts_overlap(void **state)
{
	struct db db = load(KERNEL(1, 100000,
		900000) "device kind=1 start=200000 end=300000 correlation=2 context=3 stream=8\n"
			"device kind=1 start=200000 end=300000 correlation=3 context=4 stream=7\n");

	expect(&db, LATE_SQL, "");
	expect(&db, LOSS_SQL, "");
	finish(&db);
}

static void two_wrong_ends_in_a_row_are_two(void **state)
{
	struct db db = load(COPY(1, 100000, 9000000) COPY(2, 150000, 9000100)
			KERNEL(3, 301000, 400000) KERNEL(4, 5000000, 5100000));

	expect(&db, TIMES_SQL, "95000-145000 145000-296000 296000-395000 4995000-5095000");
	expect(&db, LOSS_SQL, "late_ends2");
	finish(&db);
}

/* It was submitted last, and its record says that it started before all others. */
static void a_wrong_start_leaves_no_times(void **state)
{
	struct db db = load(KERNEL(1, 200000, 300000) KERNEL(2, 301000, 400000) KERNEL(3, 401000,
		500000) COPY(4, 100000, 600000) KERNEL(5, 601000, 700000));

	expect(&db, TIMES_SQL, "195000-295000 296000-395000 396000-495000 unknown 596000-695000");
	expect(&db, LOSS_SQL, "lost_times1");
	finish(&db);
}

static void a_kernel_may_overlap_with_a_programmatic_launch(void **state)
{
	/* The tail: LAUNCH_PROGRAMMATIC, and no events. */
	static const char programmatic[] =
		"call cuLaunchKernelEx record_flags=32 correlation=2 enter=60000 duration=10 "
		"context=1 | function=0xf stream=0x0 grid=0x1 block=0x1 words=0x2,0x0,0x0\n";
	char body[2048];
	struct db db;

	snprintf(body, sizeof(body), "%s%s%s", LAUNCH(1, 50000), programmatic,
		KERNEL(1, 100000, 300000) KERNEL(2, 200000, 400000) KERNEL(3, 401000, 500000));
	db = load(body);
	expect(&db, LATE_SQL, "");
	finish(&db);
	/* A copy is never overlapped. */
	snprintf(body, sizeof(body), "%s%s%s", LAUNCH(1, 50000), programmatic,
		COPY(1, 100000, 300000) KERNEL(2, 200000, 400000) KERNEL(3, 401000, 500000));
	db = load(body);
	expect(&db, LATE_SQL, "1:295000");
	finish(&db);
}

/* The copies of a batch are unordered, and so are the nodes of a graph. */
static void operations_of_one_call_may_overlap(void **state)
{
	struct db db =
		load(COPY(1, 100000, 300000) COPY(1, 150000, 400000) KERNEL(2, 401000, 500000));

	expect(&db, LATE_SQL, "");
	finish(&db);
	db = load(GRAPH_LAUNCH(1, 50000) GRAPH_LAUNCH(2, 50100) GRAPH(1, 100000, 400000)
			KERNEL(1, 120000, 390000) KERNEL(1, 130000, 380000)
				KERNEL(2, 300000, 450000) KERNEL(3, 460000, 500000));
	expect(&db, LATE_SQL, "");
	finish(&db);
}

static void the_record_of_a_graph_is_an_operation(void **state)
{
	struct db db = load(GRAPH_LAUNCH(1, 50000) GRAPH(1, 100000, 900000) KERNEL(1, 120000,
		190000) KERNEL(2, 300000, 450000) KERNEL(3, 460000, 500000));

	expect(&db, LATE_SQL, "1:895000");
	expect(&db, LOSS_SQL, "late_ends1");
	finish(&db);
}

/* The driver's record of it begins with the wait for the kernel in front of it. */
static void a_copy_from_host_to_host_begins_early(void **state)
{
	struct db db = load(KERNEL(1, 100000,
		300000) "device kind=2 detail=9 src=2 dst=1 start=200000 end=310000 correlation=2 "
			"context=3 stream=7\n" KERNEL(3, 401000, 500000));

	expect(&db, LATE_SQL, "");
	expect(&db, LOSS_SQL, "");
	finish(&db);
}

/* ... but its end may be wrong like any other. */
static void a_copy_from_host_to_host_may_end_late(void **state)
{
	struct db db = load(KERNEL(1, 100000,
		300000) "device kind=2 detail=9 src=2 dst=1 start=200000 end=900000 correlation=2 "
			"context=3 stream=7\n" KERNEL(3, 401000, 500000));

	expect(&db, TIMES_SQL, "95000-295000 195000-396000 396000-495000");
	expect(&db, LOSS_SQL, "late_ends1");
	finish(&db);
}

/* No duration is taken from an operation whose end is not known. */
static void it_is_not_known_to_have_been_busy(void **state)
{
	struct db db = load(LAUNCH(1, 50000) LAUNCH(2, 60000) LAUNCH(3, 70000) KERNEL(1, 100000,
		9000000) KERNEL(2, 500000, 600000) KERNEL(3, 601000, 700000));

	assert_int_equal(analyze(&db), 0);
	expect(&db, "SELECT busy FROM device_use", "199000");
	expect(&db, "SELECT busy FROM stream_use", "199000");
	expect(&db, "SELECT sum(time) FROM account WHERE cause = 'kernels'", "199000");
	expect(&db, "SELECT last FROM device_use", "695000");
	finish(&db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_one_is_corrected_not_the_times_of_many),
		cmocka_unit_test(less_than_the_clocks_error_is_no_contradiction),
		cmocka_unit_test(streams_and_contexts_overlap),
		cmocka_unit_test(two_wrong_ends_in_a_row_are_two),
		cmocka_unit_test(a_wrong_start_leaves_no_times),
		cmocka_unit_test(a_kernel_may_overlap_with_a_programmatic_launch),
		cmocka_unit_test(operations_of_one_call_may_overlap),
		cmocka_unit_test(the_record_of_a_graph_is_an_operation),
		cmocka_unit_test(a_copy_from_host_to_host_begins_early),
		cmocka_unit_test(a_copy_from_host_to_host_may_end_late),
		cmocka_unit_test(it_is_not_known_to_have_been_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
