/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about findings that hold however many lines make the mistake. In the program, each function
 * launches a kernel, frees memory at once and computes; it runs as it is and with all functions
 * fixed. Also: when an estimate of zero hides a finding.
 */
#include <math.h>

#include "miniature.h"

#include "findings_parts.h"
#include "run_length.h"

/* A free takes 40 us where nothing is pending (waits.def). */
enum { KERNEL_US = 400, FREE_US = 40, HOST_US = 900, ROUNDS = 4, MOST_FUNCTIONS = 200 };

/* The launch of a function, the free that waits for it, or one in stream order, the host's work. */
static double call_function(struct mini *m, double t, int64_t stream, int64_t launched,
	int64_t freed, int fixed)
{
	double until = t + 4 + (fixed ? FREE_US : 4 + KERNEL_US);
	int64_t user = MINI_CALL(m, .type = CALL___cudaLaunchKernel_13, .at = t, .until = t + 3,
		.site = launched);

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 0.5, .stream = stream, .parent = user,
		.kernel = 1, .runs = { t + 5, t + 5 + KERNEL_US });
	if (fixed) {
		MINI_CALL(m, .type = CALL_cuMemFreeAsync, .at = t + 4, .until = until,
			.stream = stream, .ptr = 0x10000);
	} else {
		user = MINI_CALL(m, .type = CALL_cudaFree_11, .at = t + 4, .until = until + 1,
			.site = freed);
		MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = t + 4.5, .until = until,
			.parent = user, .ptr = 0x10000);
	}
	return until + HOST_US;
}

/* Each function is called in each round. How long it takes, ns. */
static int64_t program(struct mini *m, int functions, int fixed)
{
	int64_t stream = mini_stream(m, "non-blocking"), launched[MOST_FUNCTIONS];
	int64_t freed[MOST_FUNCTIONS];
	double t = 10;

	mini_kernel(m, "work");
	for (int i = 0; i < functions; i++) {
		char name[32];

		snprintf(name, sizeof(name), "stage_%d", i);
		launched[i] = mini_site(m, name, 10 * i + 1);
		freed[i] = mini_site(m, name, 10 * i + 2);
	}
	for (int i = 0; i < ROUNDS * functions; i++)
		t = call_function(m, t, stream, launched[i % functions], freed[i % functions],
			fixed);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t, .until = t + 5);
	return mini_int(m, "SELECT max(exit) - min(enter) FROM call");
}

static void expect_near(int64_t value, int64_t wanted, double part)
{
	if (fabs((double)(value - wanted)) > part * (double)wanted)
		fail_msg("%lld is not %lld", (long long)value, (long long)wanted);
}

static int64_t duration_of_fixed(int functions)
{
	struct mini m;
	int64_t duration;

	mini_init(&m);
	duration = program(&m, functions, 1);
	assert_string_equal(mini_shown(&m), "");
	mini_release(&m);
	return duration;
}

/* Only the choice of the worst instance may differ. */
/* clang-format off */
#define WORDS "SELECT group_concat(rule || confidence || severity || substr(message, 1, 50) || " \
	"(saving_low IS NULL), '; ') FROM finding WHERE shown"
/* clang-format on */

static void is_one_finding(int functions)
{
	int64_t saved = -duration_of_fixed(functions);
	struct mini m;

	mini_init(&m);
	saved += program(&m, functions, 0);
	assert_int_equal(analyze(&m.db), 0);
	assert_string_equal(mini_text(&m, WORDS),
		"blocking-freecertainhighcudaFree waited 364 us "
		"for kernel 'work' on stream0");
	/* After the last one nothing is left to do. */
	assert_int_equal(mini_int(&m, "SELECT count FROM finding"), functions * ROUNDS - 1);
	expect_near(mini_int(&m, "SELECT saving FROM finding"), saved, 0.05);
	assert_int_equal(mini_int(&m,
				 "SELECT replay.saving = finding.saving AND replay.share = "
				 "finding.share FROM replay, finding"),
		1);
	/* Each line is there, by what it saves alone; together they save no more than their sum. */
	assert_int_equal(mini_int(&m, "SELECT count(saving) FROM finding_place"), functions);
	assert_int_equal(
		mini_int(&m,
			"SELECT count(*) FROM (SELECT saving > "
			"lag(saving) OVER (ORDER BY id) AS more FROM finding_place) WHERE more"),
		0);
	assert_int_equal(
		mini_int(&m,
			"SELECT finding.saving <= sum(p.saving) "
			"AND sum(p.count) = finding.count AND sum(p.waited) = finding.waited "
			"AND abs(sum(p.share) - finding.share) < 1e-9 "
			"FROM finding, finding_place p"),
		1);
	mini_release(&m);
}

static void so_many_functions_are_one_finding(void **state)
{
	const int functions[] = { 20, 40, 80, MOST_FUNCTIONS };

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		is_one_finding(functions[i]);
}

/* One short wait at each of many lines is no pattern: programs begin and end so. */
static void once_at_each_line_is_no_finding(void **state)
{
	struct mini m;
	int64_t stream;
	double t = 10;

	mini_init(&m);
	stream = mini_stream(&m, "non-blocking");
	mini_kernel(&m, "work");
	for (int i = 0; i < 6; i++)
		t = call_function(&m, t, stream, mini_site(&m, "start", 10 * i + 1),
			mini_site(&m, "start", 10 * i + 2), 0);
	MINI_CALL(&m, .type = CALL_cuCtxSynchronize, .at = t, .until = t + 5);
	assert_int_equal(analyze(&m.db), 0);
	assert_int_equal(mini_int(&m, "SELECT count(*) FROM wait WHERE kind = 'implicit'"), 6);
	assert_string_equal(mini_shown(&m), "");
	mini_release(&m);
}

/* Among lines that cost much, one that costs little is counted, but not listed. */
static void a_lesser_line_is_not_listed(void **state)
{
	struct mini m;
	int64_t stream, launched[2], freed[2];
	double t = 10;

	mini_init(&m);
	stream = mini_stream(&m, "non-blocking");
	mini_kernel(&m, "work");
	for (int i = 0; i < 2; i++) {
		launched[i] = mini_site(&m, "stage", 10 * i + 1);
		freed[i] = mini_site(&m, "stage", 10 * i + 2);
	}
	for (int i = 0; i < 45; i++)
		t = call_function(&m, t, stream, launched[i % 15 == 0], freed[i % 15 == 0], 0);
	MINI_CALL(&m, .type = CALL_cuCtxSynchronize, .at = t, .until = t + 5);
	assert_int_equal(analyze(&m.db), 0);
	assert_string_equal(
		mini_text(&m,
			"SELECT group_concat(s.line || ' ' || p.shown || ' ' || "
			"p.count, ', ') FROM (SELECT * FROM finding_place ORDER BY id) p "
			"JOIN site s "
			"ON s.id = p.site"),
		"2 1 41, 12 0 3");
	assert_int_equal(mini_int(&m, "SELECT count FROM finding"), 44);
	mini_release(&m);
}

/*
 * Rounds of two kernels of 1 ms whose streams share no memory, with event records of so many lines
 * in the legacy stream between them.  The host waits for both, or computes for longer.
 */
static void rounds_with_records(struct mini *m, int lines, int waits)
{
	int64_t a = mini_stream(m, "blocking"), b = mini_stream(m, "blocking");
	int64_t kernel = mini_kernel(m, "work"), site = mini_site(m, "step", 7);
	int64_t event = mini_event(m), at[MOST_FUNCTIONS];
	double until = 10;

	for (int i = 0; i < lines; i++)
		at[i] = mini_site(m, "mark", 10 * i + 1);
	for (int i = 0; i < 5; i++) {
		double t = until, end = t + 2010;

		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t, .stream = a, .site = site,
			.kernel = kernel, .runs = { t + 6, t + 1006 });
		for (int k = 0; k < lines; k++)
			MINI_CALL(m, .type = CALL_cuEventRecord, .at = (t += 3), .event = event,
				.stream = MINI_LEGACY, .site = at[k]);
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = t + 3, .stream = b, .site = site,
			.kernel = kernel, .runs = { end - 1003, end - 3 });
		if (waits)
			MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = t + 6, .until = end);
		until = end + (waits ? 2 : 2000);
	}
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = until, .until = until + 3);
}

/* The findings shown: rule, ms saved, whether by a replay. */
static void expect_estimate(int lines, int waits, const char *expected)
{
	struct mini m;

	mini_init(&m);
	rounds_with_records(&m, lines, waits);
	assert_int_equal(analyze(&m.db), 0);
	assert_int_equal(mini_int(&m, "SELECT delayed > 4500000 FROM finding"), 1);
	assert_string_equal(
		mini_text(&m,
			"SELECT printf('%s %.1f %s', rule, saving / 1e6, "
			"iif(saving_low IS NULL, 'at most', 'replayed')) FROM finding WHERE shown"),
		expected);
	assert_int_equal(mini_int(&m,
				 "SELECT count(saving_low) = count(p.saving) FROM finding f "
				 "JOIN finding_place p ON p.finding = f.id"),
		1);
	mini_release(&m);
}

/*
 * A replay can change no more than nine of twelve records, and the others would keep the order:
 * there is no estimate.
 */
static void a_row_of_too_many_places_has_no_estimate(void **state)
{
	expect_estimate(2, 1, "legacy-stream-serialization 5.0 replayed");
	expect_estimate(12, 1, "legacy-stream-serialization 4.8 at most");
}

/* The second kernel starts 1 ms earlier and the host goes on as before: there the zero is true. */
static void an_estimate_of_zero_hides_a_delay_that_nobody_waits_for(void **state)
{
	expect_estimate(1, 0, "");
	expect_estimate(2, 0, "");
}

/* All is waited in the loop, though 30 us of the 130 are saved before it. */
static void no_turn_saves_more_than_it_takes(void **unused)
{
	struct findings findings = { 0 };
	const struct cost cost = { .count = 10, .waited = 90000, .in_loop = 90000 };
	struct loop_span *loop = idmap_need(&findings.loops, 1, sizeof(*loop));
	struct run_length *run = idmap_need(&findings.runs, 1, sizeof(*run));
	struct part part;

	(void)unused;
	run->whole = 200000;
	*loop = (struct loop_span){ .start = 1000, .until = 101000, .end = 101000, .turns = 10 };
	part = findings_part(&findings, 1, 130000, &cost);
	assert_int_equal(part.turn, 10000);
	assert_float_equal(part.share, 1, 1e-9);
	part = findings_part(&findings, 1, 60000, &cost);
	assert_int_equal(part.turn, 6000);
	idmap_release(&findings.loops, free);
	idmap_release(&findings.runs, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_at_each_line_is_no_finding),
		cmocka_unit_test(a_lesser_line_is_not_listed),
		cmocka_unit_test(a_row_of_too_many_places_has_no_estimate),
		cmocka_unit_test(an_estimate_of_zero_hides_a_delay_that_nobody_waits_for),
		cmocka_unit_test(no_turn_saves_more_than_it_takes),
		cmocka_unit_test(so_many_functions_are_one_finding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
