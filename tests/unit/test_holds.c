/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the device made operations wait for: table hold, and the rules made of it.
 */
#include "miniature.h"

#include "analyze.h"

static int setup(void **state)
{
	struct mini *m = malloc(sizeof(*m));

	mini_init(m);
	*state = m;
	return 0;
}

static int teardown(void **state)
{
	mini_release(*state);
	free(*state);
	return 0;
}

/* The findings shown, "rule count" each. */
static const char *shown(struct mini *m)
{
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m, "SELECT ifnull(group_concat(rule || ' ' || count, ', '), '') "
		"FROM finding WHERE shown");
}

static int64_t launch(struct mini *m, double at, int64_t stream, int64_t site, double start,
	double end)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = stream, .site = site,
		.runs = { start, end }, .grid = CALL_GRID(8, 1, 1),
		.block = CALL_BLOCK(256, 1, 1, 0));
}

/* Five times a kernel, a call in the legacy stream, and a kernel in another blocking stream that
 * starts gap us after the first one's end. */
static void legacy_call_between(struct mini *m, int type, double gap)
{
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t site = mini_site(m, "advance", 20), other = mini_site(m, "report", 29);
	int64_t event = mini_event(m);

	for (int i = 0; i < 5; i++) {
		double t = 20000 * i;

		launch(m, t + 10, a, site, t + 20, t + 1000);
		MINI_CALL(m, .type = type, .at = t + 14, .stream = MINI_LEGACY, .site = other,
			.event = type == CALL_cuEventRecord ? event : 0);
		launch(m, t + 18, b, site, t + 1000 + gap, t + 2000 + gap);
		MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 22, .until = t + 2003 + gap);
	}
}

/* A host function takes its time between the two, of which the device records nothing. */
static void a_host_function_in_the_legacy_stream_is_found(void **state)
{
	struct mini *m = *state;

	legacy_call_between(m, CALL_cuLaunchHostFunc, 60);
	assert_string_equal(shown(m), "legacy-stream-serialization 5");
	assert_string_equal(mini_text(m, "SELECT a.line || ' ' || b.line FROM finding "
		"JOIN site a ON a.id = site JOIN site b ON b.id = other_site"), "29 20");
	assert_int_equal(mini_int(m, "SELECT held / 1000 FROM hold LIMIT 1"), 1031);
}

/* What came after a long host function may have had other reasons, too. */
static void of_a_late_start_after_a_host_function_only_the_sure_part_counts(void **state)
{
	struct mini *m = *state;

	legacy_call_between(m, CALL_cuLaunchHostFunc, 3000);
	assert_string_equal(shown(m), "legacy-stream-serialization 5");
	assert_int_equal(mini_int(m, "SELECT held / 1000 FROM hold LIMIT 1"), 971);
}

static void a_late_start_after_an_event_record_is_something_else(void **state)
{
	struct mini *m = *state;

	legacy_call_between(m, CALL_cuEventRecord, 60);
	assert_string_equal(shown(m), "");
}

#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(a_host_function_in_the_legacy_stream_is_found),
		T(of_a_late_start_after_a_host_function_only_the_sure_part_counts),
		T(a_late_start_after_an_event_record_is_something_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
