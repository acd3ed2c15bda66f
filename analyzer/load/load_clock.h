/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a trace's two time scales to the database's: nanoseconds since the run's start.
 *
 * The recorder samples its ticks, CLOCK_REALTIME and CUPTI's time together about once a second.
 * Between two calibrations times are interpolated linearly.  Before the first and after the last
 * one the mean rate of the whole trace applies, because the last pair may be microseconds apart.  A
 * trace with a single calibration (a process killed in its first second) has no rate of its own.
 * Monotonic and virtual clocks count nanoseconds; for the TSC this machine's rate is measured,
 * which is correct when "cufence run" loads its own recording, and the clock is marked as
 * estimated.  With the simulator's virtual clock the wall clock is meaningless: the rate is 1, and
 * the first tick is the process's start.
 */
#ifndef CUFENCE_LOAD_CLOCK_H
#define CUFENCE_LOAD_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

/* A piecewise linear function: points with strictly increasing x. */
struct clock_scale {
	struct clock_point {
		uint64_t x;
		int64_t y;
	} * point;
	size_t count;
	double rate; /* ns per unit of x outside the points */
};

/*
 * Upper limit of all times, relative to the run's start (2^55 ns are 417 days), and of the sum of
 * all durations of all threads and processes: sums and differences of loaded times fit an int64_t.
 * A trace beyond them is refused, or its records are counted as damaged.
 */
#define CLOCK_MOST ((int64_t)1 << 55)
#define CLOCK_MOST_SUM ((int64_t)1 << 58)
#define CLOCK_NONE INT64_MIN /* not a time */

/* Upper limit of start_ns: CLOCK_REALTIME ns up to the year 2043, or a virtual clock's time. */
#define CLOCK_MOST_START ((uint64_t)1 << 61)

struct clock {
	struct clock_scale ticks;  /* the recorder's ticks -> ns since the run's start */
	struct clock_scale device; /* CUPTI ns -> ns since the run's start */
	int64_t error;             /* widest calibration interval, ns */
	int estimated;             /* 1: the tick rate was measured on this machine */
	size_t refused;            /* calibrations with impossible times */
};

/*
 * Builds both scales. origin is CLOCK_REALTIME ns of time 0, start the process's start; first_tick,
 * the earliest tick in the trace, replaces start if there is no calibration.
 */
void clock_init(struct clock *clock, uint32_t kind, int64_t origin, int64_t start,
	const struct calibration_record *const *calibration, size_t count, uint64_t first_tick);

/* Each returns ns since the run's start, CLOCK_NONE for an impossible time. */
int64_t clock_host_ns(const struct clock *clock, uint64_t ticks);
int64_t clock_device_ns(const struct clock *clock, uint64_t cupti_ns);

void clock_release(struct clock *clock);

#endif
