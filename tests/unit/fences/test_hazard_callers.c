/* SPDX-License-Identifier: Apache-2.0 */
/* Missing fences: loads of code for a first launch, and what allocators are told. */
#include "hazard_runs.h"

static const char runtime[] = "/lib/libcudart.so.13", allocator[] = "/lib/libc10_cuda.so",
		  program[] = "/bin/app";

/* A site whose innermost functions are two of that file. */
static int64_t site_in(struct test *test, const char *file)
{
	struct mini *m = &test->m;
	long long site = mini_site(m, "main", (int)m->sites + 1);

	mini_exec(m, "INSERT INTO module VALUES (%lld, 1, 0, 10, 0, '%s', NULL)", site, file);
	mini_exec(m,
		"INSERT INTO frame (site, depth, address, module, user) VALUES "
		"(%lld, 0, 1, %lld, 0), (%lld, 1, 2, %lld, 0)",
		site, site, site, site);
	return site;
}

/* --- loads --- */

/* The load drains the device, and takes so many microseconds. */
static int64_t load(struct test *test, int type, const char *file, double us)
{
	int64_t call = MINI_CALL(&test->m, .type = type, .at = test->t, .until = test->t + us,
		.site = site_in(test, file));

	test->t += us + 10;
	return call;
}

static void names(struct test *test, const char *via)
{
	assert_int_equal(analyze(&test->m.db), 0);
	assert_string_equal(mini_text(&test->m,
				    "SELECT group_concat(rule || ' ' || confidence || ' ' || "
				    "ifnull(via, 'none'), ', ') FROM hazard"),
		via);
	mini_release(&test->m);
}

static void a_load_for_a_first_launch_keeps_no_order(void **unused)
{
	struct test test;
	int64_t call;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	load(&test, CALL_cuLibraryLoadData, runtime, 200);
	launch(&test, test.reader, test.two, 0);
	names(&test, "missing-fence likely 2");
	begin(&test); /* cuBLAS, and a compiler of kernels */
	launch(&test, test.writer, test.one, 0);
	load(&test, CALL_cuModuleLoadData, "/lib/libcublasLt.so.13", 200);
	launch(&test, test.reader, test.two, 0);
	names(&test, "missing-fence likely 2");
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	load(&test, CALL_cuModuleLoadData, "/site-packages/jax_plugins/xla_cuda_plugin.so", 200);
	launch(&test, test.reader, test.two, 0);
	names(&test, "missing-fence likely 2");
	begin(&test); /* the launch itself loads */
	launch(&test, test.writer, test.one, 0);
	test.t += 200;
	call = launch(&test, test.reader, test.two, 0);
	mini_exec(&test.m, "INSERT INTO overhead VALUES (1, %lld, 'lazy_loading', %lld, %lld)",
		(long long)call, (long long)mini_ns(test.t - 9.9),
		(long long)mini_ns(test.t - 8.1));
	names(&test, "missing-fence likely 2");
}

static void a_load_that_the_program_asks_for_is_an_accident(void **unused)
{
	struct test test;
	int64_t parent;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	load(&test, CALL_cuModuleLoadData, program, 200);
	launch(&test, test.reader, test.two, 0);
	names(&test, "accidental-order certain 2");
	begin(&test); /* through the runtime */
	launch(&test, test.writer, test.one, 0);
	parent = MINI_CALL(&test.m, .type = CALL_cudaLibraryLoadData_12, .at = test.t,
		.until = test.t + 204);
	test.t++;
	mini_exec(&test.m, "UPDATE call SET parent = %lld WHERE id = %lld", (long long)parent,
		(long long)load(&test, CALL_cuLibraryLoadData, runtime, 200));
	launch(&test, test.reader, test.two, 0);
	names(&test, "accidental-order certain 3");
}

/* The time of the load itself does not count. */
static void set_up_is_not_the_loop(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	load(&test, CALL_cuLibraryLoadData, runtime, 300000);
	launch(&test, test.reader, test.two, 0);
	names(&test, "missing-fence likely 2");
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	load(&test, CALL_cuLibraryLoadData, runtime, 300000);
	test.t += 101000;
	launch(&test, test.reader, test.two, 0);
	names(&test, "missing-fence possible 2");
	begin(&test); /* no load between them: nothing kept them in order */
	launch(&test, test.writer, test.one, 0);
	test.t += 101000;
	launch(&test, test.reader, test.two, 0);
	names(&test, "missing-fence certain none");
}

static void work_before_the_loop_is_set_up(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	load(&test, CALL_cuLibraryLoadData, runtime, 200);
	mini_exec(&test.m, "UPDATE call SET site = %lld WHERE id = 1",
		(long long)mini_site(&test.m, "set_up", 100));
	for (int turn = 0; turn < 8; turn++) {
		mini_exec(&test.m, "UPDATE call SET site = 3 WHERE id = %lld",
			(long long)launch(&test, test.reader, test.two, 0));
		test.t += 200;
	}
	mini_site(&test.m, "turn", 101);
	assert_int_equal(analyze(&test.m.db), 0);
	assert_int_equal(mini_int(&test.m, "SELECT turns > 2 FROM loop"), 1);
	assert_string_equal(mini_text(&test.m,
				    "SELECT group_concat(DISTINCT confidence) FROM hazard"),
		"possible");
	mini_release(&test.m);
}

/* --- allocators --- */

static void query(struct test *test, int64_t thread, int64_t event, const char *file)
{
	MINI_CALL(&test->m, .type = CALL_cuEventQuery, .at = test->t, .event = event,
		.thread = thread, .site = site_in(test, file));
	test->t += 10;
}

/* The memory is a file's: its allocator made it. */
static int64_t begin_in(struct test *test, const char *file)
{
	int64_t event;

	begin(test);
	mini_exec(&test->m, "UPDATE allocation SET created = %lld",
		(long long)MINI_CALL(&test->m, .type = CALL_cuMemAlloc_v2, .at = test->t,
			.site = site_in(test, file)));
	event = mini_event(&test->m);
	MINI_CALL(&test->m, .type = CALL_cuEventCreate, .at = test->t + 5, .event = event);
	test->t += 10;
	return event;
}

static void an_allocators_yes_orders_the_reuse_of_its_memory(void **unused)
{
	struct test test;
	int64_t event;

	(void)unused;
	event = begin_in(&test, allocator);
	launch(&test, test.reader, test.one, 0);
	record(&test, event, test.one);
	query(&test, 0, event, allocator);
	launch(&test, test.writer, test.two, 0);
	finish(&test, "");
	event = begin_in(&test, allocator); /* the allocator is one for all threads */
	launch(&test, test.reader, test.one, 0);
	record(&test, event, test.one);
	query(&test, mini_thread(&test.m), event, allocator);
	launch(&test, test.writer, test.two, 0);
	finish(&test, "");
	event = begin_in(&test, allocator); /* before the yes */
	launch(&test, test.reader, test.one, 0);
	record(&test, event, test.one);
	launch(&test, test.writer, test.two, 0);
	query(&test, 0, event, allocator);
	finish(&test, "missing-fence war certain 3-5");
	event = begin_in(&test, program); /* not its memory */
	launch(&test, test.reader, test.one, 0);
	record(&test, event, test.one);
	query(&test, 0, event, allocator);
	launch(&test, test.writer, test.two, 0);
	finish(&test, "missing-fence war certain 3-6");
}

static void an_allocators_yes_orders_nothing_else(void **unused)
{
	struct test test;
	int64_t event, both;

	(void)unused;
	event = begin_in(&test, allocator); /* what was written is still wanted */
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	query(&test, 0, event, allocator);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "missing-fence raw certain 3-6");
	event = begin_in(&test, allocator); /* and what is changed in place */
	both = kernel(&test.m, "store", BYTES / 2, 1);
	mini_exec(&test.m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, 'load', 1, 0, %d, NULL, NULL, "
		"NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)both, BYTES / 2);
	launch(&test, test.reader, test.one, 0);
	record(&test, event, test.one);
	query(&test, 0, event, allocator);
	launch(&test, both, test.two, 0);
	finish(&test, "missing-fence war certain 3-6");
	event = begin_in(&test, program); /* the program's own yes is a wait */
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	query(&test, 0, event, program);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "");
}

/* What used the block before is not compared with what uses it now, however little is known. */
static void a_new_use_ends_the_old_one(void **unused)
{
	struct test test;
	int64_t event, some, three;

	(void)unused;
	event = begin_in(&test, allocator);
	three = mini_stream(&test.m, "non-blocking");
	some = kernel(&test.m, "store", BYTES / 2, 0);
	launch(&test, test.writer, test.one, 0);
	record(&test, event, test.one);
	query(&test, 0, event, allocator);
	launch(&test, some, test.two, 0);
	record(&test, event, test.two);
	wait_for(&test, event, three);
	launch(&test, test.reader, three, 0);
	finish(&test, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_load_for_a_first_launch_keeps_no_order),
		cmocka_unit_test(a_load_that_the_program_asks_for_is_an_accident),
		cmocka_unit_test(set_up_is_not_the_loop),
		cmocka_unit_test(work_before_the_loop_is_set_up),
		cmocka_unit_test(an_allocators_yes_orders_the_reuse_of_its_memory),
		cmocka_unit_test(an_allocators_yes_orders_nothing_else),
		cmocka_unit_test(a_new_use_ends_the_old_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
