/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how many launches can be pending, and how a waiting thread affects another one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "probe.h"
#include "probe_kernels.h"

/* How long a stream stays busy while its queue is filled, and what was never seen full. */
#define FILL_NS (60 * PROBE_MS)
#define HELD_MS 10 /* a call that lasts longer was held */
#define TRIES 3
#define MOST_PENDING 8192

static cudaError_t submit(struct bench *bench, bool set)
{
	cudaStream_t stream = bench->busy[PROBE_NONBLOCKING];

	return set ? cudaMemsetAsync(bench->memory[PROBE_DEVICE][0], 0, 4, stream)
		   : probe_spin(stream, 0);
}

/*
 * The number of the first submission that took long, the one that runs included; MOST_PENDING:
 * none did.
 */
static cudaError_t fill(struct bench *bench, bool set, int *blocked)
{
	cudaError_t error = probe_spin(bench->busy[PROBE_NONBLOCKING], FILL_NS);

	*blocked = MOST_PENDING;
	for (int i = 2; i < MOST_PENDING && error == cudaSuccess; i++) {
		uint64_t start = probe_now();
		error = submit(bench, set);
		if (probe_now() - start < FILL_NS / 20)
			continue;
		*blocked = i;
		break;
	}
	return error;
}

static void measure_depth(struct bench *bench, const struct probe_item *item)
{
	cudaError_t error = cudaSuccess;
	int blocked, most = 0;
	char class[64];

	/* A thread that was preempted seems to find a queue full that is not: never the reverse. */
	for (int i = 0; i < 3 && error == cudaSuccess; i++) {
		error = fill(bench, item->argument != 0, &blocked);
		if (error == cudaSuccess)
			error = cudaDeviceSynchronize();
		most = blocked > most ? blocked : most;
	}
	if (error != cudaSuccess) {
		probe_error(item->name, error);
		return;
	}
	snprintf(class, sizeof(class), most < MOST_PENDING ? "number %d blocks" : "none blocks",
		most);
	probe_value(item->name, most, "submissions", class);
}

/* A thread that waits, and what it waits in. */
struct waiter {
	struct bench *bench;
	cudaError_t (*wait)(struct waiter *waiter);
	void *memory, *host; /* of the device, pinned */
	void *registered;    /* pageable memory, while it is */
	cudaEvent_t event;   /* after the running work */
	atomic_bool entered, done;
	cudaError_t error;
};

static cudaError_t wait_in_free(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaFree(waiter->memory);
}

static cudaError_t wait_in_synchronize(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaDeviceSynchronize();
}

static cudaError_t wait_in_event(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaEventSynchronize(waiter->event);
}

static cudaError_t wait_in_copy(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaMemcpy(waiter->bench->memory[PROBE_PAGEABLE][0],
		waiter->bench->memory[PROBE_DEVICE][0], PROBE_KIB, cudaMemcpyDeviceToHost);
}

static cudaError_t wait_in_upload(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaMemcpy(waiter->bench->memory[PROBE_DEVICE][0],
		waiter->bench->memory[PROBE_PAGEABLE][0], PROBE_KIB, cudaMemcpyHostToDevice);
}

static cudaError_t wait_in_pinned_upload(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaMemcpy(waiter->bench->memory[PROBE_DEVICE][0], waiter->host, PROBE_KIB,
		cudaMemcpyHostToDevice);
}

static cudaError_t wait_in_free_host(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaFreeHost(waiter->host);
}

static cudaError_t wait_in_unregister(struct waiter *waiter)
{
	atomic_store(&waiter->entered, true);
	return cudaHostUnregister(waiter->registered);
}

static cudaError_t wait_in_load(struct waiter *waiter)
{
	cudaError_t error = cudaSetDevice(0); /* the driver asks for a current context */

	atomic_store(&waiter->entered, true);
	return error == cudaSuccess ? probe_load_module(waiter->bench, NULL) : error;
}

/* Says that it entered when it is about to fill the queue: that takes a while. */
static cudaError_t wait_in_queue(struct waiter *waiter)
{
	int blocked;

	atomic_store(&waiter->entered, true);
	return fill(waiter->bench, false, &blocked);
}

static void *waiter_main(void *argument)
{
	struct waiter *waiter = argument;

	waiter->error = waiter->wait(waiter);
	atomic_store(&waiter->done, true);
	return NULL;
}

/* Without sleeping: the simulated device's time would pass. */
static void pause_ms(unsigned ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static cudaError_t launch_beside(struct bench *bench, uint64_t *ns)
{
	uint64_t start = probe_now();
	cudaError_t error = probe_spin(bench->call[PROBE_NONBLOCKING], 0);

	*ns = probe_now() - start;
	return error;
}

static cudaError_t record_beside(struct bench *bench, uint64_t *ns)
{
	uint64_t start;
	cudaError_t error = cudaEventCreate(&bench->event);

	start = probe_now();
	if (error == cudaSuccess)
		error = cudaEventRecord(bench->event, bench->call[PROBE_NONBLOCKING]);
	*ns = probe_now() - start;
	return error;
}

static cudaError_t allocate_beside(struct bench *bench, uint64_t *ns)
{
	uint64_t start = probe_now();
	cudaError_t error = cudaMalloc(&bench->pointer, PROBE_MIB);

	*ns = probe_now() - start;
	return error;
}

static const struct pair {
	cudaError_t (*wait)(struct waiter *waiter);
	cudaError_t (*call)(struct bench *bench, uint64_t *ns);
} pairs[] = {
	{ wait_in_free, launch_beside },
	{ wait_in_free, record_beside },
	{ wait_in_free, allocate_beside },
	{ wait_in_synchronize, launch_beside },
	{ wait_in_copy, launch_beside },
	{ wait_in_queue, launch_beside },
	{ wait_in_queue, record_beside },
	{ wait_in_event, launch_beside },
	{ wait_in_upload, launch_beside },
	{ wait_in_pinned_upload, launch_beside },
	{ wait_in_free_host, launch_beside },
	{ wait_in_unregister, launch_beside },
	{ wait_in_load, launch_beside },
};

/* Creates the waiter's resources, and the work that runs meanwhile. */
static cudaError_t prepare(struct waiter *waiter)
{
	struct bench *bench = waiter->bench;
	cudaError_t error = cudaMalloc(&waiter->memory, PROBE_MIB);

	if (error == cudaSuccess)
		error = cudaMallocHost(&waiter->host, PROBE_MIB);
	if (error == cudaSuccess && waiter->wait == wait_in_unregister) {
		waiter->registered = bench->memory[PROBE_PAGEABLE][0];
		error = cudaHostRegister(waiter->registered, PROBE_KIB, cudaHostRegisterDefault);
	}
	if (error == cudaSuccess)
		error = cudaEventCreate(&waiter->event);
	if (error == cudaSuccess && waiter->wait != wait_in_queue)
		error = probe_spin(bench->busy[PROBE_BLOCKING], FILL_NS);
	return error == cudaSuccess ? cudaEventRecord(waiter->event, bench->busy[PROBE_BLOCKING])
				    : error;
}

static void clean_up(struct waiter *waiter)
{
	if (waiter->wait != wait_in_free)
		cudaFree(waiter->memory);
	if (waiter->wait != wait_in_free_host)
		cudaFreeHost(waiter->host);
	if (waiter->wait == wait_in_load && waiter->error == cudaSuccess)
		probe_unload_module(waiter->bench, NULL);
	cudaEventDestroy(waiter->event);
}

static cudaError_t measure_pair(struct bench *bench, const struct pair *pair, uint64_t *ns,
	bool *late)
{
	struct waiter waiter = { .bench = bench, .wait = pair->wait };
	cudaError_t error = prepare(&waiter);
	pthread_t thread;

	if (error != cudaSuccess)
		return error;
	if (pthread_create(&thread, NULL, waiter_main, &waiter))
		return cudaErrorOperatingSystem;
	while (!atomic_load(&waiter.entered))
		;
	pause_ms(pair->wait == wait_in_queue ? 30 : 10);
	*late = atomic_load(&waiter.done);
	error = pair->call(bench, ns);
	pthread_join(thread, NULL);
	clean_up(&waiter);
	return error == cudaSuccess ? waiter.error : error;
}

static void measure_beside(struct bench *bench, const struct probe_item *item)
{
	const struct pair *pair = &pairs[item->argument];
	cudaError_t error = cudaSuccess;
	uint64_t ns = 0;
	double ms[TRIES];
	size_t count = 0;
	bool late = true;

	/* On a busy machine this thread may come too late or lose the processor, or the other one
	 * may not be in its call yet. */
	for (int i = 0; i < TRIES && error == cudaSuccess; i++) {
		error = measure_pair(bench, pair, &ns, &late);
		if (!late)
			ms[count++] = (double)ns / (double)PROBE_MS;
		if (error == cudaSuccess)
			error = cudaDeviceSynchronize();
		if (error == cudaSuccess && pair->call == allocate_beside)
			error = cudaFree(bench->pointer);
		if (error == cudaSuccess && pair->call == record_beside)
			error = cudaEventDestroy(bench->event);
	}
	if (error != cudaSuccess)
		probe_error(item->name, error);
	else if (!count)
		probe_failed(item->name, "the other thread did not wait long enough");
	else
		probe_value(item->name, probe_median(ms, count), "ms",
			probe_median(ms, count) > HELD_MS ? "held" : "not held");
}

static const struct probe_item items[] = {
	{ "launch queue, kernels", measure_depth, 0 },
	{ "launch queue, memsets", measure_depth, 1 },
	{ "launch while another thread is in cudaFree", measure_beside, 0 },
	{ "cudaEventRecord while another thread is in cudaFree", measure_beside, 1 },
	{ "cudaMalloc while another thread is in cudaFree", measure_beside, 2 },
	{ "launch while another thread is in cudaDeviceSynchronize", measure_beside, 3 },
	{ "launch while another thread is in cudaMemcpy D2H", measure_beside, 4 },
	{ "launch while another thread is on a full launch queue", measure_beside, 5 },
	{ "cudaEventRecord while another thread is on a full launch queue", measure_beside, 6 },
	{ "launch while another thread is in cudaEventSynchronize", measure_beside, 7 },
	{ "launch while another thread is in cudaMemcpy H2D", measure_beside, 8 },
	{ "launch while another thread is in cudaMemcpy H2D pinned", measure_beside, 9 },
	{ "launch while another thread is in cudaFreeHost", measure_beside, 10 },
	{ "launch while another thread is in cudaHostUnregister", measure_beside, 11 },
	{ "launch while another thread is in cuModuleLoadData", measure_beside, 12 },
};

const struct probe_group probe_queue_group = { .name = "queue and threads",
	.items = items,
	.count = sizeof(items) / sizeof(*items),
	.memory = true };
