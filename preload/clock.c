/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of call records: the processor's counter if the kernel uses it as its clock source
 * (then it is constant and synchronized), else CLOCK_MONOTONIC.  With the simulator it is
 * the simulator's virtual time, so that traces are reproducible.
 */
#include <string.h>
#include <time.h>

#include "resolve.h"
#include "shim.h"
#include "system.h"
#include "window.h"

#define SECOND 1000000000u

static uint64_t system_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic(void)
{
	return system_ns(CLOCK_MONOTONIC);
}

uint64_t clock_read_other(void)
{
	switch (shim.clock) {
	case CLOCK_TICKS_TSC:
		return machine_counter();
	case CLOCK_TICKS_VIRTUAL:
		return shim.virtual_clock();
	default:
		return clock_monotonic();
	}
}

static int kernel_trusts_counter(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[24] = "";
	int fd = system_open(path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? -1 : system_read(fd, name, sizeof(name) - 1);

	if (fd >= 0)
		system_close(fd);
	return n > 0 && !strcmp(name, MACHINE_CLOCK_SOURCE);
}

/* Approximate ticks per second; used only for the interval of calibrations. */
static uint64_t counter_rate(void)
{
	uint64_t ticks = machine_counter(), ns = system_ns(CLOCK_MONOTONIC), elapsed;

	do
		elapsed = system_ns(CLOCK_MONOTONIC) - ns;
	while (elapsed < 50000);
	return (machine_counter() - ticks) * SECOND / elapsed;
}

void clock_init(void *libcuda)
{
	shim.virtual_clock = libcuda
		? (uint64_t(*)(void))resolve_real_dlsym()(libcuda, "cufence_sim_clock")
		: NULL;
	shim.calibration_ticks = SECOND;
	if (shim.virtual_clock) {
		shim.clock = CLOCK_TICKS_VIRTUAL;
	} else if (kernel_trusts_counter()) {
		shim.clock = CLOCK_TICKS_TSC;
		shim.calibration_ticks = counter_rate();
	} else {
		shim.clock = CLOCK_TICKS_MONOTONIC;
	}
}

static void read_pair(struct calibration_record *pair)
{
	uint64_t before = clock_read(), after;

	if (shim.clock == CLOCK_TICKS_VIRTUAL)
		pair->realtime_ns = before;
	else
		pair->realtime_ns = system_ns(CLOCK_REALTIME);
	pair->cupti_ns = shim.device_clock ? shim.device_clock() : 0;
	after = clock_read();
	pair->ticks = before + (after - before) / 2;
	pair->gap_ticks = after - before;
}

static _Atomic uint64_t due; /* ticks of the next reading */

void clock_calibrate(struct thread_state *thread, unsigned samples)
{
	struct calibration_record best = { .gap_ticks = UINT64_MAX }, pair = { 0 }, *record;
	uint64_t now = clock_read();

	due = now + shim.calibration_ticks;
	atomic_store_explicit(&shim.next_tick, window_next(now, due), memory_order_relaxed);
	for (unsigned i = 0; i < samples; i++) {
		read_pair(&pair);
		if (pair.gap_ticks < best.gap_ticks)
			best = pair;
	}
	record = thread_reserve(thread, sizeof(*record), RECORD_CALIBRATION);
	if (!record)
		return;
	record->ticks = best.ticks;
	record->realtime_ns = best.realtime_ns;
	record->cupti_ns = best.cupti_ns;
	record->gap_ticks = best.gap_ticks;
	trace_commit(&thread->chunk);
}

void clock_tick(struct thread_state *thread, uint64_t now)
{
	if (now >= due)
		clock_calibrate(thread, 20);
	else
		atomic_store_explicit(&shim.next_tick, window_next(now, due), memory_order_relaxed);
}
