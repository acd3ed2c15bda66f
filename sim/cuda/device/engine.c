/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_engine.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_state.h"
#include "cuda_thread.h"

/* Latencies of an H200 as measured with CUPTI, ns: see doc/MEASUREMENTS.md. */
enum {
	START_LATENCY = 5900, /* launch to start on an idle device */
	MARKER_LATENCY = 4000,
	SAME_STREAM_GAP = 1000,
	CROSS_STREAM_GAP = 1300,
	COPY_GAP = 2000,       /* after a kernel */
	COPY_ENGINE_GAP = 800, /* from one copy to the next on one engine */
	HOST_FUNCTION_TIME = 1000,
};

static _Atomic uint64_t now = SIM_EPOCH;

/* Binary heap of scheduled ops, by due time, then by order of submission. */
static struct op **heap;
static size_t heap_count, heap_capacity;
static uint64_t submissions;

/* Ops that wait for a memory value; usually few. */
static struct op *watching; /* linked by op.engine_next */

uint64_t cufence_sim_clock(void)
{
	return atomic_load_explicit(&now, memory_order_relaxed);
}

uint64_t time_now(void)
{
	return cufence_sim_clock();
}

static bool earlier(const struct op *a, const struct op *b)
{
	return a->due != b->due ? a->due < b->due : a->order < b->order;
}

static void schedule(struct op *op, uint64_t due)
{
	size_t i = heap_count++;

	if (i == heap_capacity) {
		heap_capacity = heap_capacity ? heap_capacity * 2 : 64;
		heap = must_realloc(heap, heap_capacity * sizeof(*heap));
	}
	op->due = due;
	while (i && earlier(op, heap[(i - 1) / 2])) {
		heap[i] = heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	heap[i] = op;
	keeper_wake();
}

static struct op *heap_pop(void)
{
	struct op *top = heap[0], *last = heap[--heap_count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < heap_count) {
		if (child + 1 < heap_count && earlier(heap[child + 1], heap[child]))
			child++;
		if (!earlier(heap[child], last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

struct op *op_new(enum op_kind kind, struct stream *stream, uint64_t duration)
{
	struct op *op = must_realloc(NULL, sizeof(*op));

	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->stream = stream;
	op->duration = duration;
	op->references = 1;
	if (kind == OP_HOST)
		host_prepare();
	return op;
}

void op_put(struct op *op)
{
	if (!op || --op->references)
		return;
	free(op->dependents);
	op_put(op->started);
	free(op->staging);
	free(op->half);
	free(op);
}

void op_after(struct op *op, struct op *other)
{
	if (!op_pending(other))
		return;
	/* Capacity is a power of two: the array is full when the count is one. */
	if (!(other->dependent_count & (other->dependent_count - 1)))
		other->dependents = must_realloc(other->dependents,
			2 * (other->dependent_count + 1) * sizeof(struct op *));
	other->dependents[other->dependent_count++] = op;
	op->blockers++;
}

struct op *join_new(void)
{
	return op_new(OP_MARKER, NULL, 0);
}

struct op *op_started(struct op *op)
{
	if (op->started)
		return op->started;
	op->started = join_new();
	op->started->blockers = op->state >= OP_RUNNING ? 0 : 1;
	op_submit(op->started);
	return op->started;
}

static bool reaches(struct op *from, const struct op *to, uint64_t visit)
{
	if (from == to)
		return true;
	from->visit = visit;
	for (unsigned int i = 0; i < from->dependent_count; i++) {
		if (from->dependents[i]->visit != visit && reaches(from->dependents[i], to, visit))
			return true;
	}
	return false;
}

bool op_reaches(struct op *earlier, const struct op *later)
{
	static uint64_t visits;

	return op_pending(earlier) && op_pending(later) && reaches(earlier, later, ++visits);
}

static uint64_t gap(const struct op *op)
{
	if (op->kind == OP_MARKER)
		return 0;
	if (op->kind == OP_COPY)
		return COPY_GAP;
	return op->crossed ? CROSS_STREAM_GAP : SAME_STREAM_GAP;
}

static void complete(struct op *op);

/* op has no blockers left: it starts after the device's latency. */
static void become_ready(struct op *op, bool at_submission)
{
	uint64_t latency = op->kind == OP_MARKER ? MARKER_LATENCY : START_LATENCY;
	uint64_t earliest = op->submitted + latency;
	uint64_t start = time_now() + (at_submission ? 0 : gap(op));

	op->state = OP_READY;
	if (!op->stream)
		complete(op);
	else
		schedule(op, start > earliest ? start : earliest);
	thread_changed();
}

static void unblock(struct op *op, const struct op *by)
{
	if (--op->blockers)
		return;
	op->crossed = by->stream != op->stream || (by->kind == OP_MARKER && by->crossed);
	become_ready(op, false);
}

static uint64_t read_value(const struct op *op)
{
	uint64_t value = 0;

	memcpy(&value, op->box.dst, op->element);
	return value;
}

/* The conditions of cuStreamWaitValue32; differences are cyclic. */
static bool value_reached(const struct op *op)
{
	uint64_t value = read_value(op);
	unsigned int unused = 64 - 8 * op->element;

	switch (op->flags & 3) {
	case CU_STREAM_WAIT_VALUE_GEQ:
		return (int64_t)((value - op->value) << unused) >= 0;
	case CU_STREAM_WAIT_VALUE_EQ:
		return value == op->value;
	case CU_STREAM_WAIT_VALUE_AND:
		return value & op->value;
	default:
		return ~(value | op->value) << unused;
	}
}

/* Checks values after memory may have changed, by an op or by the program. */
static bool watch(void)
{
	bool found = false;

	for (struct op **link = &watching; *link;) {
		struct op *op = *link;

		if (!value_reached(op)) {
			link = &op->engine_next;
			continue;
		}
		*link = op->engine_next;
		schedule(op, time_now());
		found = true;
	}
	return found;
}

bool time_watches(void)
{
	return watching != NULL;
}

/*
 * "In contrast to cuStreamAddCallback, the function will not be called in the event of an error in
 * the CUDA context" (cuLaunchHostFunc).
 */
static bool is_dropped(const struct op *op)
{
	return op->stream && op->stream->context->broken && !op->after_error;
}

static void begin(struct op *op)
{
	op->state = OP_RUNNING;
	op->start = time_now();
	if (op->length)
		op->duration = op->length(op->data, op->start);
	if (op->started)
		unblock(op->started, op);
	if (op->kind == OP_HOST && is_dropped(op)) {
		schedule(op, op->start);
	} else if (op->kind == OP_HOST) {
		host_start(op);
	} else if (op->kind == OP_VALUE) {
		op->engine_next = watching;
		watching = op;
		watch();
	} else if (op->duration != ENDLESS) {
		schedule(op, op->start + op->duration);
	}
}

static void start(struct op *op)
{
	if (op->engine && op->engine->running && op->engine->running != op) {
		if (op->engine->last)
			op->engine->last->engine_next = op;
		else
			op->engine->first = op;
		op->engine->last = op;
		return;
	}
	if (op->engine)
		op->engine->running = op;
	begin(op);
}

static void release_engine(struct copy_engine *engine)
{
	struct op *next = engine->first;

	engine->running = next;
	if (!next)
		return;
	engine->first = next->engine_next;
	if (!engine->first)
		engine->last = NULL;
	schedule(next, time_now() + COPY_ENGINE_GAP);
}

static void report(struct op *op)
{
	op->record.start = op->start;
	op->record.end = time_now();
	tool_record(&op->record);
}

static void begin_half(struct op *op)
{
	struct second_half *half = op->half;

	op->half = NULL;
	op_put(op->started);
	op->started = NULL;
	op->state = OP_READY;
	op->duration = half->duration;
	op->effect = half->effect;
	half->record.graph = op->record.graph;
	half->record.node = op->record.node;
	op->record = half->record;
	schedule(op, time_now() + half->gap);
	free(half);
}

static void complete(struct op *op)
{
	if (op->effect)
		op->effect(op);
	if (op->record.kind)
		report(op);
	if (op->half) {
		begin_half(op);
		return;
	}
	op->state = OP_DONE;
	if (op->engine)
		release_engine(op->engine);
	for (unsigned int i = 0; i < op->dependent_count; i++)
		unblock(op->dependents[i], op);
	if (op->stream)
		stream_op_done(op->stream, op);
	watch();
	thread_changed();
	op_put(op);
}

void op_finish_host(struct op *op)
{
	schedule(op, time_now() + HOST_FUNCTION_TIME);
}

void op_submit(struct op *op)
{
	op->submitted = time_now();
	op->order = ++submissions;
	op->references++; /* the queue's, until it is complete */
	if (op->stream)
		stream_enqueue(op->stream, op);
	/* Without blockers no completion would start it. */
	if (!op->blockers)
		become_ready(op, true);
}

static bool is_pending(void *op)
{
	return op_pending(op);
}

static bool is_blocked(void *op)
{
	return ((struct op *)op)->state == OP_BLOCKED;
}

bool op_wait(struct op *op)
{
	return op && thread_hold(is_pending, op);
}

bool op_wait_ready(struct op *op)
{
	return thread_hold(is_blocked, op);
}

static void run_next(void)
{
	struct op *op = heap_pop();

	if (op->due > time_now())
		atomic_store_explicit(&now, op->due, memory_order_relaxed);
	if (op->state == OP_READY)
		start(op);
	else
		complete(op);
}

bool time_step(void)
{
	if (!time_settle())
		return true;
	watch();
	if (!heap_count)
		return false;
	run_next();
	return true;
}

void time_advance(uint64_t ns)
{
	uint64_t target = time_now() + ns;

	watch();
	for (time_settle(); heap_count && heap[0]->due <= target; time_settle())
		run_next();
	if (time_now() < target)
		atomic_store_explicit(&now, target, memory_order_relaxed);
}
