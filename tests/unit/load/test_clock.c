/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "load_clock.h"

#define ORIGIN 1700000000000000000

static struct calibration_record pairs[] = {
	{ .ticks = 1000, .realtime_ns = ORIGIN + 500, .cupti_ns = ORIGIN + 490, .gap_ticks = 40 },
	{ .ticks = 3000, .realtime_ns = ORIGIN + 1500, .cupti_ns = ORIGIN + 1500, .gap_ticks = 90 },
	{ .ticks = 5000, .realtime_ns = ORIGIN + 2700, .cupti_ns = ORIGIN + 2710, .gap_ticks = 20 },
};

static struct clock clock_of(uint32_t kind, size_t count, uint64_t first_tick)
{
	const struct calibration_record *list[] = { &pairs[2], &pairs[0], &pairs[1] };
	struct clock clock;

	clock_init(&clock, kind, ORIGIN, 100, list, count, first_tick);
	return clock;
}

TEST(between_calibrations_times_are_interpolated)
{
	struct clock clock = clock_of(CLOCK_TICKS_TSC, 3, 1000);

	assert_int_equal(clock_host_ns(&clock, 1000), 500);
	assert_int_equal(clock_host_ns(&clock, 2000), 1000);
	assert_int_equal(clock_host_ns(&clock, 3000), 1500);
	assert_int_equal(clock_host_ns(&clock, 4000), 2100);
	assert_int_equal(clock_device_ns(&clock, ORIGIN + 490), 500);
	assert_int_equal(clock_device_ns(&clock, ORIGIN + 995), 1000);
	assert_false(clock.estimated);
	clock_release(&clock);
}

TEST(beyond_the_ends_the_mean_rate_goes_on)
{
	struct clock clock = clock_of(CLOCK_TICKS_TSC, 3, 0);

	/* 2200 ns in 4000 ticks. */
	assert_int_equal(clock_host_ns(&clock, 0), 500 - 550);
	assert_int_equal(clock_host_ns(&clock, 9000), 2700 + 2200);
	/* The widest bracket of 90 ticks. */
	assert_in_range(clock.error, 49, 50);
	clock_release(&clock);
}

TEST(a_single_pair_is_enough_where_ticks_are_nanoseconds)
{
	struct clock clock = clock_of(CLOCK_TICKS_MONOTONIC, 1, 4000);

	assert_int_equal(clock_host_ns(&clock, 5000), 2700);
	assert_int_equal(clock_host_ns(&clock, 4000), 1700);
	assert_int_equal(clock_host_ns(&clock, 6000), 3700);
	assert_false(clock.estimated);
	clock_release(&clock);
}

TEST(a_counter_with_one_pair_is_marked_as_estimated)
{
	struct clock clock = clock_of(CLOCK_TICKS_TSC, 1, 4000);

	assert_true(clock.estimated);
	assert_int_equal(clock_host_ns(&clock, 5000), 2700);
	assert_true(clock_host_ns(&clock, 1000000) > clock_host_ns(&clock, 5000));
	clock_release(&clock);
}

TEST(without_any_pair_the_first_tick_is_the_start)
{
	struct clock clock = clock_of(CLOCK_TICKS_MONOTONIC, 0, 4000);

	assert_int_equal(clock_host_ns(&clock, 4000), 100);
	assert_int_equal(clock_host_ns(&clock, 4500), 600);
	assert_int_equal(clock_device_ns(&clock, ORIGIN + 700), 700);
	clock_release(&clock);
}

/* The wall clock of the calibrations says nothing about virtual time. */
TEST(virtual_time_runs_at_rate_one_from_the_start)
{
	struct clock clock = clock_of(CLOCK_TICKS_VIRTUAL, 3, 2000);

	assert_int_equal(clock_host_ns(&clock, 1000), 100);
	assert_int_equal(clock_host_ns(&clock, 5000), 4100);
	assert_int_equal(clock_device_ns(&clock, ORIGIN + 2710), 4100);
	clock_release(&clock);
}

TEST(a_clock_set_back_keeps_time_monotonic)
{
	struct calibration_record back = { .ticks = 4000, .realtime_ns = ORIGIN + 900 };
	const struct calibration_record *list[] = { &pairs[0], &pairs[1], &back, &pairs[2] };
	struct clock clock;

	clock_init(&clock, CLOCK_TICKS_TSC, ORIGIN, 0, list, 4, 0);
	for (uint64_t tick = 0; tick < 6000; tick += 100)
		assert_true(clock_host_ns(&clock, tick) < clock_host_ns(&clock, tick + 100));
	clock_release(&clock);
}

/* Two years from the run, a calibration or a tick is none. */
TEST(what_cannot_be_is_no_time)
{
	struct calibration_record far = { .ticks = 9000, .realtime_ns = ORIGIN + 2 * CLOCK_MOST };
	const struct calibration_record *list[] = { &pairs[0], &pairs[1], &pairs[2], &far };
	struct clock clock;

	clock_init(&clock, CLOCK_TICKS_TSC, ORIGIN, 0, list, 4, 0);
	assert_int_equal(clock.refused, 1);
	assert_int_equal(clock_host_ns(&clock, 9000), 2700 + 2200);
	assert_true(clock_host_ns(&clock, UINT64_MAX) == CLOCK_NONE);
	assert_true(clock_host_ns(&clock, (uint64_t)1 << 57) == CLOCK_NONE);
	assert_true(clock_device_ns(&clock, 0) == CLOCK_NONE);
	clock_release(&clock);
}
