/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs so small that what a fix saves is known by hand.  Between calls the host takes 2 us, a
 * launch 2, an operation starts 6 us after its launch or 1 us after what it comes after, and a wait
 * returns 3 us after what it waited for.
 */
#ifndef CUFENCE_TESTS_REPLAY_RUN_H
#define CUFENCE_TESTS_REPLAY_RUN_H

#include "miniature.h"

#include "analyze.h"
#include "replay.h"
#include "run_columns.h"
#include "savings.h"

#define LAUNCH_US 6
#define HANDOVER_US 1
#define WAKE_US 3
/* The time that a cudaFree takes by itself. */
#define FREE_US 40

struct small_run {
	struct mini mini;
	double now, last; /* us: the host's time, the end of all work */
	double tail[8];   /* by stream */
	int64_t site, kernel;
	int64_t thread; /* that submits; 0: the first */
};

static int setup(void **state)
{
	struct small_run *run = calloc(1, sizeof(*run));

	mini_init(&run->mini);
	run->now = 10;
	run->kernel = mini_kernel(&run->mini, "work");
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct small_run *run = *state;

	mini_release(&run->mini);
	free(run);
	return 0;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

/* An operation in a stream, after what else it comes after. */
static int64_t submit(struct small_run *run, int type, int64_t stream, double length, double after,
	int64_t site)
{
	double start = later(later(run->tail[stream], after) + HANDOVER_US, run->now + LAUNCH_US);
	int64_t call = MINI_CALL(&run->mini, .type = type, .at = run->now, .stream = stream,
		.thread = run->thread, .site = site,
		.kernel = type == CALL_cuLaunchKernel ? run->kernel : 0,
		.direction = type == CALL_cuMemcpyHtoDAsync_v2 ? 1 + COPY_H2D : 0,
		.src = type == CALL_cuMemcpyHtoDAsync_v2 ? "pinned" : NULL,
		.dst = type == CALL_cuMemcpyHtoDAsync_v2 ? "device" : NULL, .bytes = 4096,
		.grid = CALL_GRID(8, 1, 1), .block = CALL_BLOCK(256, 1, 1, 0),
		.runs = { start, start + length });

	run->tail[stream] = start + length;
	run->last = later(run->last, start + length);
	run->now += 4;
	return call;
}

static int64_t launch(struct small_run *run, int64_t stream, double length)
{
	return submit(run, CALL_cuLaunchKernel, stream, length, 0, 0);
}

/* Returns once everything is complete. */
static int64_t wait_all(struct small_run *run, int type, int64_t site)
{
	double own = type == CALL_cuMemFree_v2 ? FREE_US : 2;
	double until = run->last > run->now + own ? run->last + WAKE_US : run->now + own;
	int64_t call;

	if (type == CALL_cuMemFree_v2 && run->last > run->now)
		until = later(until, run->last + FREE_US);
	call = MINI_CALL(&run->mini, .type = type, .at = run->now, .until = until, .site = site,
		.ptr = 0x10000);
	run->now = until + 2;
	return call;
}

static int64_t number_of(struct db *db, const char *sql, int64_t row)
{
	char text[256];

	snprintf(text, sizeof(text), sql, (long long)row);
	return db_int(db, text, 0);
}

#define OF_WAIT(what) number_of(db, "SELECT " what " FROM wait WHERE id = %lld", row)
#define OF_HOLD(what) number_of(db, "SELECT " what " FROM hold WHERE rowid = %lld", row)

/* The run in columns, with the evidence that analyze() left in the tables. */
static void open_columns(struct db *db)
{
	struct run_evidence *evidence;

	db->run = run_open(db);
	assert_non_null(db->run);
	evidence = &db->run->evidence;
	for (int64_t row = 1; row <= db_int(db, "SELECT max(id) FROM wait", 0); row++)
		assert_int_equal(run_add_wait(evidence,
					 &(struct run_wait){ .call = (uint32_t)OF_WAIT("call"),
						 .op = (uint32_t)OF_WAIT("op"),
						 .behind = (uint32_t)OF_WAIT("behind"),
						 .kind = OF_WAIT("kind = 'staged'") ? WAIT_STAGED
										    : WAIT_EXPLICIT,
						 .waited = OF_WAIT("waited") }),
			0);
	for (int64_t row = 1; row <= db_int(db, "SELECT max(rowid) FROM hold", 0); row++)
		assert_int_equal(run_add_hold(evidence,
					 &(struct run_hold){ .op = (uint32_t)OF_HOLD("op"),
						 .behind = (uint32_t)OF_HOLD("behind"),
						 .via = (uint32_t)OF_HOLD("via"),
						 .reason = OF_HOLD("reason IN ('legacy', 'event')")
							 ? HOLD_LEGACY
							 : HOLD_UNKNOWN }),
			0);
}

/* us that a change of a call saves, rounded. */
static int saved(struct small_run *run, int64_t call, unsigned change, int64_t still_needs,
	enum replay_contention contention)
{
	struct savings *savings;
	struct replay *replay;
	int64_t before, after;

	assert_int_equal(analyze(&run->mini.db), 0);
	open_columns(&run->mini.db);
	savings = savings_open(&run->mini.db);
	assert_non_null(savings);
	replay = idmap_get(&savings->processes, 1);
	assert_null(replay->refusal);
	before = replay_run(replay, contention);
	assert_in_range(before, replay->measured - 2000, replay->measured + 2000);
	replay_change(replay, call, change, still_needs);
	after = replay_run(replay, contention);
	replay_restore(replay);
	assert_int_equal(replay_run(replay, contention), before);
	savings_close(savings);
	run_close(run->mini.db.run);
	run->mini.db.run = NULL;
	return (int)((before - after + (before > after ? 500 : -500)) / 1000);
}

static void near(int us, int expected, int slack)
{
	if (us < expected - slack || us > expected + slack)
		fail_msg("%d us are saved and not about %d", us, expected);
}

#endif
