/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs that nothing of CUDA's orders, which may be ordered all the same: possible at most. */
#include "hazard_runs.h"

/* Adds another access of a kernel to bytes from its first word on. */
static void add_claim(struct test *test, int64_t kernel, const char *direction, int low, int high,
	int spins)
{
	mini_exec(&test->m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, '%s', 1, %d, %d, NULL, NULL, "
		"NULL, NULL, NULL, NULL, NULL, 1, 0, 0, %d, NULL)",
		(long long)kernel, direction, low, high, spins);
}

enum { FLAG = BYTES - 64, FLAG_END = FLAG + 4 };

/* It waits for a flag after the data, and then reads or writes the data. */
static int64_t waiting(struct test *test, const char *direction)
{
	int64_t id = kernel(&test->m, direction, BYTES / 2, 1);

	add_claim(test, id, "load", FLAG, FLAG_END, 1);
	return id;
}

/* It writes data, and then that flag. */
static int64_t telling(struct test *test)
{
	int64_t id = kernel(&test->m, "store", BYTES / 2, 1);

	add_claim(test, id, "store", FLAG, FLAG_END, 0);
	return id;
}

static void kernels_that_tell_each_other_are_ordered(void **unused)
{
	struct test test;
	int64_t both;

	(void)unused;
	begin(&test); /* the waiting one goes first */
	launch(&test, waiting(&test, "load"), test.one, 0);
	launch(&test, telling(&test), test.two, 0);
	finish(&test, "missing-fence war possible 1-2");
	begin(&test); /* two that wait for each other */
	both = telling(&test);
	add_claim(&test, both, "load", FLAG, FLAG_END, 1);
	launch(&test, both, test.one, 0);
	launch(&test, both, test.two, 0);
	finish(&test, "missing-fence raw possible 1-2");
}

/* A barrier of the grid: nobody else stores there. */
static void a_kernel_that_waits_for_itself_is_not(void **unused)
{
	struct test test;
	int64_t barrier;

	(void)unused;
	begin(&test);
	barrier = waiting(&test, "load");
	add_claim(&test, barrier, "atomic", FLAG, FLAG_END, 0);
	launch(&test, test.writer, test.one, 0);
	launch(&test, barrier, test.two, 0);
	launch(&test, test.writer, test.one, 0);
	finish(&test, "missing-fence raw certain 1-2, missing-fence war certain 2-3");
}

/* As a stream's wait for a value: it is not known who lets it go on. */
static void what_follows_a_wait_for_others_is_ordered_by_them(void **unused)
{
	struct test test;

	(void)unused;
	begin(&test);
	launch(&test, test.writer, test.one, 0);
	launch(&test, waiting(&test, "load"), test.two, 0);
	launch(&test, test.reader, test.two, 0);
	finish(&test, "");
	begin(&test); /* work submitted later may still have let it go on */
	launch(&test, waiting(&test, "load"), test.two, 0);
	launch(&test, test.reader, test.two, 0);
	launch(&test, test.writer, test.one, 0);
	finish(&test, "missing-fence war possible 2-3");
	begin(&test); /* so it is of a stream's own wait */
	MINI_CALL(&test.m, .type = CALL_cuStreamWaitValue32_v2, .at = test.t, .stream = test.two);
	test.t += 10;
	launch(&test, test.reader, test.two, 0);
	launch(&test, test.writer, test.one, 0);
	finish(&test, "missing-fence war possible 2-3");
	begin(&test); /* work before it does not wait */
	launch(&test, test.reader, test.two, 0);
	launch(&test, test.writer, test.one, 0);
	launch(&test, waiting(&test, "load"), test.two, 0);
	finish(&test, "missing-fence war certain 1-2");
}

/* --- memory of libraries --- */

enum { LIBRARY_SITE = 1, PROGRAM_SITE };

/* A site in cuBLAS, which has the runtime linked in, and one in the program. */
static void add_sites(struct test *test)
{
	struct mini *m = &test->m;

	mini_site(m, "multiply", 1);
	mini_site(m, "allocate", 2);
	mini_exec(m,
		"INSERT INTO module VALUES (1, 1, 0, 10, 0, '/usr/lib/libcublas.so.13.1', NULL)");
	mini_exec(m,
		"INSERT INTO module VALUES (2, 1, 10, 20, 0, '/usr/lib/libcudart.so.13', NULL)");
	mini_exec(m, "INSERT INTO module VALUES (3, 1, 20, 30, 0, '/usr/bin/app', NULL)");
	mini_exec(m,
		"INSERT INTO frame (site, depth, address, module, user) VALUES (1, 0, 12, 2, 0), "
		"(1, 1, 5, 1, 0), (1, 2, 25, 3, 1), (2, 0, 12, 2, 0), (2, 1, 26, 3, 1)");
}

/*
 * Two of a library's kernels, in two streams, on memory that was allocated at a site.  Their blocks
 * may wait for each other there.
 */
static void share_workspace(struct test *test, int64_t allocated, int64_t launched, int waits)
{
	int64_t call, kernel;

	begin(test);
	add_sites(test);
	call = MINI_CALL(&test->m, .type = CALL_cuMemAlloc_v2, .at = test->t, .site = allocated,
		.bytes = BYTES, .ptr = ADDRESS);
	test->t += 10;
	mini_exec(&test->m, "UPDATE allocation SET created = %lld WHERE id = %d", (long long)call,
		MEMORY);
	kernel = waits ? telling(test) : test->writer;
	if (waits)
		add_claim(test, kernel, "load", FLAG, FLAG_END, 1);
	launch(test, kernel, test->one, 0);
	launch(test, kernel, test->two, 0);
	mini_exec(&test->m, "UPDATE call SET site = %lld WHERE id > %lld", (long long)launched,
		(long long)call);
}

static void a_library_keeps_its_own_memory_apart(void **unused)
{
	struct test test;

	(void)unused;
	share_workspace(&test, LIBRARY_SITE, LIBRARY_SITE, 0);
	finish(&test, "missing-fence waw possible 2-3");
	/* The program gave it this memory, so the program has to order it. */
	share_workspace(&test, PROGRAM_SITE, LIBRARY_SITE, 0);
	finish(&test, "missing-fence waw certain 2-3");
	/* As is what a library allocated for the program. */
	share_workspace(&test, LIBRARY_SITE, PROGRAM_SITE, 0);
	finish(&test, "missing-fence waw certain 2-3");
	share_workspace(&test, PROGRAM_SITE, PROGRAM_SITE, 0);
	finish(&test, "missing-fence waw certain 2-3");
}

/* As split-K does by flags in its workspace: the calls know nothing of each other. */
static void calls_of_a_library_do_not_tell_each_other(void **unused)
{
	struct test test;

	(void)unused;
	share_workspace(&test, PROGRAM_SITE, LIBRARY_SITE, 1);
	finish(&test, "missing-fence raw certain 2-3");
	share_workspace(&test, LIBRARY_SITE, LIBRARY_SITE, 1);
	finish(&test, "missing-fence raw possible 2-3");
	share_workspace(&test, PROGRAM_SITE, PROGRAM_SITE, 1);
	finish(&test, "missing-fence raw possible 2-3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_that_tell_each_other_are_ordered),
		cmocka_unit_test(a_kernel_that_waits_for_itself_is_not),
		cmocka_unit_test(what_follows_a_wait_for_others_is_ordered_by_them),
		cmocka_unit_test(a_library_keeps_its_own_memory_apart),
		cmocka_unit_test(calls_of_a_library_do_not_tell_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
