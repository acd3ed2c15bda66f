/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missing synchronization that looks present: a kernel on a non-blocking stream after a copy that
 * has returned; and memory that a pool hands out again.
 */
#include <stdlib.h>

#include "probe.h"
#include "probe_kernels.h"

#define TRIES 200

static void fill(unsigned *words, size_t count, unsigned value)
{
	for (size_t i = 0; i < count; i++)
		words[i] = value;
}

/* The number of words on the device that are not value. */
static cudaError_t count_wrong(struct bench *bench, size_t words, unsigned value, unsigned *wrong)
{
	cudaStream_t stream = bench->call[PROBE_NONBLOCKING];
	unsigned *found = bench->pointer;
	cudaError_t error;

	error = probe_compare(stream, bench->memory[PROBE_DEVICE][1], words, value, found);
	if (error == cudaSuccess)
		error = cudaMemcpyAsync(bench->memory[PROBE_PINNED][1], found, sizeof(*found),
			cudaMemcpyDeviceToHost, stream);
	if (error == cudaSuccess)
		error = cudaMemsetAsync(found, 0, sizeof(*found), stream);
	if (error == cudaSuccess)
		error = cudaStreamSynchronize(stream);
	*wrong = *(unsigned *)bench->memory[PROBE_PINNED][1];
	return error;
}

/* Copies new content to the device: pageable source, or within the device for words of it. */
static cudaError_t write_words(struct bench *bench, bool from_host, size_t words, unsigned value)
{
	size_t bytes = words * sizeof(unsigned);
	cudaError_t error;

	if (from_host) {
		fill(bench->memory[PROBE_PAGEABLE][0], words, value);
		return cudaMemcpy(bench->memory[PROBE_DEVICE][1], bench->memory[PROBE_PAGEABLE][0],
			bytes, cudaMemcpyHostToDevice);
	}
	error = cudaMemset(bench->memory[PROBE_DEVICE][0], (int)(value & 0xff), bytes);
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	if (error != cudaSuccess)
		return error;
	return cudaMemcpy(bench->memory[PROBE_DEVICE][1], bench->memory[PROBE_DEVICE][0], bytes,
		cudaMemcpyDeviceToDevice);
}

/* A comparison with what is not there must find every word wrong. */
static cudaError_t check_computes(struct bench *bench, bool *computes)
{
	unsigned wrong = 0;
	cudaError_t error = cudaMalloc(&bench->pointer, sizeof(unsigned));

	if (error == cudaSuccess)
		error = cudaMemset(bench->pointer, 0, sizeof(unsigned));
	if (error == cudaSuccess)
		error = cudaMemset(bench->memory[PROBE_DEVICE][1], 0, PROBE_KIB);
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	if (error == cudaSuccess)
		error = count_wrong(bench, PROBE_KIB / sizeof(unsigned), 1, &wrong);
	*computes = wrong == PROBE_KIB / sizeof(unsigned);
	return error;
}

static cudaError_t try_copies(struct bench *bench, bool from_host, size_t words, int *stale)
{
	cudaError_t error = cudaSuccess;

	for (unsigned i = 0; i < TRIES && error == cudaSuccess; i++) {
		unsigned value = (i % 250 + 1) * 0x01010101u, wrong = 0;
		error = write_words(bench, from_host, words, value);
		if (error == cudaSuccess)
			error = count_wrong(bench, words, value, &wrong);
		*stale += wrong != 0;
		if (error == cudaSuccess)
			error = cudaDeviceSynchronize();
	}
	return error;
}

/* argument: KiB copied from pageable host memory; negative: on the device */
static void measure_hazard(struct bench *bench, const struct probe_item *item)
{
	bool from_host = item->argument > 0, computes = false;
	size_t words = (size_t)abs(item->argument) * PROBE_KIB / sizeof(unsigned);
	cudaError_t error = check_computes(bench, &computes);
	int stale = 0;

	if (error == cudaSuccess && computes)
		error = try_copies(bench, from_host, words, &stale);
	if (error != cudaSuccess)
		probe_error(item->name, error);
	else if (!computes)
		probe_failed(item->name, "not supported: kernels compute nothing");
	else /* in between, chance decides: no class, and systems are not compared by it */
		probe_value(item->name, stale, "of 200",
			stale > TRIES / 2            ? "mostly stale"
				: stale < TRIES / 10 ? "rarely or never stale"
						     : NULL);
	cudaFree(bench->pointer);
}

/* A second allocation of the size, in another stream, while or after the first one is freed. */
static void measure_pool(struct bench *bench, const struct probe_item *item)
{
	cudaStream_t one = bench->busy[PROBE_NONBLOCKING], other = bench->call[PROBE_NONBLOCKING];
	void *first = NULL, *second = NULL;
	cudaError_t error = cudaMallocAsync(&first, PROBE_MIB, one);
	uint64_t start;
	double ms;

	if (error == cudaSuccess)
		error = cudaStreamSynchronize(one);
	start = probe_now();
	if (error == cudaSuccess && item->argument)
		error = probe_spin(one, PROBE_BUSY_NS);
	if (error == cudaSuccess)
		error = cudaFreeAsync(first, one);
	if (error == cudaSuccess && !item->argument)
		error = cudaStreamSynchronize(one);
	if (error == cudaSuccess)
		error = cudaMallocAsync(&second, PROBE_MIB, other);
	if (error == cudaSuccess)
		error = cudaStreamSynchronize(other);
	ms = (double)(probe_now() - start) / (double)PROBE_MS;
	if (error == cudaSuccess)
		error = cudaFreeAsync(second, other);
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	if (error != cudaSuccess)
		probe_error(item->name, error);
	else
		probe_value(item->name, ms, "ms",
			first == second ? "same address" : "another address");
}

static const struct probe_item items[] = {
	{ "stale reads behind cudaMemcpy H2D pageable 64 KiB", measure_hazard, 64 },
	{ "stale reads behind cudaMemcpy H2D pageable 256 KiB", measure_hazard, 256 },
	{ "stale reads behind cudaMemcpy H2D pageable 1100 KiB", measure_hazard, 1100 },
	{ "stale reads behind cudaMemcpy H2D pageable 4 MiB", measure_hazard, 4096 },
	{ "stale reads behind cudaMemcpy D2D 64 MiB", measure_hazard, -65536 },
	{ "cudaMallocAsync, cudaFreeAsync in another stream pending", measure_pool, 1 },
	{ "cudaMallocAsync, cudaFreeAsync in another stream done", measure_pool, 0 },
};

const struct probe_group probe_hazard_group = { .name = "hazards",
	.items = items,
	.count = sizeof(items) / sizeof(*items),
	.memory = true };
