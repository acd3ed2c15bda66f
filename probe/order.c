/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what orders the work of two streams on the device, and what queries return. */
#include "probe.h"
#include "probe_kernels.h"

#define LIMIT_MS (1.5 * (double)PROBE_BUSY_NS / (double)PROBE_MS)

typedef cudaError_t between(struct bench *bench);

/* Two kernels, the second on another stream, and perhaps a call in between. */
struct pair {
	enum probe_stream first, second;
	between *middle;
};

static cudaError_t launch_legacy(struct bench *bench)
{
	return probe_spin(cudaStreamLegacy, 0);
}

static cudaError_t record_legacy(struct bench *bench)
{
	return cudaEventRecord(bench->event, cudaStreamLegacy);
}

/* The event is recorded before both kernels, in another stream. */
static cudaError_t wait_legacy(struct bench *bench)
{
	return cudaStreamWaitEvent(cudaStreamLegacy, bench->event, 0);
}

static cudaError_t wait_unrecorded(struct bench *bench)
{
	cudaEvent_t event;
	cudaError_t error = cudaEventCreate(&event);

	if (error == cudaSuccess)
		error = cudaStreamWaitEvent(bench->call[PROBE_NONBLOCKING], event, 0);
	return error == cudaSuccess ? cudaEventDestroy(event) : error;
}

static cudaError_t set_legacy(struct bench *bench)
{
	return cudaMemsetAsync(bench->memory[PROBE_DEVICE][0], 0, PROBE_MIB, cudaStreamLegacy);
}

static cudaError_t copy_legacy(struct bench *bench)
{
	return cudaMemcpyAsync(bench->memory[PROBE_DEVICE][1], bench->memory[PROBE_DEVICE][0],
		PROBE_MIB, cudaMemcpyDeviceToDevice, cudaStreamLegacy);
}

static void nothing(void *data)
{
}

static cudaError_t host_legacy(struct bench *bench)
{
	return cudaLaunchHostFunc(cudaStreamLegacy, nothing, NULL);
}

static cudaError_t copy_out(struct bench *bench)
{
	return cudaMemcpy(bench->memory[PROBE_PAGEABLE][0], bench->memory[PROBE_DEVICE][0],
		PROBE_KIB, cudaMemcpyDeviceToHost);
}

static cudaError_t query_legacy(struct bench *bench)
{
	cudaError_t error = cudaStreamQuery(cudaStreamLegacy);

	cudaGetLastError(); /* NotReady stays there */
	return error == cudaErrorNotReady ? cudaSuccess : error;
}

#define B PROBE_BLOCKING
#define N PROBE_NONBLOCKING
#define L PROBE_LEGACY
#define P PROBE_PER_THREAD
static const struct pair pairs[] = {
	{ B, B, NULL },
	{ B, L, NULL },
	{ L, B, NULL },
	{ N, L, NULL },
	{ L, N, NULL },
	{ P, L, NULL },
	{ L, P, NULL },
	{ B, P, NULL },
	{ N, P, NULL },
	{ N, N, NULL },
	{ B, B, launch_legacy },
	{ B, B, record_legacy },
	{ B, B, wait_legacy },
	{ B, B, set_legacy },
	{ B, B, copy_legacy },
	{ B, B, host_legacy },
	{ B, B, copy_out },
	{ B, B, query_legacy },
	{ N, N, wait_unrecorded },
	{ N, N, launch_legacy },
};

/* Reports how long both took together, from an idle device. */
static void report_total(const struct probe_item *item, cudaError_t error, uint64_t start)
{
	cudaError_t after = cudaDeviceSynchronize();
	double ms = (double)(probe_now() - start) / (double)PROBE_MS;

	error = error == cudaSuccess ? after : error;
	if (error != cudaSuccess)
		probe_error(item->name, error);
	else
		probe_value(item->name, ms, "ms",
			ms < LIMIT_MS ? "overlap" : "one after the other");
}

static void measure_pair(struct bench *bench, const struct probe_item *item)
{
	const struct pair *pair = &pairs[item->argument];
	cudaError_t error = cudaEventCreate(&bench->event);
	uint64_t start;

	if (error == cudaSuccess)
		error = cudaEventRecord(bench->event, bench->watch[PROBE_NONBLOCKING]);
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	start = probe_now();
	if (error == cudaSuccess)
		error = probe_spin(bench->busy[pair->first], PROBE_BUSY_NS);
	if (error == cudaSuccess && pair->middle)
		error = pair->middle(bench);
	if (error == cudaSuccess)
		error = probe_spin(bench->call[pair->second], PROBE_BUSY_NS);
	report_total(item, error, start);
	cudaEventDestroy(bench->event);
}

static cudaError_t capture(struct bench *bench)
{
	cudaStream_t stream = bench->call[PROBE_NONBLOCKING];
	cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);

	if (error == cudaSuccess)
		error = probe_spin(stream, PROBE_BUSY_NS);
	return error == cudaSuccess ? cudaStreamEndCapture(stream, &bench->graph) : error;
}

/* One graph on two streams, by one executable or by two. */
static void measure_graphs(struct bench *bench, const struct probe_item *item)
{
	cudaGraphExec_t exec[2] = { NULL, NULL };
	cudaStream_t stream[] = { bench->busy[PROBE_NONBLOCKING], bench->call[PROBE_NONBLOCKING] };
	cudaError_t error = capture(bench);
	uint64_t start;

	for (int i = 0; i < item->argument && error == cudaSuccess; i++) {
		error = cudaGraphInstantiate(&exec[i], bench->graph, 0);
		if (error == cudaSuccess)
			error = cudaGraphUpload(exec[i], stream[i]);
	}
	if (error == cudaSuccess)
		error = cudaDeviceSynchronize();
	start = probe_now();
	for (int i = 0; i < 2 && error == cudaSuccess; i++)
		error = cudaGraphLaunch(exec[item->argument == 2 ? i : 0], stream[i]);
	report_total(item, error, start);
	for (int i = 0; i < item->argument; i++)
		if (exec[i])
			cudaGraphExecDestroy(exec[i]);
}

static const struct query {
	enum probe_stream busy;
	enum probe_stream asked;
} queries[] = { { B, L }, { N, L }, { L, B }, { L, P }, { B, P }, { L, L } };

static void measure_query(struct bench *bench, const struct probe_item *item)
{
	const struct query *query = &queries[item->argument];
	cudaError_t error = probe_spin(bench->busy[query->busy], PROBE_BUSY_NS), answer, after;

	answer = error == cudaSuccess ? cudaStreamQuery(bench->call[query->asked]) : error;
	cudaGetLastError();
	after = cudaDeviceSynchronize();
	if (error == cudaSuccess && answer != cudaErrorNotReady)
		error = answer;
	if (error != cudaSuccess || after != cudaSuccess)
		probe_error(item->name, error == cudaSuccess ? after : error);
	else
		probe_value(item->name, answer == cudaSuccess, "bool",
			answer == cudaSuccess ? "ready" : "not ready");
}
#undef B
#undef N
#undef L
#undef P

static const struct probe_item items[] = {
	{ "kernels on blocking and blocking", measure_pair, 0 },
	{ "kernels on blocking and legacy", measure_pair, 1 },
	{ "kernels on legacy and blocking", measure_pair, 2 },
	{ "kernels on non-blocking and legacy", measure_pair, 3 },
	{ "kernels on legacy and non-blocking", measure_pair, 4 },
	{ "kernels on per-thread and legacy", measure_pair, 5 },
	{ "kernels on legacy and per-thread", measure_pair, 6 },
	{ "kernels on blocking and per-thread", measure_pair, 7 },
	{ "kernels on non-blocking and per-thread", measure_pair, 8 },
	{ "kernels on non-blocking and non-blocking", measure_pair, 9 },
	{ "kernels on two blocking, a legacy kernel between", measure_pair, 10 },
	{ "kernels on two blocking, cudaEventRecord(legacy) between", measure_pair, 11 },
	{ "kernels on two blocking, cudaStreamWaitEvent(legacy) between", measure_pair, 12 },
	{ "kernels on two blocking, cudaMemsetAsync(legacy) between", measure_pair, 13 },
	{ "kernels on two blocking, cudaMemcpyAsync D2D(legacy) between", measure_pair, 14 },
	{ "kernels on two blocking, cudaLaunchHostFunc(legacy) between", measure_pair, 15 },
	{ "kernels on two blocking, cudaMemcpy D2H between", measure_pair, 16 },
	{ "kernels on two blocking, cudaStreamQuery(legacy) between", measure_pair, 17 },
	{ "kernels on two non-blocking, wait for an event never recorded", measure_pair, 18 },
	{ "kernels on two non-blocking, a legacy kernel between", measure_pair, 19 },
	{ "one executable graph on two streams", measure_graphs, 1 },
	{ "two executables of a graph on two streams", measure_graphs, 2 },
	{ "query of legacy, a blocking stream busy", measure_query, 0 },
	{ "query of legacy, a non-blocking stream busy", measure_query, 1 },
	{ "query of an idle blocking stream, legacy busy", measure_query, 2 },
	{ "query of an idle per-thread stream, legacy busy", measure_query, 3 },
	{ "query of an idle per-thread stream, a blocking stream busy", measure_query, 4 },
	{ "query of legacy, legacy busy", measure_query, 5 },
};

const struct probe_group probe_order_group = { .name = "order",
	.items = items,
	.count = sizeof(items) / sizeof(*items),
	.memory = true };
