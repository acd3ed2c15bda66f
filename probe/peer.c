/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the work that a synchronous copy between devices is ordered with.  Documented is all
 * work on both; observed is the work that the legacy streams of both are ordered with.  Without
 * two devices nothing is measured.
 */
#include <stdio.h>

#include "probe.h"
#include "probe_kernels.h"

#define MOST_BYTES (16 * PROBE_MIB)
#define HELD_NS (PROBE_BUSY_NS / 2)
#define PATIENCE_NS (20 * PROBE_BUSY_NS) /* until a copy is taken to be lost */

/* Device 0 is the source and the current device of the copy, 1 the destination. */
static struct pair {
	bool open;
	cudaStream_t busy[2][2]; /* by device and whether it is non-blocking */
	cudaStream_t watch;      /* non-blocking and idle, of the destination */
	cudaStream_t later[2];   /* blocking and idle, by device */
	unsigned char *memory[2], *seen;
	unsigned char value; /* of the last copy */
} pair;

static cudaError_t open_device(int device)
{
	cudaError_t error = cudaSetDevice(device);

	for (int i = 0; i < 2 && error == cudaSuccess; i++)
		error = cudaStreamCreateWithFlags(&pair.busy[device][i],
			i ? cudaStreamNonBlocking : cudaStreamDefault);
	if (error == cudaSuccess)
		error = cudaStreamCreate(&pair.later[device]);
	if (error == cudaSuccess && device)
		error = cudaStreamCreateWithFlags(&pair.watch, cudaStreamNonBlocking);
	if (error == cudaSuccess)
		error = cudaMalloc((void **)&pair.memory[device], MOST_BYTES);
	if (error == cudaSuccess)
		error = cudaMemset(pair.memory[device], 0, MOST_BYTES);
	if (error == cudaSuccess)
		error = probe_spin(pair.later[device], 0);
	return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

static cudaError_t open_pair(void)
{
	cudaError_t error = pair.open ? cudaSuccess : open_device(0);

	if (error == cudaSuccess && !pair.open)
		error = open_device(1);
	if (error == cudaSuccess && !pair.open)
		error = cudaMallocHost((void **)&pair.seen, 1);
	pair.open = error == cudaSuccess;
	return error;
}

static cudaError_t finish(void)
{
	cudaError_t error = cudaSuccess;

	for (int device = 1; device >= 0 && error == cudaSuccess; device--) {
		error = cudaSetDevice(device);
		if (error == cudaSuccess)
			error = cudaDeviceSynchronize();
	}
	return error;
}

/* A kernel on a stream of either device, and the copy right after it. */
static cudaError_t begin(size_t bytes, int device, bool nonblocking, uint64_t *start)
{
	cudaError_t error = cudaSetDevice(0);

	if (error == cudaSuccess)
		error = cudaMemset(pair.memory[0], ++pair.value, bytes);
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	if (error == cudaSuccess)
		error = cudaSetDevice(device);
	if (error == cudaSuccess)
		error = probe_spin(pair.busy[device][nonblocking], PROBE_BUSY_NS);
	if (error == cudaSuccess)
		error = cudaSetDevice(0);
	*start = probe_now();
	return error == cudaSuccess ? cudaMemcpyPeer(pair.memory[1], 1, pair.memory[0], 0, bytes)
				    : error;
}

/* Until its last byte is there, whatever it is ordered with. */
static cudaError_t until_there(size_t bytes, uint64_t start, uint64_t *ns)
{
	cudaError_t error = cudaSetDevice(1);

	do {
		if (error == cudaSuccess)
			error = cudaMemcpyAsync(pair.seen, pair.memory[1] + bytes - 1, 1,
				cudaMemcpyDeviceToHost, pair.watch);
		if (error == cudaSuccess)
			error = cudaStreamSynchronize(pair.watch);
		*ns = probe_now() - start;
	} while (error == cudaSuccess && *pair.seen != pair.value && *ns < PATIENCE_NS);
	return error;
}

/* Until what is launched next on an idle blocking stream of the device has run. */
static cudaError_t until_later_work(int device, uint64_t start, uint64_t *ns)
{
	cudaError_t error = cudaSetDevice(device);

	if (error == cudaSuccess)
		error = probe_spin(pair.later[device], 0);
	if (error == cudaSuccess)
		error = cudaStreamSynchronize(pair.later[device]);
	*ns = probe_now() - start;
	return error;
}

static void report(const char *what, const char *copy, const char *behind, uint64_t ns,
	cudaError_t error)
{
	char name[160];

	snprintf(name, sizeof(name), "%s%s behind a kernel in a %s", what, copy, behind);
	if (error != cudaSuccess)
		probe_error(name, error);
	else
		probe_value(name, (double)ns / (double)PROBE_MS, "ms",
			ns > HELD_NS ? "waits" : "does not wait");
}

static const struct {
	const char *name;
	int device;
	bool nonblocking;
} backgrounds[] = {
	{ "blocking stream of the source", 0, false },
	{ "non-blocking stream of the source", 0, true },
	{ "blocking stream of the destination", 1, false },
	{ "non-blocking stream of the destination", 1, true },
};

static void measure_size(size_t bytes, const char *copy)
{
	for (size_t i = 0; i < sizeof(backgrounds) / sizeof(*backgrounds); i++) {
		int device = backgrounds[i].device;
		uint64_t start, ns = 0;
		cudaError_t error;

		error = begin(bytes, device, backgrounds[i].nonblocking, &start);
		if (error == cudaSuccess)
			error = until_there(bytes, start, &ns);
		report("", copy, backgrounds[i].name, ns, error);
		finish();
		/* The device that has nothing to do yet. */
		error = begin(bytes, device, backgrounds[i].nonblocking, &start);
		if (error == cudaSuccess)
			error = until_later_work(1 - device, start, &ns);
		report("blocking stream of the other device after ", copy, backgrounds[i].name, ns,
			error);
		finish();
	}
}

static cudaError_t allow_access(void)
{
	cudaError_t error = cudaSetDevice(0);

	if (error == cudaSuccess)
		error = cudaDeviceEnablePeerAccess(1, 0);
	if (error == cudaSuccess)
		error = cudaSetDevice(1);
	return error == cudaSuccess ? cudaDeviceEnablePeerAccess(0, 0) : error;
}

static void measure_pair(struct bench *bench, const struct probe_item *item)
{
	static const struct {
		size_t bytes;
		const char *name;
	} sizes[] = {
		{ 4 * PROBE_KIB, "4 KiB" },
		{ PROBE_MIB, "1 MiB" },
		{ MOST_BYTES, "16 MiB" },
	};
	int devices = 0;
	cudaError_t error = cudaGetDeviceCount(&devices);
	char copy[64];

	if (error != cudaSuccess || devices < 2)
		return;
	error = open_pair();
	if (error == cudaSuccess && item->argument)
		error = allow_access();
	/* Once for what the first one sets up. */
	if (error == cudaSuccess)
		error = cudaMemcpyPeer(pair.memory[1], 1, pair.memory[0], 0, MOST_BYTES);
	if (error == cudaSuccess)
		error = finish();
	if (error != cudaSuccess) {
		probe_error(item->name, error);
		return;
	}
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		snprintf(copy, sizeof(copy), "%s %s", item->name, sizes[i].name);
		measure_size(sizes[i].bytes, copy);
	}
}

static const struct probe_item items[] = {
	{ "cudaMemcpyPeer", measure_pair, 0 },
	{ "cudaMemcpyPeer with peer access", measure_pair, 1 },
};

const struct probe_group probe_peer_group = { .name = "two devices",
	.items = items,
	.count = sizeof(items) / sizeof(*items),
	.bare = true };
