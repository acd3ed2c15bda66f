/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of the matrix: how long the call took, and when kernels launched after it on idle streams
 * had completed, while a kernel runs on a blocking, a non-blocking and the legacy stream, and
 * while none does.  The time of the call by itself is subtracted before anything is concluded.
 */
#include <math.h>

#include "probe.h"
#include "probe_kernels.h"

#define REPEATS 3
#define NO_BACKGROUND PROBE_STREAMS
/* First times cannot be measured alone, so that the background must outlast what they take. */
#define ONCE_BUSY_NS (40 * PROBE_MS)

/* ms since the call was entered */
struct times {
	double host, nonblocking, blocking;
};

static const char *const background_names[] = { "blocking", "non-blocking", "legacy", "per-thread",
	"none" };

static double ms_since(uint64_t start)
{
	return (double)(int64_t)(probe_now() - start) / (double)PROBE_MS;
}

static cudaError_t see(cudaStream_t stream, uint64_t start, double *completed)
{
	cudaError_t error = probe_spin(stream, 0);

	if (error == cudaSuccess)
		error = cudaStreamSynchronize(stream);
	*completed = ms_since(start);
	return error;
}

static uint64_t busy_ns(const struct probe_row *row)
{
	return row->once ? ONCE_BUSY_NS : PROBE_BUSY_NS;
}

static cudaError_t step(probe_step *run, struct bench *bench, const struct probe_row *row)
{
	return run ? run(bench, row) : cudaSuccess;
}

static cudaError_t call_and_see(struct bench *bench, const struct probe_row *row, int background,
	struct times *times)
{
	cudaError_t error = cudaSuccess;
	uint64_t start;

	if (background != NO_BACKGROUND)
		error = probe_spin(bench->behind, busy_ns(row));
	if (error != cudaSuccess)
		return error;
	start = probe_now();
	error = row->call(bench, row);
	times->host = ms_since(start);
	if (error == cudaSuccess)
		error = see(bench->watch[PROBE_NONBLOCKING], start, &times->nonblocking);
	if (error == cudaSuccess)
		error = see(bench->watch[PROBE_BLOCKING], start, &times->blocking);
	return error;
}

static cudaError_t measure_once(struct bench *bench, const struct probe_row *row, int background,
	struct times *times)
{
	cudaError_t error, after;

	bench->behind = background == NO_BACKGROUND ? bench->watch[PROBE_NONBLOCKING]
		: row->own                          ? bench->call[background]
						    : bench->busy[background];
	error = step(row->prepare, bench, row);
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	if (error != cudaSuccess)
		return error;
	error = call_and_see(bench, row, background, times);
	after = cudaDeviceSynchronize();
	error = error == cudaSuccess ? after : error;
	after = step(row->cleanup, bench, row);
	return error == cudaSuccess ? after : error;
}

static cudaError_t measure(struct bench *bench, const struct probe_row *row, int background,
	struct times *times)
{
	double host[REPEATS], nonblocking[REPEATS], blocking[REPEATS];
	size_t repeats = row->once ? 1 : REPEATS;

	for (size_t i = 0; i < repeats; i++) {
		cudaError_t error = measure_once(bench, row, background, times);
		if (error != cudaSuccess)
			return error;
		host[i] = times->host;
		nonblocking[i] = times->nonblocking;
		blocking[i] = times->blocking;
	}
	times->host = probe_median(host, repeats);
	times->nonblocking = probe_median(nonblocking, repeats);
	times->blocking = probe_median(blocking, repeats);
	return cudaSuccess;
}

/* The backgrounds that held a row, a bit each, show what it waits for. */
static const char *classify(const struct probe_row *row, const struct times *times,
	unsigned measured)
{
	static const char *const waits[] = { NULL, "waits for blocking streams",
		"waits for non-blocking streams", "waits for blocking and non-blocking streams",
		"waits for the legacy stream", "waits for legacy and blocking streams",
		"waits for legacy and non-blocking streams", "waits for everything" };
	const struct times *alone = &times[NO_BACKGROUND];
	double limit = (double)busy_ns(row) / (double)PROBE_MS / 2;
	unsigned held = 0;
	bool device = false;

	for (int i = 0; i < PROBE_STREAMS; i++) {
		if (!(measured & 1u << i))
			continue;
		held |= times[i].host - alone->host > limit ? 1u << i : 0;
		device |= times[i].nonblocking - alone->nonblocking > limit;
	}
	if (row->own)
		return held ? "waits for its stream" : "does not wait";
	if (held)
		return waits[held & 7];
	if (device)
		return "serializes the device only";
	/* A blocking stream waits for legacy work, whatever was called. */
	if (measured & 1u << PROBE_BLOCKING &&
		times[PROBE_BLOCKING].blocking - alone->blocking > limit)
		return "serializes blocking streams only";
	return "does not wait";
}

void probe_matrix(struct bench *bench, const struct probe_row *row)
{
	unsigned measured = row->own ? 1u << row->stream : row->backgrounds ? row->backgrounds : 7;
	struct times times[PROBE_STREAMS + 1] = { 0 };
	cudaError_t error = cudaSuccess;
	const char *class;

	if (!row->once) {
		/* The first call of a kind sets things up. */
		error = measure_once(bench, row, NO_BACKGROUND, &times[NO_BACKGROUND]);
		if (error == cudaSuccess)
			error = measure(bench, row, NO_BACKGROUND, &times[NO_BACKGROUND]);
	}
	for (int i = 0; i < PROBE_STREAMS && error == cudaSuccess; i++)
		if (measured & 1u << i)
			error = measure(bench, row, i, &times[i]);
	if (error != cudaSuccess) {
		probe_error(row->name, error);
		return;
	}
	class = classify(row, times, measured);
	for (int i = 0; i <= NO_BACKGROUND; i++)
		if (i == NO_BACKGROUND ? !row->once : (measured & 1u << i) != 0)
			probe_result(row->name,
				row->own && i != NO_BACKGROUND ? "own" : background_names[i],
				times[i].host, times[i].nonblocking, times[i].blocking, class);
}
