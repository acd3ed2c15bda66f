/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_trace CALLS FILE [VARY]: the trace of a program that never was, for bench/load and
 * bench/page. Four threads take turns, each with four streams.  Of 16 calls 8 are launches, 2
 * copies and 1 a memset, each with its operation; an event is recorded and waited for, memory
 * allocated and freed in stream order, and once in 64 calls a thread waits for its stream.  A
 * launch names two pieces of memory.  With VARY times are longer by chance, each by up to so
 * many ns, as those of real programs are: what is packed or drawn must not gain by their being
 * alike.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "writer.h"

enum { THREADS = 4, STREAMS = 4, SITES = 64, CALL_NS = 3000, OPERATION_NS = 2500, ROUND = 16 };
#define BUFFER 0x700000000000ull /* two of each thread, 64 MiB each */
#define POOL 0x710000000000ull

struct thread {
	struct trace_chunk chunk;
	unsigned index;
	uint64_t calls, busy[STREAMS]; /* when what is in a stream ends, ns */
};

static struct maker {
	struct trace_writer writer;
	struct trace_chunk own, device; /* tables, operations */
	struct thread thread[THREADS];
	uint64_t now;
	uint64_t vary, chance; /* ns; the last random number */
	uint32_t correlation;
} maker;

static void *reserve(struct trace_chunk *chunk, size_t bytes, enum record_type type)
{
	void *record = trace_reserve(&maker.writer, chunk, bytes, type);

	if (!record) {
		fprintf(stderr, "make_trace: cannot write: %s\n", strerror(maker.writer.full));
		exit(2);
	}
	return record;
}

/* Up to the chosen time (xorshift, G. Marsaglia 2003). */
static uint64_t longer(void)
{
	if (!maker.vary)
		return 0;
	maker.chance ^= maker.chance << 13;
	maker.chance ^= maker.chance >> 7;
	maker.chance ^= maker.chance << 17;
	return maker.chance % maker.vary;
}

static uint64_t stream_handle(const struct thread *thread, unsigned stream)
{
	return 0x5000 + 256 * (uint64_t)(thread->index * STREAMS + stream);
}

/* A call with its fields in the order of calls.def; returns its correlation id. */
static uint32_t put_call(struct thread *thread, unsigned call, const uint64_t *field,
	const uint64_t *pointer, unsigned pointers)
{
	unsigned fields = call_types[call].field_count;
	size_t tail = (pointers * sizeof(struct launch_pointer) + 7) / 8 * 8;
	struct call_record *record = reserve(&thread->chunk,
		sizeof(*record) + fields * sizeof(*field) + tail, RECORD_CALL);
	struct launch_pointer *word = (struct launch_pointer *)&record->field[fields];

	maker.now += CALL_NS / THREADS + longer() / THREADS;
	record->call = (uint16_t)call;
	record->result = 0;
	record->site = 1 + (uint32_t)(thread->calls * 7 % SITES);
	record->correlation = call_types[call].traits & TRAIT_SUBMITS ? ++maker.correlation : 0;
	record->enter = maker.now;
	record->duration = CALL_NS / 2 + longer() / 2;
	record->context = 1;
	record->pointer_count = (uint16_t)pointers;
	memcpy(record->field, field, fields * sizeof(*field));
	for (unsigned i = 0; i < pointers; i++)
		word[i] = (struct launch_pointer){ 8 * i,
			{ (uint32_t)pointer[i], (uint32_t)(pointer[i] >> 32) } };
	trace_commit(&thread->chunk);
	thread->calls++;
	return record->correlation;
}

static uint64_t field_value(const struct thread *thread, unsigned stream, enum field_kind kind)
{
	uint64_t buffer = BUFFER + ((uint64_t)thread->index << 27);

	switch (kind) {
	case FIELD_stream:
	case FIELD_new_stream:
		return stream_handle(thread, stream);
	case FIELD_event:
	case FIELD_new_event:
		return 0x9000 + thread->index;
	case FIELD_function:
		return 0xf000 + thread->calls % 32;
	case FIELD_grid:
		return CALL_GRID(128 + thread->calls % 64, 1, 1);
	case FIELD_block:
		return CALL_BLOCK(256, 1, 1, 0);
	case FIELD_dst:
		return buffer;
	case FIELD_src:
		return buffer + (1 << 26);
	case FIELD_bytes:
		return 4096 * (1 + thread->calls % 16);
	default:
		return 0;
	}
}

static void put_operation(struct thread *thread, unsigned stream, enum device_kind kind,
	uint32_t correlation)
{
	struct device_record *record = reserve(&maker.device, sizeof(*record), RECORD_DEVICE);
	uint64_t ready = maker.now + 2 * CALL_NS;

	if (thread->busy[stream] < ready)
		thread->busy[stream] = ready;
	record->kind = (uint8_t)kind;
	record->detail = record->src = record->dst = 0;
	if (kind == DEVICE_MEMCPY)
		record->detail = 8, record->src = record->dst = MEMORY_DEVICE;
	record->start = thread->busy[stream] += 1000 + longer();
	record->end = thread->busy[stream] += OPERATION_NS + longer();
	record->correlation = correlation;
	record->context = 1;
	record->device = 0;
	record->stream = 7 + thread->index * STREAMS + stream;
	record->name = kind == DEVICE_KERNEL ? 1 : 0;
	record->value = kind == DEVICE_KERNEL ? 0 : 4096;
	trace_commit(&maker.device);
}

static void call(struct thread *thread, unsigned number, enum device_kind kind, uint64_t memory)
{
	unsigned stream = (unsigned)(thread->calls / ROUND % STREAMS);
	const struct call_type *type = &call_types[number];
	uint64_t field[CALL_MAX_FIELDS], pointer[2] = { BUFFER + ((uint64_t)thread->index << 27) };
	uint32_t correlation;

	pointer[1] = pointer[0] + (1 << 26);
	for (unsigned i = 0; i < type->field_count; i++)
		field[i] = type->field[i] == FIELD_ptr
			? memory
			: field_value(thread, stream, type->field[i]);
	correlation = put_call(thread, number, field, pointer, type->kind == KIND_LAUNCH ? 2 : 0);
	if (kind)
		put_operation(thread, stream, kind, correlation);
}

static void next_call(struct thread *thread)
{
	uint64_t block =
		POOL + ((uint64_t)thread->index << 32) + (thread->calls / ROUND % 1024 << 20);

	switch (thread->calls % ROUND) {
	case 0:
		call(thread, CALL_cuMemAllocAsync, 0, block);
		break;
	case 3:
	case 10:
		call(thread, CALL_cuMemcpyDtoDAsync_v2, DEVICE_MEMCPY, 0);
		break;
	case 5:
		call(thread, CALL_cuMemsetD8Async, DEVICE_MEMSET, 0);
		break;
	case 8:
		call(thread, CALL_cuEventRecord, 0, 0);
		break;
	case 9:
		call(thread, CALL_cuStreamWaitEvent, 0, 0);
		break;
	case 14:
		call(thread, CALL_cuMemFreeAsync, 0, block);
		break;
	case 15:
		call(thread,
			thread->calls % 64 == 63 ? CALL_cuStreamSynchronize : CALL_cuStreamQuery, 0,
			0);
		break;
	default:
		call(thread, CALL_cuLaunchKernel, DEVICE_KERNEL, 0);
	}
}

static void put_calibration(void)
{
	struct calibration_record *record =
		reserve(&maker.own, sizeof(*record), RECORD_CALIBRATION);

	record->ticks = record->realtime_ns = record->cupti_ns = maker.now;
	record->gap_ticks = 50;
	trace_commit(&maker.own);
}

static void put_name(const char *name)
{
	size_t length = strlen(name);
	struct string_record *string = reserve(&maker.own, sizeof(*string) + length, RECORD_STRING);

	string->id = 1;
	string->length = (uint32_t)length;
	memcpy(string->text, name, length);
	for (unsigned i = 0; i < 32; i++) {
		struct function_record *function =
			reserve(&maker.own, sizeof(*function) + length, RECORD_FUNCTION);

		function->name_length = (uint32_t)length;
		function->handle = 0xf000 + i;
		function->parameter_count = FUNCTION_NO_PARAMETERS;
		memcpy(function->data, name, length);
	}
	trace_commit(&maker.own);
}

static void put_tables(void)
{
	struct context_record *context = reserve(&maker.own, sizeof(*context), RECORD_CONTEXT);

	*context = (struct context_record){ .head = context->head,
		.id = 1,
		.cupti_id = 1,
		.handle = 0xc0 };
	for (uint32_t i = 1; i <= SITES; i++) {
		struct site_record *site =
			reserve(&maker.own, sizeof(*site) + 3 * sizeof(uint64_t), RECORD_SITE);

		site->id = i;
		for (unsigned j = 0; j < 3; j++)
			site->address[j] = 0x400000 + 64 * i + j;
	}
	put_name("_Z6kernelPfPKf");
	put_calibration();
}

static void start_thread(struct thread *thread, unsigned index)
{
	uint64_t field[CALL_MAX_FIELDS] = { 0 };

	thread->index = index;
	thread->chunk.thread = 100 + index;
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct call_type *type = &call_types[CALL_cuStreamCreate];

		for (unsigned j = 0; j < type->field_count; j++)
			field[j] = field_value(thread, i, type->field[j]);
		put_call(thread, CALL_cuStreamCreate, field, NULL, 0);
	}
	thread->calls = 0;
	for (unsigned i = 0; i < 2; i++) {
		const struct call_type *type = &call_types[CALL_cuMemAlloc_v2];

		for (unsigned j = 0; j < type->field_count; j++)
			field[j] = type->field[j] == FIELD_ptr
				? BUFFER + ((uint64_t)index << 27) + (i << 26)
				: 1 << 26;
		put_call(thread, CALL_cuMemAlloc_v2, field, NULL, 0);
	}
	thread->calls = 0;
}

int main(int argc, char **argv)
{
	const struct trace_start start = {
		.pid = 100,
		.parent_pid = 1,
		.clock = CLOCK_TICKS_MONOTONIC,
		.features = FEATURE_CALLS | FEATURE_DEVICE,
		.realtime_ns = 1000000000,
	};
	uint64_t count = argc == 3 || argc == 4 ? strtoull(argv[1], NULL, 10) : 0;

	if (!count || trace_create(&maker.writer, argv[2], &start)) {
		fputs("usage: make_trace CALLS FILE (that does not exist) [VARY]\n", stderr);
		return 2;
	}
	maker.vary = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	maker.chance = 88172645463325252;
	maker.writer.header->cupti_state = CUPTI_STATE_ON;
	maker.now = start.realtime_ns;
	put_tables();
	for (unsigned i = 0; i < THREADS; i++)
		start_thread(&maker.thread[i], i);
	for (uint64_t i = 0; i < count; i++) {
		next_call(&maker.thread[i % THREADS]);
		if (i % 250000 == 0)
			put_calibration();
	}
	put_calibration();
	trace_finish(&maker.writer);
	return 0;
}
