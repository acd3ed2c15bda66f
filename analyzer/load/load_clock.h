/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a trace's two time scales to the database's: nanoseconds since the run's start.
 *
 * The recorder's clock pairs its ticks, CLOCK_REALTIME and CUPTI's time about once a second.
 * Between two calibrations times are interpolated linearly; before the first and after the last
 * one the mean rate of the whole trace goes on, because the last pair may be microseconds apart.
 * A trace with a single calibration (a process killed in its first second) has no rate of its
 * own: monotonic and virtual clocks count nanoseconds, and for the TSC this machine's rate is
 * measured, which is right where "cufence run" loads what it has just recorded; such a clock is
 * marked as estimated.  Under the simulator's virtual clock the wall clock means nothing: the
 * rate is one, the first tick seen is the process's start.
 */
#ifndef CUFENCE_LOAD_CLOCK_H
#define CUFENCE_LOAD_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

/* A piecewise linear function: points with strictly growing x. */
struct clock_scale {
	struct clock_point {
		uint64_t x;
		int64_t y;
	} * point;
	size_t count;
	double rate; /* ns per unit of x beyond the ends */
};

/*
 * No time is further from the run's start (2^55 ns are 417 days), and no durations come to more in
 * sum over all threads and processes: sums and differences of what is loaded fit an int64_t.
 */
#define CLOCK_MOST ((int64_t)1 << 55)
#define CLOCK_MOST_SUM ((int64_t)1 << 58)
#define CLOCK_NONE INT64_MIN /* no time */

/* A trace's start_ns is CLOCK_REALTIME ns up to the year 2043, or a virtual clock's. */
#define CLOCK_MOST_START ((uint64_t)1 << 61)

struct clock {
	struct clock_scale ticks;  /* the recorder's ticks -> ns since the run's start */
	struct clock_scale device; /* CUPTI ns -> ns since the run's start */
	int64_t error;             /* widest calibration bracket, ns */
	int estimated;             /* 1: the rate of the ticks is this machine's */
	size_t refused;            /* calibrations whose time cannot be */
};

/*
 * Builds both scales.  origin is CLOCK_REALTIME ns of time 0, start when the process began;
 * first_tick, the earliest tick seen, stands for start if there is no calibration at all.  0, or
 * -1 when out of memory.
 */
int clock_init(struct clock *clock, uint32_t kind, int64_t origin, int64_t start,
	const struct calibration_record *const *calibration, size_t count, uint64_t first_tick);

/* Each CLOCK_NONE if that is no time. */
int64_t clock_host(const struct clock *clock, uint64_t ticks);
int64_t clock_device(const struct clock *clock, uint64_t cupti_ns);

void clock_release(struct clock *clock);

#endif
