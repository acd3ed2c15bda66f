/* SPDX-License-Identifier: Apache-2.0 */
/* small-copies: results that a line copies to the host one by one. */
#include "miniature.h"

enum { TURNS = 6, TURN_US = 1000, WORK_US = 100, COPY_US = 10 };

/* A turn launches a kernel and copies results by one line. */
struct turns {
	int64_t stream, site;
	int copies, waits, launches;
	int64_t bytes;
};

static struct turns turns(struct mini *m)
{
	return (struct turns){ .stream = mini_stream(m, "blocking"),
		.site = mini_site(m, "read", 10),
		.copies = 20,
		.bytes = 4 };
}

static double launch(struct mini *m, const struct turns *t, double at)
{
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .stream = t->stream, .at = at,
		.runs = { at + 6, at + 6 + WORK_US });
	return at + 10;
}

static double copy(struct mini *m, const struct turns *t, double at, double ready)
{
	double start = at + 5 > ready ? at + 5 : ready, end = start + 2;

	MINI_CALL(m, .type = t->waits ? CALL_cuMemcpyDtoHAsync_v2 : CALL_cuMemcpyDtoH_v2,
		.stream = t->stream, .at = at, .until = t->waits ? at + 2 : end + 3,
		.site = t->site, .bytes = t->bytes, .direction = 1 + COPY_D2H, .src = "device",
		.dst = t->waits ? "pinned" : "pageable", .runs = { start, end });
	if (t->waits)
		MINI_CALL(m, .type = CALL_cuStreamSynchronize, .stream = t->stream, .at = at + 3,
			.until = end + 3, .site = t->site);
	return end + 4;
}

static const char *found(struct mini *m, const struct turns *t)
{
	for (int i = 0; i < TURNS; i++) {
		double at = launch(m, t, 10 + (double)i * TURN_US), ready = at - 4 + WORK_US;

		for (int k = 0; k < t->copies; k++) {
			if (t->launches)
				at = launch(m, t, at), ready = at - 4 + WORK_US;
			at = copy(m, t, at, ready);
		}
	}
	assert_int_equal(analyze(&m->db), 0);
	return mini_text(m,
		"SELECT f.rule || ' ' || f.confidence || ' ' || f.count || ' ' || s.line"
		" FROM finding f JOIN site s ON s.id = f.site WHERE rule = 'small-copies'");
}

/* The first and the last of each 20 remain. */
static void copies_in_a_row_are_found(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	assert_string_equal(found(m, &t), "small-copies likely 108 10");
	assert_string_equal(mini_text(m, "SELECT message FROM finding WHERE rule = 'small-copies'"),
		"cuMemcpyDtoH is one of 20 small copies to the host in a row, and nothing is "
		"submitted in between");
	/* 18 times 10 to 11 us in each of 6 turns. */
	assert_in_range(mini_int(m, "SELECT saving FROM finding WHERE rule = 'small-copies'"),
		108 * 9500, 108 * 11500);
}

static void copies_that_are_waited_for_are_found_with_their_waits(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	/* The host's time between a copy and its wait remains. */
	t.waits = 1;
	assert_string_equal(found(m, &t), "small-copies likely 108 10");
	assert_in_range(mini_int(m, "SELECT saving FROM finding WHERE rule = 'small-copies'"),
		108 * 8500, 108 * 9500);
}

static void two_copies_are_no_row(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	t.copies = 2;
	assert_string_equal(found(m, &t), "");
}

static void large_copies_are_not_small(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	t.bytes = 1 << 20;
	assert_string_equal(found(m, &t), "");
}

/* The next launch may depend on what the host has read. */
static void launches_in_between_end_a_row(void **state)
{
	struct mini *m = *state;
	struct turns t = turns(m);

	t.launches = 1;
	t.copies = 4;
	assert_string_equal(found(m, &t), "");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		TEST(copies_in_a_row_are_found),
		TEST(copies_that_are_waited_for_are_found_with_their_waits),
		TEST(two_copies_are_no_row),
		TEST(large_copies_are_not_small),
		TEST(launches_in_between_end_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
