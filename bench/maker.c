/* SPDX-License-Identifier: Apache-2.0 */
#include "maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writer.h"

enum { CALL_NS = 1500, START_NS = 1000, WAKE_NS = 5000 };
#define IMAGE 0x11
#define MODULE 0xa0
#define FUNCTION 0xf000
#define STREAM 0x50000000
#define EVENT 0x9000
#define COMMUNICATOR 0xc000

struct maker {
	struct trace_writer writer;
	struct trace_chunk own, device; /* tables, operations */
	struct trace_chunk *thread;
	uint64_t *busy;     /* by stream: when what is in it ends, ns */
	uint64_t *recorded; /* by event: when what it stands for ends */
	uint64_t engine[2]; /* from the host and to it: when the copy engine is free */
	uint64_t last;      /* when the last operation ends */
	uint64_t now, calls;
	uint32_t correlation;
};

static void fail(const char *why)
{
	fprintf(stderr, "maker: cannot write: %s\n", why);
	exit(2);
}

static void *reserve(struct maker *maker, struct trace_chunk *chunk, size_t bytes,
	enum record_type type)
{
	void *record = trace_reserve(&maker->writer, chunk, bytes, type);

	if (!record)
		fail(strerror(maker->writer.full));
	return record;
}

/* --- calls --- */

static uint64_t value_of(const struct maker *maker, const struct made *made, enum field_kind kind)
{
	switch (kind) {
	case FIELD_stream:
	case FIELD_new_stream:
		return made->stream ? STREAM + 256 * (uint64_t)made->stream : STREAM_NULL;
	case FIELD_event:
	case FIELD_new_event:
		return EVENT + made->event;
	case FIELD_function:
		return FUNCTION + made->kernel;
	case FIELD_grid:
		return CALL_GRID(MAKER_GRID, 1, 1);
	case FIELD_block:
		return CALL_BLOCK(MAKER_BLOCK, 1, 1, 0);
	case FIELD_flags: /* CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING, no flags of waits */
		return made->call == CALL_cuEventCreate ? 2 : 0;
	case FIELD_ptr:
		return made->ptr;
	case FIELD_dst:
		return made->dst;
	case FIELD_src:
		return made->src;
	case FIELD_bytes:
		return made->bytes;
	case FIELD_module:
		return MODULE;
	case FIELD_image:
		return IMAGE;
	case FIELD_graph:
	case FIELD_new_graph:
		return made->graph;
	case FIELD_new_node:
		return made->node;
	case FIELD_exec:
	case FIELD_new_exec:
		return made->exec;
	case FIELD_handle: /* of the communicator */
	case FIELD_name:
		return COMMUNICATOR;
	case FIELD_ranks:
		return made->ranks;
	case FIELD_peer:
		return made->rank;
	case FIELD_value:
		return made->sequence;
	case FIELD_elements:
		return made->bytes / sizeof(float);
	case FIELD_send:
	case FIELD_receive:
		return made->ptr;
	case FIELD_send_bytes:
	case FIELD_receive_bytes:
		return made->bytes;
	case FIELD_began: /* before its launch */
		return maker->now - CALL_NS - CALL_NS / 2;
	case FIELD_count: /* a node comes after the one before it */
		return made->node > 1;
	default:
		return 0;
	}
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The legacy stream and blocking streams wait for each other. */
static uint64_t pending(const struct maker *maker, unsigned stream)
{
	return stream ? later(maker->busy[stream], maker->busy[0]) : maker->last;
}

/* When a call returns: one that names no stream waits for all of them. */
static uint64_t end_of(const struct maker *maker, const struct made *made)
{
	uint64_t end = maker->now + CALL_NS;

	return made->waits ? later(end, pending(maker, made->stream) + WAKE_NS) : end;
}

static void order_by_event(struct maker *maker, const struct made *made)
{
	uint64_t *recorded = &maker->recorded[made->event], *busy = &maker->busy[made->stream];

	if (made->call == CALL_cuEventRecord)
		*recorded = pending(maker, made->stream);
	else if (made->call == CALL_cuStreamWaitEvent)
		*busy = later(*busy, *recorded);
}

static enum device_kind operation_of(const struct made *made)
{
	return call_types[made->call].kind == KIND_LAUNCH ? DEVICE_KERNEL : made->runs;
}

/* CUPTI's kinds of copies, of record.h. */
static unsigned copy_kind(const struct made *made)
{
	return made->from_host ? 1 : made->to_host ? 2 : 8;
}

static uint64_t length_of(const struct made *made)
{
	return made->ns ? made->ns : MAKER_OPERATION_NS;
}

/* When the operation can begin, and its copy engine then is busy. */
static uint64_t start_of(struct maker *maker, const struct made *made)
{
	uint64_t start = later(pending(maker, made->stream), maker->now + CALL_NS) + START_NS;

	if (made->from_host || made->to_host) {
		start = later(start, maker->engine[made->to_host]);
		maker->engine[made->to_host] = start + length_of(made);
	}
	return start;
}

static void put_operation(struct maker *maker, const struct made *made, enum device_kind kind)
{
	struct device_record *record =
		reserve(maker, &maker->device, sizeof(*record), RECORD_DEVICE);
	uint64_t *busy = &maker->busy[made->stream];

	record->kind = (uint8_t)kind;
	if (kind == DEVICE_MEMCPY) {
		record->detail = (uint8_t)copy_kind(made);
		record->src = made->from_host ? MEMORY_PINNED : MEMORY_DEVICE;
		record->dst = made->to_host ? MEMORY_PINNED : MEMORY_DEVICE;
		record->value = made->bytes;
	}
	record->start = start_of(maker, made);
	record->end = *busy = record->start + length_of(made);
	maker->last = later(maker->last, *busy);
	record->correlation = maker->correlation;
	record->context = 1;
	record->stream = 7 + made->stream;
	record->name = kind == DEVICE_KERNEL ? made->kernel : 0;
	trace_commit(&maker->device);
}

static void put_call(struct maker *maker, const struct made *made, uint64_t end)
{
	const struct call_type *type = &call_types[made->call];
	struct trace_chunk *chunk = &maker->thread[made->thread];
	int is_node = made->call == CALL_cuGraphAddKernelNode_v2, after = is_node && made->node > 1;
	int launches = type->kind == KIND_LAUNCH || is_node;
	size_t words = launches ? made->kernel : 0;
	struct call_record *record = reserve(maker, chunk,
		sizeof(*record) + (type->field_count + words + (size_t)after) * sizeof(uint64_t),
		RECORD_CALL);

	record->head.flags = words ? CALL_BUFFER : 0;
	record->call = (uint16_t)made->call;
	record->result = made->not_ready ? 600 : 0;
	record->site = made->site ? made->site : 1 + made->call * 7 % MAKER_SITES;
	record->correlation = maker->correlation;
	record->enter = maker->now;
	record->duration = (uint32_t)(end - maker->now);
	record->context = 1;
	record->pointer_count = (uint16_t)words;
	for (unsigned i = 0; i < type->field_count; i++)
		record->field[i] = value_of(maker, made, type->field[i]);
	memcpy(record->field + type->field_count, made->pointer, words * sizeof(uint64_t));
	if (after)
		record->field[type->field_count + words] = made->node - 1;
	trace_commit(chunk);
}

static void put_calibration(struct maker *maker)
{
	struct calibration_record *record =
		reserve(maker, &maker->own, sizeof(*record), RECORD_CALIBRATION);

	record->ticks = record->realtime_ns = record->cupti_ns = maker->now;
	record->gap_ticks = 50;
	trace_commit(&maker->own);
}

void maker_call(struct maker *maker, const struct made *made)
{
	enum device_kind kind = operation_of(made);
	uint64_t end;

	if (kind) {
		maker->correlation++;
		put_operation(maker, made, kind);
	}
	order_by_event(maker, made);
	end = end_of(maker, made);
	put_call(maker, made, end);
	maker->now = end + CALL_NS / 2;
	if (++maker->calls % 250000 == 0)
		put_calibration(maker);
}

/* --- tables --- */

static void write_kernel(FILE *out, unsigned pointers)
{
	fprintf(out, ".visible .entry k%u(", pointers);
	for (unsigned i = 0; i < pointers; i++)
		fprintf(out, "%s.param .u64 p%u", i ? ", " : "", i);
	fputs(")\n{\n.reg .f32 %f<2>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n"
	      "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
	      "mad.lo.s32 %r4, %r1, %r2, %r3;\nmul.wide.s32 %rd1, %r4, 4;\n",
		out);
	for (unsigned i = pointers; i-- > 0;)
		fprintf(out,
			"ld.param.u64 %%rd2, [p%u];\ncvta.to.global.u64 %%rd3, %%rd2;\n"
			"add.s64 %%rd4, %%rd3, %%rd1;\n%s;\n",
			i, i ? "ld.global.f32 %f1, [%rd4]" : "st.global.f32 [%rd4], %f1");
	fputs("ret;\n}\n", out);
}

static void put_code(struct maker *maker)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct image_record *image;

	if (!out)
		fail("out of memory");
	fputs(".version 7.0\n.target sm_75\n.address_size 64\n", out);
	for (unsigned i = 1; i <= MAKER_KERNELS; i++)
		write_kernel(out, i);
	fclose(out);
	image = reserve(maker, &maker->own, sizeof(*image) + size, RECORD_IMAGE);
	image->length = (uint32_t)size;
	image->hash = IMAGE;
	image->total = size;
	memcpy(image->data, text, size);
	trace_commit(&maker->own);
	free(text);
}

static void put_kernel(struct maker *maker, unsigned number)
{
	char name[8];
	size_t length = (size_t)snprintf(name, sizeof(name), "k%u", number);
	size_t parameters = number * sizeof(struct function_parameter);
	struct string_record *string =
		reserve(maker, &maker->own, sizeof(*string) + length, RECORD_STRING);
	struct function_record *function;

	string->id = number;
	string->length = (uint32_t)length;
	memcpy(string->text, name, length);
	trace_commit(&maker->own);
	function = reserve(maker, &maker->own, sizeof(*function) + parameters + length,
		RECORD_FUNCTION);
	function->name_length = (uint32_t)length;
	function->handle = FUNCTION + number;
	function->parameter_count = number;
	for (unsigned i = 0; i < number; i++)
		memcpy(function->data + i * sizeof(struct function_parameter),
			&(struct function_parameter){ (uint16_t)(8 * i), 8 },
			sizeof(struct function_parameter));
	memcpy(function->data + parameters, name, length);
	trace_commit(&maker->own);
}

/* Where the device of a process sits. */
static void put_place(struct maker *maker, unsigned number)
{
	static const char name[] = "device.0.pci_bus_id";
	struct property_record *property;
	char value[16];
	size_t length = (size_t)snprintf(value, sizeof(value), "%u", 1 + number);

	property = reserve(maker, &maker->own, sizeof(*property) + strlen(name) + length,
		RECORD_PROPERTY);
	property->name_length = (uint16_t)strlen(name);
	property->value_length = (uint16_t)length;
	memcpy(property->data, name, strlen(name));
	memcpy(property->data + strlen(name), value, length);
	trace_commit(&maker->own);
}

static void put_machine(struct maker *maker)
{
	struct context_record *context =
		reserve(maker, &maker->own, sizeof(*context), RECORD_CONTEXT);
	struct device_info_record *device;

	*context = (struct context_record){ context->head, 1, 1, 0xc0, 0, 0 };
	trace_commit(&maker->own);
	device = reserve(maker, &maker->own, sizeof(*device) + 4, RECORD_DEVICE_INFO);
	device->sm_count = 132;
	device->threads_per_sm = 2048;
	device->blocks_per_sm = 32;
	device->compute_major = 9;
	device->async_engines = 3;
	device->name_length = 4;
	memcpy(device->name, "H200", 4);
	trace_commit(&maker->own);
}

static void put_sites(struct maker *maker)
{
	for (uint32_t i = 1; i <= MAKER_SITES; i++) {
		struct site_record *site = reserve(maker, &maker->own,
			sizeof(*site) + 3 * sizeof(uint64_t), RECORD_SITE);

		site->id = i;
		for (unsigned j = 0; j < 3; j++)
			site->address[j] = 0x400000 + 64 * i + j;
		trace_commit(&maker->own);
	}
}

static void put_module(struct maker *maker)
{
	MAKE(maker, .call = CALL_cuModuleLoadData);
	for (unsigned i = 1; i <= MAKER_KERNELS; i++)
		MAKE(maker, .call = CALL_cuModuleGetFunction, .kernel = i);
}

struct maker *maker_new(const char *path, unsigned threads, unsigned streams, unsigned events)
{
	return maker_new_process(path, 0, threads, streams, events);
}

struct maker *maker_new_process(const char *path, unsigned number, unsigned threads,
	unsigned streams, unsigned events)
{
	const struct trace_start start = {
		.pid = 100 + number,
		.parent_pid = 1,
		.clock = CLOCK_TICKS_MONOTONIC,
		.features = FEATURE_CALLS | FEATURE_DEVICE,
		.realtime_ns = 1000000000,
	};
	struct maker *maker = calloc(1, sizeof(*maker));

	if (!maker || !(maker->thread = calloc(threads, sizeof(*maker->thread))) ||
		!(maker->busy = calloc(streams + 1, sizeof(*maker->busy))) ||
		!(maker->recorded = calloc(events + 1, sizeof(*maker->recorded))))
		fail("out of memory");
	for (unsigned i = 0; i < threads; i++)
		maker->thread[i].thread = 101 + i;
	if (trace_create(&maker->writer, path, &start))
		fail("the file cannot be created");
	maker->writer.header->cupti_state = CUPTI_STATE_ON;
	maker->now = start.realtime_ns;
	put_machine(maker);
	put_place(maker, number);
	put_sites(maker);
	put_code(maker);
	for (unsigned i = 1; i <= MAKER_KERNELS; i++)
		put_kernel(maker, i);
	put_calibration(maker);
	put_module(maker);
	return maker;
}

void maker_finish(struct maker *maker)
{
	put_calibration(maker);
	trace_finish(&maker->writer);
	free(maker->thread);
	free(maker->busy);
	free(maker->recorded);
	free(maker);
}
