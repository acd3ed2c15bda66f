/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze_cases.h"

#include "maker.h"

#define BUFFER 0x700000000000ull
#define PINNED 0x600000000000ull
#define ROOM (1u << 20) /* from one buffer to the next */

enum { STREAMS = 16, THREADS = 4 };

static uint64_t buffer(uint64_t number)
{
	return BUFFER + number * ROOM;
}

static void create_streams(struct maker *maker, unsigned count)
{
	for (unsigned i = 1; i <= count; i++)
		MAKE(maker, .call = CALL_cuStreamCreate, .stream = i);
}

static void create_events(struct maker *maker, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		MAKE(maker, .call = CALL_cuEventCreate, .event = 1 + i);
}

static void create_buffers(struct maker *maker, uint64_t count)
{
	MAKE(maker, .call = CALL_cuMemHostAlloc, .ptr = PINNED, .bytes = 1 << 26);
	for (uint64_t i = 0; i < count; i++)
		MAKE(maker, .call = CALL_cuMemAlloc_v2, .ptr = buffer(i), .bytes = ROOM);
}

static void launch(struct maker *maker, unsigned thread, unsigned stream, uint64_t to,
	uint64_t from)
{
	MAKE(maker, .call = CALL_cuLaunchKernel, .thread = thread, .stream = stream, .kernel = 3,
		.pointer = { buffer(to), buffer(from), buffer(from) + ROOM / 2 });
}

static void synchronize(struct maker *maker, unsigned thread, unsigned stream)
{
	MAKE(maker, .call = CALL_cuStreamSynchronize, .thread = thread, .stream = stream,
		.waits = 1);
}

static void record(struct maker *maker, unsigned event, unsigned stream)
{
	MAKE(maker, .call = CALL_cuEventRecord, .event = 1 + event, .stream = stream);
}

static void wait_for(struct maker *maker, unsigned event, unsigned stream)
{
	MAKE(maker, .call = CALL_cuStreamWaitEvent, .event = 1 + event, .stream = stream);
}

/* Four threads with four streams each, and two buffers a stream. */
static void make_launches(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, THREADS, things, things);

	create_streams(maker, things);
	create_buffers(maker, 2 * things);
	for (uint64_t i = 0; i < calls; i++) {
		unsigned thread = i % THREADS, stream = 1 + (unsigned)(i % things);

		if (i / things % 64 == 63)
			synchronize(maker, thread, stream);
		else
			launch(maker, thread, stream, 2 * (stream - 1) + i / things % 2,
				2 * (stream - 1) + 1 - i / things % 2);
	}
	maker_finish(maker);
}

static void copy(struct maker *maker, unsigned stream, int from_host, int to_host, uint64_t dst,
	uint64_t src)
{
	MAKE(maker,
		.call = from_host ? CALL_cuMemcpyHtoDAsync_v2
			: to_host ? CALL_cuMemcpyDtoHAsync_v2
				  : CALL_cuMemcpyDtoDAsync_v2,
		.stream = stream, .runs = DEVICE_MEMCPY, .from_host = from_host, .to_host = to_host,
		.dst = to_host ? PINNED + dst % 1024 * 65536 : buffer(dst),
		.src = from_host ? PINNED + src % 1024 * 65536 : buffer(src), .bytes = 65536);
}

static void make_copies(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, things, things);

	create_streams(maker, things);
	create_buffers(maker, 2 * things);
	for (uint64_t i = 0; i < calls; i++) {
		unsigned stream = 1 + (unsigned)(i % things), own = 2 * (stream - 1);

		if (i / things % 32 == 31)
			synchronize(maker, 0, stream);
		else
			copy(maker, stream, i / things % 3 == 0, i / things % 3 == 2,
				own + (i / things % 3 == 1), own);
	}
	maker_finish(maker);
}

/* Two streams hand a buffer to each other, as many times. */
static void make_events(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, things, things);

	create_streams(maker, things);
	create_buffers(maker, things + 1);
	create_events(maker, things);
	for (uint64_t i = 0; i < calls / 4; i++) {
		unsigned stream = (unsigned)(i % things), next = (stream + 1) % things;

		launch(maker, 0, 1 + stream, stream, next);
		record(maker, stream, 1 + stream);
		wait_for(maker, stream, 1 + next);
		if (i % 16 == 15)
			MAKE(maker, .call = CALL_cuEventSynchronize, .event = 1 + stream,
				.stream = 1 + stream, .waits = 1);
		else
			launch(maker, 0, 1 + next, next, stream);
	}
	maker_finish(maker);
}

static void make_polling(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, things, things);

	create_streams(maker, things);
	create_buffers(maker, 2 * things);
	create_events(maker, things);
	for (uint64_t i = 0; i < calls; i++) {
		unsigned stream = (unsigned)(i / 16 % things);

		switch (i % 16) {
		case 0:
			launch(maker, 0, 1 + stream, 2 * stream, 2 * stream + 1);
			break;
		case 1:
			record(maker, stream, 1 + stream);
			break;
		case 15:
			MAKE(maker, .call = CALL_cuEventSynchronize, .event = 1 + stream,
				.stream = 1 + stream, .waits = 1);
			break;
		default:
			if (i % 2)
				MAKE(maker, .call = CALL_cuEventQuery, .event = 1 + stream,
					.not_ready = 1);
			else
				MAKE(maker, .call = CALL_cuStreamQuery, .stream = 1 + stream,
					.not_ready = 1);
		}
	}
	maker_finish(maker);
}

/* A chain of kernels, on four buffers. */
static void make_graph(struct maker *maker, unsigned number, unsigned nodes)
{
	uint64_t first = number % STREAMS * 4;

	MAKE(maker, .call = CALL_cuGraphCreate, .graph = 0x100000 + number);
	for (unsigned i = 1; i <= nodes; i++)
		MAKE(maker, .call = CALL_cuGraphAddKernelNode_v2, .graph = 0x100000 + number,
			.node = i, .kernel = 3,
			.pointer = { buffer(first + i % 4), buffer(first + (i + 1) % 4),
				buffer(first + (i + 1) % 4) + ROOM / 2 });
	MAKE(maker, .call = CALL_cuGraphInstantiateWithFlags, .graph = 0x100000 + number,
		.exec = 0x200000 + number);
}

static void launch_graph(struct maker *maker, unsigned number, unsigned stream)
{
	MAKE(maker, .call = CALL_cuGraphLaunch, .exec = 0x200000 + number, .stream = stream,
		.runs = DEVICE_GRAPH);
}

static void launch_graphs(const char *path, uint64_t launches, unsigned graphs, unsigned nodes)
{
	struct maker *maker = maker_new(path, 1, STREAMS, 0);

	create_streams(maker, STREAMS);
	create_buffers(maker, 4 * STREAMS);
	for (unsigned i = 0; i < graphs; i++)
		make_graph(maker, i, nodes);
	for (uint64_t i = 0; i < launches; i++) {
		unsigned number = (unsigned)(i % graphs), stream = 1 + number % STREAMS;

		launch_graph(maker, number, stream);
		if (i % 64 == 63)
			synchronize(maker, 0, stream);
	}
	maker_finish(maker);
}

static void make_graphs(const char *path, uint64_t calls, unsigned things)
{
	launch_graphs(path, calls, things, 10);
}

static void make_many_graphs(const char *path, uint64_t calls, unsigned things)
{
	launch_graphs(path, 150 * (uint64_t)things, things, (unsigned)(calls / things) - 150);
}

static void make_large_graph(const char *path, uint64_t calls, unsigned things)
{
	launch_graphs(path, calls - things, 1, things);
}

/* Copies in streams that come and go, 64 at a time, and in the legacy stream. */
static void make_lives_with_copies(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, 64, things);
	uint64_t each = calls / things * 64;

	create_buffers(maker, 5000);
	for (unsigned lives = 0; lives < things; lives += 64) {
		create_streams(maker, 64);
		for (uint64_t i = 0; i < each; i++) {
			unsigned stream = i % 16 ? 1 + (unsigned)(i % 64) : 0;

			copy(maker, stream, i % 3 == 0, i % 3 == 2, i * 7 % 5000, i * 11 % 5000);
		}
		for (unsigned i = 1; i <= 64; i++) {
			synchronize(maker, 0, i);
			MAKE(maker, .call = CALL_cuStreamDestroy_v2, .stream = i);
		}
	}
	maker_finish(maker);
}

static void make_legacy(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, things, things);

	create_streams(maker, things);
	create_buffers(maker, 128);
	for (uint64_t i = things; i < calls; i++)
		launch(maker, 0, i % 16 ? 1 + (unsigned)(i % things) : 0, i % 64, 64 + i % 64);
	maker_finish(maker);
}

static void make_chain(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, things, things);

	create_streams(maker, things);
	create_buffers(maker, 64);
	create_events(maker, things);
	for (uint64_t i = 0; i < (calls - 2 * things) / 3; i++) {
		unsigned stream = (unsigned)(i % things);

		if (i)
			wait_for(maker, (unsigned)((i - 1) % things), 1 + stream);
		launch(maker, 0, 1 + stream, i % 64, (i + 1) % 64);
		record(maker, stream, 1 + stream);
	}
	maker_finish(maker);
}

static void make_threads(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, things, STREAMS, things);

	create_streams(maker, STREAMS);
	create_buffers(maker, 2 * STREAMS);
	for (uint64_t i = 0; i < calls; i++) {
		unsigned stream = (unsigned)(i % STREAMS);

		if (i % 64 == 63)
			synchronize(maker, (unsigned)(i % things), 1 + stream);
		else
			launch(maker, (unsigned)(i % things), 1 + stream, 2 * stream,
				2 * stream + 1);
	}
	maker_finish(maker);
}

static void make_stream_lives(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, 1, things);

	create_buffers(maker, 2);
	for (unsigned life = 0; life < things; life++) {
		create_streams(maker, 1);
		for (uint64_t i = 3; i < calls / things; i++)
			launch(maker, 0, 1, life % 2, 1 - life % 2);
		synchronize(maker, 0, 1);
		MAKE(maker, .call = CALL_cuStreamDestroy_v2, .stream = 1);
	}
	maker_finish(maker);
}

static void make_many_events(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, STREAMS, things);

	create_streams(maker, STREAMS);
	create_buffers(maker, 2 * STREAMS);
	create_events(maker, things);
	for (uint64_t i = 0; i < (calls - things) / 3; i++) {
		unsigned stream = (unsigned)(i % STREAMS);

		launch(maker, 0, 1 + stream, 2 * stream, 2 * stream + 1);
		record(maker, (unsigned)(i % things), 1 + stream);
		wait_for(maker, (unsigned)((i + things / 2) % things), 1 + stream);
	}
	maker_finish(maker);
}

/* Each call works on another buffer than the last ones, and buffers are freed and made again. */
static void make_allocations(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, STREAMS, things);
	uint64_t freed = 0;

	create_streams(maker, STREAMS);
	create_buffers(maker, things);
	for (uint64_t i = things; i < calls; i++) {
		unsigned stream = 1 + (unsigned)(i % STREAMS);

		if (i % 64 == 0) {
			MAKE(maker, .call = CALL_cuMemFree_v2, .ptr = buffer(freed), .waits = 1);
			MAKE(maker, .call = CALL_cuMemAlloc_v2, .ptr = buffer(freed++ % things),
				.bytes = ROOM);
			i++;
		} else {
			launch(maker, 0, stream, i % (things / STREAMS) * STREAMS + stream - 1,
				(i + 7) % (things / STREAMS) * STREAMS + stream - 1);
		}
	}
	maker_finish(maker);
}

/* Streams take turns on buffers that all of them use, each after the last one. */
static void share(const char *path, uint64_t calls, unsigned kernel)
{
	struct maker *maker = maker_new(path, 1, STREAMS, STREAMS);

	create_streams(maker, STREAMS);
	create_buffers(maker, 64);
	create_events(maker, STREAMS);
	for (uint64_t i = 0; i < calls / 3; i++) {
		unsigned stream = (unsigned)(i % STREAMS);
		struct made made = { .call = CALL_cuLaunchKernel,
			.stream = 1 + stream,
			.kernel = kernel };

		for (unsigned j = 0; j < kernel; j++)
			made.pointer[j] = buffer((i + j * 3) % 64);
		wait_for(maker, (stream + STREAMS - 1) % STREAMS, 1 + stream);
		maker_call(maker, &made);
		record(maker, stream, 1 + stream);
	}
	maker_finish(maker);
}

static void make_shared_3(const char *path, uint64_t calls, unsigned things)
{
	(void)things;
	share(path, calls, 3);
}

static void make_shared_20(const char *path, uint64_t calls, unsigned things)
{
	(void)things;
	share(path, calls, 20);
}

/* Memory that one stream allocates, another one reads and the first one frees, again and again. */
static void make_shared_lives(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 1, STREAMS, STREAMS);

	(void)things;
	create_streams(maker, STREAMS);
	create_events(maker, STREAMS);
	for (uint64_t i = 0; i < calls / 8; i++) {
		unsigned first = (unsigned)(i % STREAMS), second = (first + 1) % STREAMS;

		MAKE(maker, .call = CALL_cuMemAllocAsync, .stream = 1 + first,
			.ptr = buffer(i % 64), .bytes = ROOM);
		launch(maker, 0, 1 + first, i % 64, i % 64);
		record(maker, first, 1 + first);
		wait_for(maker, first, 1 + second);
		launch(maker, 0, 1 + second, i % 64, i % 64);
		record(maker, second, 1 + second);
		wait_for(maker, second, 1 + first);
		MAKE(maker, .call = CALL_cuMemFreeAsync, .stream = 1 + first,
			.ptr = buffer(i % 64));
	}
	maker_finish(maker);
}

/* One thread launches, the other one waits for it and asks how long it took, and does nothing else
 * until the end. */
static void make_watched(const char *path, uint64_t calls, unsigned things)
{
	struct maker *maker = maker_new(path, 2, things, 1);

	create_streams(maker, things);
	create_buffers(maker, 2 * things);
	create_events(maker, 1);
	record(maker, 0, 1);
	for (uint64_t i = 0; i < calls / 3; i++) {
		unsigned stream = (unsigned)(i % things);

		launch(maker, 0, 1 + stream, 2 * stream, 2 * stream + 1);
		synchronize(maker, 1, 1 + stream);
		MAKE(maker, .call = CALL_cuEventElapsedTime_v2, .thread = 1, .event = 1);
	}
	launch(maker, 1, 1, 0, 1);
	maker_finish(maker);
}

enum { M = 1000000 };

/* clang-format off */
const struct bench_case bench_cases[] = {
	{ "launches", STREAMS, M, 1, 0, make_launches },
	{ "copies", STREAMS, M, 1, 0, make_copies },
	{ "events", STREAMS, M, 1, 0, make_events },
	{ "polling", STREAMS, M, 1, 0, make_polling },
	{ "graphs", 8, M, 1, 0, make_graphs },
	{ "legacy copies, 1088 stream lives", 1088, M + 50000, 1, 0, make_lives_with_copies },
	{ "200000 waits in a row", STREAMS, 600000, 3, 0, make_watched },
	{ "legacy work, 16000 streams", 16000, M / 2, 3, 0, make_legacy },
	{ "chain of waits, 20000 streams", 20000, M / 2, 3, 0, make_chain },
	{ "10000 threads in turn", 10000, M / 2, 3, 0, make_threads },
	{ "100000 stream lives", 100000, M / 2, 3, 0, make_stream_lives },
	{ "100000 events", 100000, M / 2, 3, 0, make_many_events },
	{ "100000 live allocations", 100000, M / 2, 3, 0, make_allocations },
	{ "900 graphs, 150 times each", 900, 900 * 200, 3, 0, make_many_graphs },
	{ "a graph of 50000 nodes", 50000, 250000, 3, 0, make_large_graph },
	{ "shared memory, 3 accesses", STREAMS, M / 2, 3, 200000, make_shared_3 },
	{ "shared memory, 20 accesses", STREAMS, M / 2, 6, 50000, make_shared_20 },
	{ "shared memory that comes and goes", STREAMS, M, 3, 200000, make_shared_lives },
};
/* clang-format on */
const unsigned bench_case_count = sizeof(bench_cases) / sizeof(*bench_cases);
