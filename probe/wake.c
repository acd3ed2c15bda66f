/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how soon a thread returns from a wait after the end of the work, by call and by the
 * schedule flag of the process; the difference of host and device clocks; the cost of launches.
 */
#include <math.h>
#include <stdio.h>

#include "probe.h"
#include "probe_cupti.h"
#include "probe_kernels.h"

#define SAMPLES 300
/* Longer than any call but the wait itself. */
#define WORK_NS 200000

/* One process of one schedule flag. */
struct waking {
	cudaStream_t stream;
	cudaEvent_t event;
	void *device, *pinned;
	uint64_t launched[SAMPLES], returned[SAMPLES];
	struct probe_interval ran[SAMPLES];
};

typedef cudaError_t waking_call(struct waking *waking);

static cudaError_t wait_stream(struct waking *waking)
{
	return cudaStreamSynchronize(waking->stream);
}

static cudaError_t wait_event(struct waking *waking)
{
	cudaError_t error = cudaEventRecord(waking->event, waking->stream);

	return error == cudaSuccess ? cudaEventSynchronize(waking->event) : error;
}

static cudaError_t wait_device(struct waking *waking)
{
	return cudaDeviceSynchronize();
}

static cudaError_t wait_free(struct waking *waking)
{
	void *memory;
	cudaError_t error = cudaMalloc(&memory, PROBE_KIB);

	return error == cudaSuccess ? cudaFree(memory) : error;
}

static cudaError_t wait_copy(struct waking *waking)
{
	return cudaMemcpy(waking->pinned, waking->device, PROBE_KIB, cudaMemcpyDeviceToHost);
}

static const struct {
	const char *name;
	waking_call *wait;
	bool copies; /* what it waits for is the copy, not the kernel */
} calls[] = {
	{ "cudaStreamSynchronize", wait_stream, false },
	{ "cudaEventSynchronize", wait_event, false },
	{ "cudaDeviceSynchronize", wait_device, false },
	{ "cudaFree", wait_free, false },
	{ "cudaMemcpy D2H pinned 1 KiB", wait_copy, true },
};

static const struct {
	const char *name;
	unsigned flag;
} schedules[] = {
	{ "default", cudaDeviceScheduleAuto },
	{ "spin", cudaDeviceScheduleSpin },
	{ "yield", cudaDeviceScheduleYield },
	{ "blocking sync", cudaDeviceScheduleBlockingSync },
};

static cudaError_t open_waking(struct waking *waking, unsigned flag)
{
	cudaError_t error = cudaSetDeviceFlags(flag);

	if (error == cudaSuccess)
		error = cudaStreamCreate(&waking->stream);
	if (error == cudaSuccess)
		error = cudaEventCreateWithFlags(&waking->event,
			cudaEventDisableTiming |
				(flag == cudaDeviceScheduleBlockingSync ? cudaEventBlockingSync
									: 0));
	if (error == cudaSuccess)
		error = cudaMalloc(&waking->device, PROBE_KIB);
	if (error == cudaSuccess)
		error = cudaMallocHost(&waking->pinned, PROBE_KIB);
	return error;
}

static cudaError_t run_samples(struct waking *waking, waking_call *wait)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		cudaError_t error;
		waking->launched[i] = probe_wall();
		error = probe_spin(waking->stream, WORK_NS);
		if (error == cudaSuccess)
			error = wait(waking);
		waking->returned[i] = probe_wall();
		if (error != cudaSuccess)
			return error;
	}
	return cudaDeviceSynchronize();
}

/* The samples' device intervals, complete or not at all. */
static bool take_samples(struct waking *waking, bool copies)
{
	struct probe_interval rest[SAMPLES];
	size_t kernels, others;

	probe_cupti_flush();
	kernels = probe_cupti_collect(copies, waking->ran, SAMPLES);
	others = probe_cupti_collect(!copies, rest, SAMPLES);
	return kernels == SAMPLES && (!copies || others == SAMPLES);
}

static void measure_waking(struct bench *bench, const struct probe_item *item)
{
	static struct waking waking;
	const char *why = probe_cupti_start(true);
	cudaError_t error =
		why ? cudaSuccess : open_waking(&waking, schedules[item->argument].flag);
	double us[SAMPLES];
	char name[128];

	for (size_t call = 0; call < sizeof(calls) / sizeof(*calls) && !why; call++) {
		snprintf(name, sizeof(name), "wake-up, %s, %s", schedules[item->argument].name,
			calls[call].name);
		/* Once for what the first ones set up. */
		for (int i = 0; i < 2 && error == cudaSuccess; i++) {
			error = run_samples(&waking, calls[call].wait);
			if (!take_samples(&waking, calls[call].copies))
				why = "CUPTI lost records";
		}
		if (error != cudaSuccess)
			why = cudaGetErrorString(error);
		for (size_t i = 0; i < SAMPLES; i++)
			us[i] = (double)(int64_t)(waking.returned[i] - waking.ran[i].end) / 1000;
		if (!why)
			probe_spread(name, us, SAMPLES, "us");
	}
	if (why)
		probe_failed(item->name, why);
}

/* CUPTI's clock against the host's: the tightest bracket of many. */
static void report_clocks(void)
{
	uint64_t least = UINT64_MAX, before, now, after;
	double offset = NAN;

	for (int i = 0; i < 1000; i++) {
		before = probe_wall();
		now = probe_cupti_now();
		after = probe_wall();
		if (after - before >= least)
			continue;
		least = after - before;
		offset = (double)(int64_t)(now - before) - (double)least / 2;
	}
	probe_value("clock, CUPTI ahead of the host", offset / 1000, "us", NULL);
	probe_value("clock, tightest bracket", (double)least / 1000, "us", NULL);
}

/* Effects cannot precede causes: how far below zero these intervals get is the clocks' error. */
static void measure_clock(struct bench *bench, const struct probe_item *item)
{
	static struct waking waking;
	const char *why = probe_cupti_start(true);
	cudaError_t error = why ? cudaSuccess : open_waking(&waking, cudaDeviceScheduleSpin);
	double wait[SAMPLES], start[SAMPLES];

	for (int i = 0; i < 2 && !why && error == cudaSuccess; i++) {
		error = run_samples(&waking, wait_stream);
		if (!take_samples(&waking, false))
			why = "CUPTI lost records";
	}
	if (why || error != cudaSuccess) {
		probe_failed(item->name, why ? why : cudaGetErrorString(error));
		return;
	}
	for (size_t i = 0; i < SAMPLES; i++) {
		wait[i] = (double)(int64_t)(waking.returned[i] - waking.ran[i].end) / 1000;
		start[i] = (double)(int64_t)(waking.ran[i].start - waking.launched[i]) / 1000;
	}
	probe_spread("clock, return of a wait after its kernel's end", wait, SAMPLES, "us");
	probe_spread("clock, kernel's start after its launch was entered", start, SAMPLES, "us");
	report_clocks();
}

static const struct probe_item wake_items[] = {
	{ "wake-up, default", measure_waking, 0 },
	{ "wake-up, spin", measure_waking, 1 },
	{ "wake-up, yield", measure_waking, 2 },
	{ "wake-up, blocking sync", measure_waking, 3 },
	{ "clock", measure_clock, 0 },
};

const struct probe_group probe_wake_group = { .name = "wake-up",
	.items = wake_items,
	.count = sizeof(wake_items) / sizeof(*wake_items),
	.single = true,
	.bare = true };

#define ROUNDS 9
#define LAUNCHES 2000
#define PENDING 200 /* far below what fills a queue */

static cudaError_t launch_round(const cudaStream_t *streams, size_t count, double *ns)
{
	uint64_t start = probe_now();
	cudaError_t error = cudaSuccess;

	for (size_t i = 1; i <= LAUNCHES && error == cudaSuccess; i++) {
		error = probe_spin(streams[i % count], 0);
		if (error == cudaSuccess && !(i % (PENDING * count)))
			error = cudaDeviceSynchronize();
	}
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	*ns = (double)(probe_now() - start) / LAUNCHES;
	return error;
}

/* argument: with CUPTI */
static void measure_launches(struct bench *bench, const struct probe_item *item)
{
	const char *why = item->argument ? probe_cupti_start(false) : NULL;
	cudaError_t error = cudaSuccess;
	double ns[ROUNDS + 1];
	cudaStream_t streams[4];

	for (int i = 0; i < 4 && error == cudaSuccess && !why; i++)
		error = cudaStreamCreate(&streams[i]);
	for (int i = 0; i <= ROUNDS && error == cudaSuccess && !why; i++)
		error = launch_round(streams, 4, &ns[i]);
	if (why || error != cudaSuccess)
		probe_failed(item->name, why ? why : cudaGetErrorString(error));
	else /* the first round warms up */
		probe_spread(item->name, ns + 1, ROUNDS, "ns");
}

static const struct probe_item cost_items[] = {
	{ "launch of a tiny kernel", measure_launches, 0 },
	{ "launch of a tiny kernel, CUPTI recording kernels", measure_launches, 1 },
};

const struct probe_group probe_cost_group = { .name = "cost",
	.items = cost_items,
	.count = sizeof(cost_items) / sizeof(*cost_items),
	.single = true,
	.bare = true };
