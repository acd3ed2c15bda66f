/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the matrix: copies and memsets; after another stream's work, then after their own. */
#include "probe.h"
#include "probe_kernels.h"

#define STEP(name) static cudaError_t name(struct bench *bench, const struct probe_row *row)

static enum cudaMemcpyKind direction(const struct probe_row *row)
{
	if (row->from == PROBE_DEVICE)
		return row->to == PROBE_DEVICE ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
	return row->to == PROBE_DEVICE ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost;
}

STEP(copy)
{
	return cudaMemcpy(bench->memory[row->to][1], bench->memory[row->from][0], row->bytes,
		direction(row));
}

STEP(copy_async)
{
	return cudaMemcpyAsync(bench->memory[row->to][1], bench->memory[row->from][0], row->bytes,
		direction(row), bench->call[row->stream]);
}

STEP(copy_2d)
{
	return cudaMemcpy2D(bench->memory[row->to][1], 2048, bench->memory[row->from][0], 1024,
		1024, row->bytes / 2048, direction(row));
}

STEP(copy_2d_async)
{
	return cudaMemcpy2DAsync(bench->memory[row->to][1], 2048, bench->memory[row->from][0], 1024,
		1024, row->bytes / 2048, direction(row), bench->call[row->stream]);
}

STEP(copy_to_symbol)
{
	return cudaMemcpyToSymbol(probe_variable(), bench->memory[PROBE_PAGEABLE][0], row->bytes, 0,
		cudaMemcpyHostToDevice);
}

STEP(copy_from_symbol)
{
	return cudaMemcpyFromSymbol(bench->memory[PROBE_PAGEABLE][0], probe_variable(), row->bytes,
		0, cudaMemcpyDeviceToHost);
}

STEP(set)
{
	return cudaMemset(bench->memory[row->to][1], 0, row->bytes);
}

STEP(set_async)
{
	return cudaMemsetAsync(bench->memory[row->to][1], 0, row->bytes, bench->call[row->stream]);
}

#define SYNC(text, a, b, size, n) \
	{ "cudaMemcpy " text " " size, .call = copy, .bytes = n, .from = PROBE_##a, \
		.to = PROBE_##b },
#define ASYNC(text, a, b, size, n, which, stream_text) \
	{ "cudaMemcpyAsync " text " " size ", " stream_text " stream", .call = copy_async, \
		.bytes = n, .from = PROBE_##a, .to = PROBE_##b, .stream = PROBE_##which },
#define ASYNCS(text, a, b, size, n) \
	ASYNC(text, a, b, size, n, NONBLOCKING, "non-blocking") \
	ASYNC(text, a, b, size, n, BLOCKING, "blocking") \
	ASYNC(text, a, b, size, n, LEGACY, "legacy")
#define UNPINNED(size, n) \
	SYNC("H2D pageable", PAGEABLE, DEVICE, size, n) \
	SYNC("D2H pageable", DEVICE, PAGEABLE, size, n) \
	SYNC("D2D", DEVICE, DEVICE, size, n) \
	SYNC("H2H", PAGEABLE, PAGEABLE, size, n) \
	ASYNCS("H2D pageable", PAGEABLE, DEVICE, size, n) \
	ASYNCS("D2H pageable", DEVICE, PAGEABLE, size, n)
#define PINNED(size, n) \
	SYNC("H2D pinned", PINNED, DEVICE, size, n) \
	SYNC("D2H pinned", DEVICE, PINNED, size, n) \
	ASYNCS("H2D pinned", PINNED, DEVICE, size, n) \
	ASYNCS("D2H pinned", DEVICE, PINNED, size, n)

static const struct probe_row rows[] = {
	UNPINNED("1 KiB", PROBE_KIB) PINNED("1 KiB", PROBE_KIB) UNPINNED("64 KiB", 64 * PROBE_KIB)
		PINNED("64 KiB", 64 * PROBE_KIB) UNPINNED("1 MiB", PROBE_MIB)
			PINNED("1 MiB", PROBE_MIB) UNPINNED("64 MiB", 64 * PROBE_MIB)
				ASYNC("H2H", PAGEABLE, PAGEABLE, "1 MiB", PROBE_MIB, NONBLOCKING,
					"non-blocking"){ "cudaMemset device 1 MiB", .call = set,
					.bytes = PROBE_MIB, .to = PROBE_DEVICE },
	{ "cudaMemset pinned 1 MiB", .call = set, .bytes = PROBE_MIB, .to = PROBE_PINNED },
	{ "cudaMemsetAsync, non-blocking stream", .call = set_async, .bytes = PROBE_MIB,
		.to = PROBE_DEVICE, .stream = PROBE_NONBLOCKING },
	{ "cudaMemcpyToSymbol", .call = copy_to_symbol, .bytes = 16 },
	{ "cudaMemcpyFromSymbol", .call = copy_from_symbol, .bytes = 16 },
	{ "cudaMemcpy2D H2D pageable", .call = copy_2d, .bytes = PROBE_MIB, .from = PROBE_PAGEABLE,
		.to = PROBE_DEVICE },
	{ "cudaMemcpy2DAsync H2D pinned, non-blocking stream", .call = copy_2d_async,
		.bytes = PROBE_MIB, .from = PROBE_PINNED, .to = PROBE_DEVICE,
		.stream = PROBE_NONBLOCKING },
};

const struct probe_group probe_copy_group = { .name = "copies",
	.rows = rows,
	.count = sizeof(rows) / sizeof(*rows),
	.memory = true };

STEP(synchronize)
{
	return cudaStreamSynchronize(bench->call[row->stream]);
}

STEP(create_event)
{
	return cudaEventCreateWithFlags(&bench->event, cudaEventDisableTiming);
}

STEP(record_and_wait)
{
	cudaError_t error = cudaEventRecord(bench->event, bench->call[row->stream]);

	return error == cudaSuccess ? cudaEventSynchronize(bench->event) : error;
}

STEP(destroy_event)
{
	return cudaEventDestroy(bench->event);
}

STEP(allocate_async)
{
	return cudaMallocAsync(&bench->pointer, row->bytes, bench->call[row->stream]);
}

STEP(release_async)
{
	return cudaFreeAsync(bench->pointer, bench->call[row->stream]);
}

#define OWN(text, a, b, size, n, which, stream_text) \
	{ "cudaMemcpyAsync " text " " size ", busy " stream_text " stream", .call = copy_async, \
		.bytes = n, .from = PROBE_##a, .to = PROBE_##b, .stream = PROBE_##which, \
		.own = true },

static const struct probe_row own[] = {
	OWN("D2H pageable", DEVICE, PAGEABLE, "1 KiB", PROBE_KIB, NONBLOCKING,
		"non-blocking") OWN("D2H pageable", DEVICE, PAGEABLE, "1 KiB", PROBE_KIB, BLOCKING,
		"blocking") OWN("D2H pinned", DEVICE, PINNED, "1 MiB", PROBE_MIB, NONBLOCKING,
		"non-blocking") OWN("H2D pinned", PINNED, DEVICE, "1 MiB", PROBE_MIB, NONBLOCKING,
		"non-blocking") OWN("H2D pageable", PAGEABLE, DEVICE, "4 KiB", 4 * PROBE_KIB,
		NONBLOCKING, "non-blocking") OWN("H2D pageable", PAGEABLE, DEVICE, "1 MiB",
		PROBE_MIB, NONBLOCKING, "non-blocking") OWN("H2D pageable", PAGEABLE, DEVICE,
		"1 MiB", PROBE_MIB, BLOCKING, "blocking") OWN("H2D pageable", PAGEABLE, DEVICE,
		"2 MiB", 2 * PROBE_MIB, NONBLOCKING, "non-blocking") OWN("H2D pageable", PAGEABLE,
		DEVICE, "8 MiB", 8 * PROBE_MIB, NONBLOCKING, "non-blocking") OWN("H2D pageable",
		PAGEABLE, DEVICE, "64 MiB", 64 * PROBE_MIB, NONBLOCKING, "non-blocking")
		OWN("H2H", PAGEABLE, PAGEABLE, "1 MiB", PROBE_MIB, NONBLOCKING,
			"non-blocking"){ "cudaStreamSynchronize, busy non-blocking stream",
			.call = synchronize, .stream = PROBE_NONBLOCKING, .own = true },
	{ "cudaStreamSynchronize, busy per-thread stream", .call = synchronize,
		.stream = PROBE_PER_THREAD, .own = true },
	{ "cudaEventSynchronize, busy non-blocking stream", .prepare = create_event,
		.call = record_and_wait, .cleanup = destroy_event, .stream = PROBE_NONBLOCKING,
		.own = true },
	{ "cudaMallocAsync 1 MiB, busy non-blocking stream", .call = allocate_async,
		.cleanup = release_async, .bytes = PROBE_MIB, .stream = PROBE_NONBLOCKING,
		.own = true },
	{ "cudaFreeAsync 1 MiB, busy non-blocking stream", .prepare = allocate_async,
		.call = release_async, .bytes = PROBE_MIB, .stream = PROBE_NONBLOCKING,
		.own = true },
};

const struct probe_group probe_own_group = { .name = "own streams",
	.rows = own,
	.count = sizeof(own) / sizeof(*own),
	.memory = true };
