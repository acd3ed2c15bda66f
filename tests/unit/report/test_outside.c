/* SPDX-License-Identifier: Apache-2.0 */
/* What the report says of the host while a device idles: its functions, and the largest cause. */
#include "miniature.h"

#include "account.h"
#include "report_facts.h"
#include "report_parts.h"

enum { TURNS = 8 };

/* A line of one function of a script, in its loop. */
static int64_t line(struct mini *m, const char *function, int code, int number)
{
	int64_t site = mini_site(m, function, number);

	mini_exec(m,
		"INSERT INTO frame (site, depth, address, function, file, line, user, loop) VALUES"
		" (%lld, 1, (1 << 63) | (1 << 32) | 5, 'main', '/home/me/gen.py', 5, 1, 4),"
		" (%lld, 0, (1 << 63) | (%d << 32) | %d, '%s',"
		"  '/x/site-packages/pack/model.py', %d, 0, NULL)",
		(long long)site, (long long)site, code, number, function, number);
	return site;
}

static void expect_report(struct mini *m, const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(account_measure(&m->db), 0);
	assert_int_equal(report_functions(&m->db), 0);
	assert_int_equal(report_account(&m->db, out), 0);
	fclose(out);
	if (!strstr(text, wanted))
		print_error("not in:\n%s", text);
	assert_non_null(strstr(text, wanted));
	free(text);
}

/* Turns of three launches by one function, with these times in us before the second and third. */
static void turns(struct mini *m, double second, double alloc, double third, int copies)
{
	int64_t site[4];
	double at = 100;

	for (int i = 0; i < 4; i++)
		site[i] = line(m, "Layer.forward", 2, 10 + i);
	for (int turn = 0; turn < TURNS; turn++) {
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = 1, .site = site[0],
			.runs = { at + 4, at + 8 });
		at += 2 + second;
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = 1, .site = site[1],
			.runs = { at + 4, at + 8 });
		at += 10;
		MINI_CALL(m, .type = CALL_cuMemAlloc_v2, .at = at, .until = at + alloc,
			.site = site[2]);
		at += alloc + third;
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = 1, .site = site[3],
			.runs = { at + 4, at + 8 });
		at += 30;
	}
	if (copies)
		mini_exec(m,
			"UPDATE operation SET kind = 'memcpy', bytes = 64, copy_kind = 8"
			" WHERE id %% 3 = 0");
}

static void submissions_are_the_pace(void **state)
{
	struct mini *m = *state;

	turns(m, 30, 1, 30, 0);
	expect_report(m, "not because of waits: use fewer and larger operations, or a CUDA graph");
}

static void a_function_is_the_pace(void **state)
{
	struct mini *m = *state;

	turns(m, 500, 1, 30, 0);
	expect_report(m, "us of it in Layer.forward (pack/model.py:11): do that while");
}

static void a_call_is_the_pace(void **state)
{
	struct mini *m = *state;

	turns(m, 30, 400, 30, 0);
	expect_report(m,
		"400 us of it in cuMemAlloc_v2 at mini.cu:12: make that call once, "
		"before the loop");
}

/* Between turns the time is that of the loop in main; within them the function's. */
static void time_has_functions(void **state)
{
	struct mini *m = *state;

	turns(m, 60, 1, 60, 0);
	expect_report(m,
		"    outside CUDA: 116 us of 135 us in Layer.forward (pack/model.py:13), "
		"19 us in main (gen.py:5)\n");
}

static void copies_may_never_overlap_kernels(void **state)
{
	struct mini *m = *state;

	turns(m, 30, 1, 30, 1);
	expect_report(m,
		"    busy     the device runs kernels for 8.0 us a turn, copies for 4.0 us, "
		"never both at once\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(submissions_are_the_pace, mini_setup,
			mini_teardown),
		cmocka_unit_test_setup_teardown(a_function_is_the_pace, mini_setup, mini_teardown),
		cmocka_unit_test_setup_teardown(a_call_is_the_pace, mini_setup, mini_teardown),
		cmocka_unit_test_setup_teardown(time_has_functions, mini_setup, mini_teardown),
		cmocka_unit_test_setup_teardown(copies_may_never_overlap_kernels, mini_setup,
			mini_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
