/* SPDX-License-Identifier: Apache-2.0 */
#include "load_clock.h"
#include "memory.h"

#include <stdlib.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

/* Measures ns per tick of this machine's time stamp counter, over 20 ms. */
static double tsc_rate(void)
{
	struct timespec begin, end, pause = { .tv_nsec = 20 * 1000 * 1000 };
	uint64_t ticks;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	ticks = __rdtsc();
	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	ticks = __rdtsc() - ticks;
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
		(double)ticks;
}
#else
static double tsc_rate(void)
{
	return 1;
}
#endif

static int compare_points(const void *a, const void *b)
{
	const struct clock_point *p = a, *q = b;

	return p->x < q->x ? -1 : p->x > q->x;
}

static void scale_add(struct clock_scale *scale, uint64_t x, int64_t y)
{
	*array_push(scale->point, scale->count) = (struct clock_point){ x, y };
}

/* Sorts, drops points that do not increase, and computes the mean rate from two points or more. */
static void scale_finish(struct clock_scale *scale)
{
	struct clock_point *point = scale->point;
	size_t kept = 0;

	if (scale->count)
		qsort(point, scale->count, sizeof(*point), compare_points);
	for (size_t i = 0; i < scale->count; i++)
		if (!kept || (point[i].x > point[kept - 1].x && point[i].y >= point[kept - 1].y))
			point[kept++] = point[i];
	scale->count = kept;
	if (kept >= 2)
		scale->rate = ((double)point[kept - 1].y - (double)point[0].y) /
			((double)point[kept - 1].x - (double)point[0].x);
}

static int64_t time_or_none(__int128 value)
{
	return value > CLOCK_MOST || value < -CLOCK_MOST ? CLOCK_NONE : (int64_t)value;
}

static int64_t beyond(const struct clock_scale *scale, const struct clock_point *end, uint64_t x)
{
	__int128 distance = (__int128)x - end->x;
	double length = (double)distance * scale->rate;

	if (!(length < 2.0 * (double)CLOCK_MOST && length > -2.0 * (double)CLOCK_MOST))
		return CLOCK_NONE;
	/* Integer arithmetic where the rate is 1, without the rounding of a double. */
	if (scale->rate != 1)
		distance = (__int128)length;
	return time_or_none(end->y + distance);
}

/* Returns x * height / width for x less than width. */
static __int128 between(uint64_t x, uint64_t height, uint64_t width)
{
	uint64_t product;

	if (!__builtin_mul_overflow(x, height, &product))
		return product / width;
	return (__int128)((unsigned __int128)x * height / width);
}

static int64_t scale_map(const struct clock_scale *scale, uint64_t x)
{
	const struct clock_point *point = scale->point;
	size_t low = 0, high = scale->count - 1;

	if (!scale->count)
		return 0;
	if (x <= point[0].x)
		return beyond(scale, &point[0], x);
	if (x >= point[high].x)
		return beyond(scale, &point[high], x);
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (point[middle].x <= x)
			low = middle;
		else
			high = middle;
	}
	return time_or_none(point[low].y +
		between(x - point[low].x, (uint64_t)point[high].y - (uint64_t)point[low].y,
			point[high].x - point[low].x));
}

/* Returns the widest calibration interval in ns, once the rate is known. */
static int64_t widest_gap(const struct clock *clock,
	const struct calibration_record *const *calibration, size_t count)
{
	uint64_t widest = 0;

	for (size_t i = 0; i < count; i++)
		if (calibration[i]->gap_ticks > widest)
			widest = calibration[i]->gap_ticks;
	if ((double)widest * clock->ticks.rate >= (double)CLOCK_MOST)
		return CLOCK_MOST;
	return (int64_t)((double)widest * clock->ticks.rate);
}

/* Virtual time starts with the process and is also CUPTI's time. */
static void init_virtual(struct clock *clock, int64_t start,
	const struct calibration_record *const *calibration, size_t count, uint64_t first_tick)
{
	const struct calibration_record *pair = NULL;

	for (size_t i = 0; i < count; i++) {
		if (calibration[i]->ticks < first_tick)
			first_tick = calibration[i]->ticks;
	}
	for (size_t i = 0; i < count; i++) {
		if (calibration[i]->ticks - first_tick > (uint64_t)CLOCK_MOST)
			clock->refused++;
		else if (calibration[i]->cupti_ns && !pair)
			pair = calibration[i];
	}
	scale_add(&clock->ticks, first_tick, start);
	if (!pair) {
		scale_add(&clock->device, first_tick, start);
		return;
	}
	scale_add(&clock->device, pair->cupti_ns, start + (int64_t)(pair->ticks - first_tick));
}

/* Calibrations outside of the run are ignored. */
static void init_real(struct clock *clock, int64_t origin,
	const struct calibration_record *const *calibration, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct calibration_record *c = calibration[i];
		int64_t now = time_or_none((__int128)c->realtime_ns - origin);

		if (now == CLOCK_NONE)
			clock->refused++;
		else {
			scale_add(&clock->ticks, c->ticks, now);
			if (c->cupti_ns)
				scale_add(&clock->device, c->cupti_ns, now);
		}
	}
	/* CUPTI's time is taken to be CLOCK_REALTIME without a calibration. */
	if (!clock->device.count)
		scale_add(&clock->device, (uint64_t)origin, 0);
}

void clock_init(struct clock *clock, uint32_t kind, int64_t origin, int64_t start,
	const struct calibration_record *const *calibration, size_t count, uint64_t first_tick)
{
	*clock = (struct clock){ .ticks.rate = 1, .device.rate = 1 };
	if (kind == CLOCK_TICKS_VIRTUAL) {
		init_virtual(clock, start, calibration, count, first_tick);
		return;
	}
	init_real(clock, origin, calibration, count);
	if (!clock->ticks.count)
		scale_add(&clock->ticks, first_tick, start);
	scale_finish(&clock->ticks);
	scale_finish(&clock->device);
	clock->estimated = clock->ticks.count < 2 && kind == CLOCK_TICKS_TSC;
	if (clock->estimated)
		clock->ticks.rate = tsc_rate();
	clock->error = widest_gap(clock, calibration, count);
}

int64_t clock_host_ns(const struct clock *clock, uint64_t ticks)
{
	return scale_map(&clock->ticks, ticks);
}

int64_t clock_device_ns(const struct clock *clock, uint64_t cupti_ns)
{
	return scale_map(&clock->device, cupti_ns);
}

void clock_release(struct clock *clock)
{
	free(clock->ticks.point);
	free(clock->device.point);
	*clock = (struct clock){ 0 };
}
