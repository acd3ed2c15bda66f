/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing fences: which pairs of operations are hazards, how sure they are and why, and each thing
 * that must not be one.
 */
#include "hazard_runs.h"

#include "history.h"

static void a_read_behind_a_write_of_another_stream(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-2");
	begin(&test);
	launch(&test, test.reader, test.one, 0);
	launch(&test, test.writer, test.two, 0);
	finish(&test, "missing-fence war certain 1-2");
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.writer, test.two, 0);
	finish(&test, "missing-fence waw certain 1-2");
}

static void what_needs_no_fence(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test); /* the same stream */
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.reader, test.one, 0);
	launch(&test, test.reader, test.two, BYTES / 2);
	finish(&test, "");
	begin(&test); /* both read */
	launch(&test, test.reader, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "");
	begin(&test); /* other bytes */
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.writer, test.two, BYTES / 2);
	finish(&test, "");
	begin(&test); /* atomics are in any order with each other */
	launch(&test, test.counter, test.one, 0);
	launch(&test, test.counter, test.two, 0);
	finish(&test, "");
	begin(&test); /* a pointer alone is no access */
	launch(&test, test.pointer, test.one, 0);
	launch(&test, test.writer, test.two, 0);
	finish(&test, "");
}

static void a_count_that_is_read_while_it_is_made(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.counter, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-2");
}

static void a_fence_orders(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	wait_for(&test, event, test.two);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "");
	begin(&test); /* so does a wait of the host */
	launch(&test, test.writer, test.one, 0);
	MINI_CALL(&test.m, .type = CALL_cuStreamSynchronize, .at = test.t, .until = test.t + 200,
		.stream = test.one);
	test.t += 210;
	launch(&test, test.reader, test.two, 0);
	finish(&test, "");
}

static void a_fence_that_does_not_order_is_explained(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	event = mini_event(&test.m);
	record(&test, event, test.one);
	launch(&test, test.writer, test.one, 0);
	wait_for(&test, event, test.two);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 2-4 early-record");
	begin(&test);
	event = mini_event(&test.m);
	MINI_CALL(&test.m, .type = CALL_cuEventCreate, .at = 1, .event = event);
	launch(&test, test.writer, test.one, 0);
	wait_for(&test, event, test.two);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 2-4 unrecorded-event");
	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	record(&test, event, mini_stream(&test.m, "non-blocking"));
	wait_for(&test, event, test.two);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-5 stale-event");
	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	launch(&test, test.reader, test.two, 0);
	wait_for(&test, event, test.two);
	finish(&test, "missing-fence raw certain 1-3 late-fence");
}

/* A fence, the host's wait between, the event that the host waits for, and a pair without one. */
static void a_round_after(int type, int which, const char *wanted)
{
	struct test test;
	int64_t event;

	begin(&test);
	event = mini_event(&test.m);
	record(&test, event, test.one);
	wait_for(&test, event, test.two);
	if (type == CALL_cuEventRecord) { /* the other way */
		record(&test, mini_event(&test.m), test.two);
		wait_for(&test, event + 1, test.one);
	} else if (type) {
		MINI_CALL(&test.m, .type = type, .at = test.t, .event = event,
			.stream = which == 2 ? test.two
				: which == 1 ? test.one
					     : 0);
		test.t += 10;
	}
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	finish(&test, wanted);
}

/* Such a fence belongs to what came before, and is not too early for what comes after. */
static void a_fence_of_an_earlier_round_is_not_to_blame(void **unused)
{
	(void)unused;
	a_round_after(0, 0, "missing-fence raw certain 3-4 early-record");
	a_round_after(CALL_cuCtxSynchronize, 0, "missing-fence raw certain 4-5");
	a_round_after(CALL_cuStreamSynchronize, 1, "missing-fence raw certain 4-5");
	a_round_after(CALL_cuStreamSynchronize, 2, "missing-fence raw certain 4-5");
	a_round_after(CALL_cuEventSynchronize, 0, "missing-fence raw certain 4-5");
	a_round_after(CALL_cuEventQuery, 0, "missing-fence raw certain 4-5");
	a_round_after(CALL_cuEventRecord, 0, "missing-fence raw certain 5-6");
}

static int64_t copy_by(struct test *test, int type, int direction, const char *src)
{
	int64_t call = MINI_CALL(&test->m, .type = type, .at = test->t, .stream = MINI_LEGACY,
		.bytes = BYTES, .direction = 1 + direction, .dst = "device", .src = src,
		.runs = { test->t + 5, test->t + 205 });

	mini_exec(&test->m, "INSERT INTO operand VALUES (%lld, 'dst', NULL, %d, %d)",
		(long long)call, ADDRESS, MEMORY);
	test->t += 10;
	return call;
}

/* Calls that look like a fence but are none. */
static void what_was_taken_for_a_fence_is_said(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test); /* the stream that records waits itself */
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	wait_for(&test, event, test.one);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-4 wrong-stream");
	begin(&test); /* a copy within the device, and one that says that it is asynchronous */
	copy_by(&test, CALL_cuMemcpyDtoD_v2, COPY_D2D, "device");
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-2 early-return");
	begin(&test);
	copy_by(&test, CALL_cuMemcpyDtoDAsync_v2, COPY_D2D, "device");
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-2 legacy-stream");
	begin(&test); /* the other way round, of a blocking stream it is none */
	launch(&test, test.reader, test.two, 0);
	launch(&test, test.writer, MINI_LEGACY, 0);
	finish(&test, "missing-fence war certain 1-2 legacy-stream");
	begin(&test);
	launch(&test, test.reader, mini_stream(&test.m, "blocking"), 0);
	launch(&test, test.writer, MINI_LEGACY, 0);
	finish(&test, "");
	begin(&test); /* a fence that comes too late says more */
	event = mini_event(&test.m);
	launch(&test, test.writer, MINI_LEGACY, 0);
	record(&test, event, MINI_LEGACY);
	launch(&test, test.reader, test.two, 0);
	wait_for(&test, event, test.two);
	finish(&test, "missing-fence raw certain 1-3 late-fence");
}

/* A third stream waits; uses: it reads before (1) or after (2) the reader that does not wait. */
static void third_waits(int uses, const char *wanted)
{
	struct test test;
	int64_t event, third;

	begin(&test);
	event = mini_event(&test.m);
	third = mini_stream(&test.m, "non-blocking");
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	wait_for(&test, event, third);
	if (uses & 1)
		launch(&test, test.reader, third, 0);
	launch(&test, test.reader, test.two, 0);
	if (uses & 2)
		launch(&test, test.reader, third, 0);
	finish(&test, wanted);
}

static void a_wait_in_a_third_stream_is_for_what_that_does(void **unused)
{
	(void)unused;
	third_waits(0, "missing-fence raw certain 1-4 third-stream");
	third_waits(1, "missing-fence raw certain 1-5");
	third_waits(2, "missing-fence raw certain 1-4");
}

/* A reader in the default stream, of a thread with one kernel or two in streams of its own. */
static void unnamed(int64_t other_default, int several, const char *wanted)
{
	struct test test;

	begin(&test);
	launch(&test, test.writer, test.one, 0);
	if (several)
		launch(&test, test.counter, test.one, BYTES / 2);
	launch(&test, test.reader, MINI_LEGACY, 0);
	if (other_default)
		launch(&test, test.writer, MINI_LEGACY, BYTES / 2);
	finish(&test, wanted);
}

static void a_call_without_its_stream_is_the_odd_one_out(void **unused)
{
	(void)unused;
	unnamed(0, 1, "missing-fence raw certain 1-3 no-stream");
	unnamed(0, 0, "missing-fence raw certain 1-2 legacy-stream");
	unnamed(1, 1,
		"missing-fence raw certain 1-3 legacy-stream, "
		"missing-fence waw certain 2-4 legacy-stream");
}

/* A block of a larger allocation, written in one stream, read in another one, and then used. */
static void block(int script, int other, int64_t last(const struct test *), const char *wanted)
{
	struct test test;
	int64_t event;

	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, other ? test.two : test.one, 0);
	if (!other) {
		record(&test, event, test.one);
		wait_for(&test, event, test.two);
	}
	launch(&test, test.reader, test.two, 0);
	launch(&test, last(&test), test.one, 0);
	if (script)
		mini_exec(&test.m, "INSERT INTO code VALUES (1, 1, 0, 1, 'f', 'a.py', x'')");
	finish(&test, wanted);
}

static int64_t a_writer(const struct test *test)
{
	return test->writer;
}

static int64_t a_reader(const struct test *test)
{
	return test->reader;
}

static void an_allocator_hands_memory_out_again_in_its_own_stream(void **unused)
{
	(void)unused;
	block(1, 0, a_writer, "missing-fence war certain 4-5 reused-block");
	block(1, 1, a_writer, "missing-fence waw certain 1-3, missing-fence war certain 2-3");
	block(1, 0, a_reader, "");
	block(0, 0, a_writer, "missing-fence war certain 4-5");
}

/*
 * The last write of each stream stays. A later write that is ordered after all of them replaces
 * those that it covers.
 */
static void what_was_covered_is_not_named_again(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 2-3");
	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	wait_for(&test, event, test.two);
	launch(&test, test.writer, test.two, 0);
	launch(&test, test.reader, mini_stream(&test.m, "non-blocking"), 0);
	finish(&test, "missing-fence raw certain 4-5");
}

static void less_is_known(void **unused)
{
	struct test test;
	int64_t some, second;

	(void)unused;
	begin(&test); /* some of these bytes, by whoever covers all of them */
	some = kernel(&test.m, "store", BYTES / 2, 0);
	launch(&test, some, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw likely 1-2");
	begin(&test); /* some of these and some of those */
	some = kernel(&test.m, "store", BYTES / 2, 0);
	launch(&test, some, test.one, 0);
	launch(&test, kernel(&test.m, "load", BYTES / 2, 0), test.two, 0);
	finish(&test, "missing-fence raw possible 1-2");
	begin(&test); /* a flag that both raise */
	some = kernel(&test.m, "store", 4, 1);
	launch(&test, some, test.one, 0);
	launch(&test, some, test.two, 0);
	finish(&test, "missing-fence waw possible 1-2");
	begin(&test); /* another thread, long after */
	second = mini_thread(&test.m);
	launch(&test, test.writer, test.one, 0);
	test.t += 1000;
	launch_by(&test, second, test.reader, test.two, 0);
	finish(&test, "missing-fence raw possible 1-2");
	begin(&test); /* another thread, before it was done */
	second = mini_thread(&test.m);
	launch(&test, test.writer, test.one, 0);
	launch_by(&test, second, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-2");
	begin(&test); /* long after, where the first thread let the stream use it: nobody waited */
	second = mini_thread(&test.m);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	test.t += 1000;
	launch_by(&test, second, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 1-2, missing-fence raw certain 1-3");
}

/* It tells the host that the work before it is done, once that is done. */
static void a_host_function_orders_from_its_start_on(void **unused)
{
	struct test test;

	(void)unused;
	for (int late = 0; late < 2; late++) {
		begin(&test);
		launch(&test, test.writer, test.one, 0);
		MINI_CALL(&test.m, .type = CALL_cuLaunchHostFunc, .at = test.t, .stream = test.one);
		test.t += late ? 200 : 10;
		launch(&test, test.reader, test.two, 0);
		finish(&test,
			late ? "missing-fence raw possible 1-3" : "missing-fence raw certain 1-3");
	}
}

/* A likely finding is shown if it was seen once, as the first finding. It costs no time. */
static void once_is_a_finding(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.reader, test.two, 0);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m,
				    "SELECT rule || ' ' || severity || ' ' || confidence || ' ' || "
				    "shown || ' ' || count || ' ' || (waited + delayed + saving) "
				    "FROM finding"),
		"missing-fence high certain 1 1 0");
	mini_release(&test.m);
}

/*
 * Reads what one line wrote in several pieces, rounds times; a cudaFree waited in between. tells:
 * the host could have waited too, by a host function after the writers. bare: so many more rounds
 * without cudaFree.
 */
static const char *accidents(int rounds, int tells, int bare)
{
	static char found[64];
	struct test test;
	int64_t reader, site, other;

	begin(&test);
	reader = kernel(&test.m, "load", BYTES, 1);
	site = mini_site(&test.m, "use", 20);
	other = mini_site(&test.m, "fill", 10);
	for (int i = 0; i < rounds + bare; i++, test.t += 300) {
		for (int piece = 0; piece < 2; piece++)
			mini_exec(&test.m, "UPDATE call SET site = %lld WHERE id = %lld",
				(long long)other,
				(long long)launch(&test, test.writer, test.one, piece * BYTES / 2));
		if (tells)
			MINI_CALL(&test.m, .type = CALL_cuLaunchHostFunc, .at = test.t - 2,
				.until = test.t - 1, .stream = test.one);
		if (i < rounds)
			MINI_CALL(&test.m, .type = CALL_cuMemFree_v2, .at = test.t, .ptr = 64,
				.until = test.t + 200);
		test.t += 210;
		mini_exec(&test.m, "UPDATE call SET site = %lld WHERE id = %lld", (long long)site,
			(long long)launch(&test, reader, test.two, 0));
		MINI_CALL(&test.m, .type = CALL_cuCtxSynchronize, .at = test.t + 150,
			.until = test.t + 160);
	}
	assert_int_equal(analyze(&test.m.db), 0);
	snprintf(found, sizeof(found), "%.63s",
		mini_text(&test.m,
			"SELECT group_concat(rule || ' ' || confidence || ' ' || count) "
			"FROM finding WHERE rule = 'accidental-order'"));
	mini_release(&test.m);
	return found;
}

static void an_accident_is_sure_when_it_comes_twice(void **unused)
{
	(void)unused;
	assert_string_equal(accidents(1, 0, 0), "accidental-order possible 1");
	assert_string_equal(accidents(2, 0, 0), "accidental-order certain 2");
	/* As XLA gives staging memory back. */
	assert_string_equal(accidents(2, 1, 0), "");
	/* A round without the free shows that the fence is missing, which is said once. */
	assert_string_equal(accidents(2, 0, 1), "");
}

/* In each round a free waits for the writer; in the last one a reader elsewhere follows it. */
static void the_wait_that_orders_says_so_at_its_fix(void **unused)
{
	struct test test;
	int64_t reader, site;

	(void)unused;
	begin(&test);
	reader = kernel(&test.m, "load", BYTES, 1);
	site = mini_site(&test.m, "release", 30);
	for (int i = 0; i < 6; i++) {
		launch(&test, test.writer, test.one, 0);
		MINI_CALL(&test.m, .type = CALL_cuMemFree_v2, .at = test.t, .ptr = 64, .site = site,
			.until = test.t + 100);
		test.t += 110;
	}
	launch(&test, reader, test.two, 0);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m,
				    "SELECT group_concat(f.rule || ': ' || r.message, '; ') "
				    "FROM finding_race r JOIN finding f ON f.id = r.finding"),
		"blocking-free: kernel 'load' on stream 9 comes after kernel 'store' on stream 8 "
		"only because this call waits: record an event on stream 8 after `store`, let "
		"stream 9 wait for it before `load`");
	assert_string_equal(
		mini_text(&test.m,
			"SELECT confidence FROM finding WHERE rule = 'accidental-order'"),
		"possible");
	mini_release(&test.m);
}

/* The call, of several between a writer and its reader, that waited for the writer. */
static void what_waited_first_is_named(void **unused)
{
	struct test test;
	int64_t reader, writer, copy;

	(void)unused;
	begin(&test);
	reader = kernel(&test.m, "load", BYTES, 1);
	MINI_CALL(&test.m, .type = CALL_cuMemFree_v2, .at = test.t, .ptr = 64);
	test.t += 10;
	writer = launch(&test, test.writer, test.one, 0);
	/* In another stream: it waited for nothing of the writer's. */
	MINI_CALL(&test.m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = test.t, .until = test.t + 5,
		.bytes = 64, .stream = test.two, .direction = 1 + COPY_D2H, .dst = "pageable",
		.runs = { test.t + 1, test.t + 4 });
	test.t += 10;
	copy = MINI_CALL(&test.m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = test.t,
		.until = test.t + 200, .bytes = 64, .stream = test.one, .direction = 1 + COPY_D2H,
		.dst = "pageable", .runs = { test.t + 150, test.t + 160 });
	test.t += 210;
	MINI_CALL(&test.m, .type = CALL_cuMemFree_v2, .at = test.t, .ptr = 128);
	test.t += 10;
	launch(&test, reader, test.two, 0);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_int_equal(mini_int(&test.m,
				 "SELECT via FROM hazard WHERE rule = 'accidental-order'"),
		copy);
	assert_int_equal(mini_int(&test.m,
				 "SELECT other_call FROM hazard WHERE rule = 'accidental-order'"),
		writer);
	mini_release(&test.m);
}

static void fix(void (*between)(struct test *, int64_t event), const char *wanted)
{
	struct test test;
	int64_t event;

	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	if (between)
		between(&test, event);
	launch(&test, test.reader, test.two, 0);
	mini_exec(&test.m,
		"UPDATE call SET site = %lld WHERE kernel = %lld; "
		"UPDATE call SET site = %lld WHERE kernel = %lld",
		(long long)mini_site(&test.m, "produce", 31), (long long)test.writer,
		(long long)mini_site(&test.m, "consume", 44), (long long)test.reader);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(mini_text(&test.m, "SELECT fix FROM finding_place"), wanted);
	assert_string_equal(mini_text(&test.m,
				    "SELECT evidence || ' ' || other_evidence || ' ' || gap FROM "
				    "hazard h JOIN finding_place p ON p.hazard = h.id"),
		between ? "ptx ptx -80000" : "ptx ptx -90000");
	mini_release(&test.m);
}

static void nothing_for_a_while(struct test *test, int64_t event)
{
	(void)event;
	test->t += 10;
}

static void wait_for_nothing(struct test *test, int64_t event)
{
	MINI_CALL(&test->m, .type = CALL_cuEventCreate, .at = 1, .event = event);
	wait_for(test, event, test->two);
}

static void wait_in_a_third_stream(struct test *test, int64_t event)
{
	int64_t third = mini_stream(&test->m, "non-blocking");

	test->t -= 10;
	record(test, event, test->one);
	test->t -= 10;
	wait_for(test, event, third);
	test->t += 10;
}

static void the_fence_to_add_is_said_in_the_programs_calls(void **unused)
{
	(void)unused;
	fix(NULL,
		"record an event on stream 8 after `store` (mini.cu:31), let stream 9 wait for it "
		"before `load` (mini.cu:44)");
	fix(nothing_for_a_while,
		"record an event on stream 8 after `store` (mini.cu:31), let stream 9 wait for it "
		"before `load` (mini.cu:44)");
	fix(wait_in_a_third_stream,
		"let stream 9 wait for the event before `load` (mini.cu:44), in place of "
		"the stream that does now");
	fix(wait_for_nothing,
		"record the event that is waited for on stream 8 after `store` (mini.cu:31), let "
		"stream 9 wait for it before `load` (mini.cu:44)");
}

static void expect_fix(struct test *test, const char *wanted)
{
	assert_int_equal(analyze(&test->m.db), 0);
	assert_string_equal(mini_text(&test->m, "SELECT fix FROM finding_place LIMIT 1"), wanted);
	mini_release(&test->m);
}

/* A stream to give to the call, or a tensor to record. */
static void what_is_no_fence_is_not_mended_by_one(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.counter, test.one, BYTES / 2);
	launch(&test, test.reader, MINI_LEGACY, 0);
	expect_fix(&test, "give `load` its stream, stream 8");
	begin(&test);
	event = mini_event(&test.m);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	wait_for(&test, event, test.two);
	launch(&test, test.reader, test.two, 0);
	launch(&test, test.writer, test.one, 0);
	mini_exec(&test.m, "INSERT INTO code VALUES (1, 1, 0, 1, 'f', 'a.py', x'')");
	expect_fix(&test,
		"record an event on stream 9 after `load`, let stream 8 wait for it before "
		"`store`; in PyTorch tensor.record_stream() with stream 9 for the tensor that "
		"`load` uses");
}

/* Nothing is known of a kernel without code; a shape is known as its row says. */
static void launches_of_which_all_is_known_are_counted(void **unused)
{
	struct test test;
	int64_t call;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	launch(&test, test.writer, test.one, 0);
	call = launch(&test, test.writer, test.one, 0);
	launch(&test, test.pointer, test.one, 0);
	MINI_CALL(&test.m, .type = CALL_cuLaunchKernel, .at = test.t, .kernel = test.reader,
		.stream = test.one, .result = 1);
	mini_exec(&test.m,
		"INSERT INTO shape VALUES (1, %lld, 0, 0, x'', x''); "
		"INSERT INTO launch VALUES (%lld, 1); "
		"INSERT INTO shape_code VALUES (1, 0, 'a pointer out of memory', 0)",
		(long long)test.writer, (long long)call);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_string_equal(
		mini_text(&test.m,
			"SELECT group_concat(name || ' ' || complete || '/' || launches, "
			"', ') FROM kernel_use u JOIN kernel k ON k.id = u.kernel"),
		"store 2/3, pointer 0/1");
	mini_release(&test.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_behind_a_write_of_another_stream),
		cmocka_unit_test(what_needs_no_fence),
		cmocka_unit_test(a_count_that_is_read_while_it_is_made),
		cmocka_unit_test(a_fence_orders),
		cmocka_unit_test(a_fence_that_does_not_order_is_explained),
		cmocka_unit_test(a_fence_of_an_earlier_round_is_not_to_blame),
		cmocka_unit_test(what_was_taken_for_a_fence_is_said),
		cmocka_unit_test(a_wait_in_a_third_stream_is_for_what_that_does),
		cmocka_unit_test(a_call_without_its_stream_is_the_odd_one_out),
		cmocka_unit_test(an_allocator_hands_memory_out_again_in_its_own_stream),
		cmocka_unit_test(what_was_covered_is_not_named_again),
		cmocka_unit_test(less_is_known),
		cmocka_unit_test(a_host_function_orders_from_its_start_on),
		cmocka_unit_test(once_is_a_finding),
		cmocka_unit_test(an_accident_is_sure_when_it_comes_twice),
		cmocka_unit_test(the_wait_that_orders_says_so_at_its_fix),
		cmocka_unit_test(what_waited_first_is_named),
		cmocka_unit_test(the_fence_to_add_is_said_in_the_programs_calls),
		cmocka_unit_test(what_is_no_fence_is_not_mended_by_one),
		cmocka_unit_test(launches_of_which_all_is_known_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
