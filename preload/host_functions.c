/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This file is compiled with -fexceptions and holds nothing while the program's function runs: a
 * C++ exception passes through.
 */
#include "host_functions.h"

#include <errno.h>

#include "resolve.h"
#include "usage.h"

#define SLOTS 16384   /* functions pending at once */
#define ENTRIES 16384 /* different nodes, a power of two */
#define TRIES 64

/* A function that runs once.  Its own cache lines: another thread frees it. */
struct host_slot {
	uintptr_t function; /* a CUhostFn or CUstreamCallback */
	void *data;
	uint64_t called;       /* ticks at entry of the call */
	uint32_t caller;       /* kernel thread id */
	_Atomic uint32_t next; /* free slot after this one, index + 1; 0: none */
} __attribute__((aligned(64)));

static struct {
	struct host_slot slot[SLOTS];
	/* Free slots: index + 1 of the first one, below a number that changes with every take. */
	_Atomic uint64_t unused;
	_Atomic uint32_t begun; /* slots that were ever used */
} once;

/* Function and data of a node. */
struct host_entry {
	_Atomic int state; /* enum entry_state */
	CUhostFn function;
	void *data;
};
enum entry_state { ENTRY_UNUSED, ENTRY_TAKEN, ENTRY_READY };

static struct host_entry nodes[ENTRIES];

/* --- slots --- */

static struct host_slot *slot_take(void)
{
	uint64_t first = atomic_load_explicit(&once.unused, memory_order_acquire);
	uint32_t index;

	while ((uint32_t)first) {
		struct host_slot *slot = &once.slot[(uint32_t)first - 1];
		uint64_t next = ((first >> 32) + 1) << 32 |
			atomic_load_explicit(&slot->next, memory_order_relaxed);

		if (atomic_compare_exchange_weak_explicit(&once.unused, &first, next,
			    memory_order_acq_rel, memory_order_acquire))
			return slot;
	}
	if (atomic_load_explicit(&once.begun, memory_order_relaxed) >= SLOTS)
		return NULL;
	index = atomic_fetch_add_explicit(&once.begun, 1, memory_order_relaxed);
	return index < SLOTS ? &once.slot[index] : NULL;
}

static void slot_free(struct host_slot *slot)
{
	uint64_t first = atomic_load_explicit(&once.unused, memory_order_relaxed), freed;

	do {
		atomic_store_explicit(&slot->next, (uint32_t)first, memory_order_relaxed);
		freed = (first & ~(uint64_t)UINT32_MAX) | (uint32_t)(slot - once.slot + 1);
	} while (!atomic_compare_exchange_weak_explicit(&once.unused, &first, freed,
		memory_order_release, memory_order_relaxed));
}

void host_functions_reset(void)
{
	once.unused = 0;
	once.begun = 0;
}

/* --- runs --- */

/* One run in progress, on the stack of its thread. */
struct host_run {
	struct thread_state *thread; /* NULL: it is not recorded */
	uint64_t entered;            /* chunk.written after its first record, 0: none */
	uint64_t called, enter, function, data;
	uint32_t caller;
};

/* Sets the exit, 0: it has not returned. */
static void write_run(struct host_run *run, uint64_t exit)
{
	struct trace_chunk *chunk = &run->thread->chunk;
	struct host_run_record *record;

	if (run->entered)
		trace_take_back(chunk, sizeof(*record), run->entered);
	run->entered = 0;
	trace_forget_announced(chunk);
	record = trace_reserve_here(chunk, sizeof(*record), RECORD_HOST_RUN);
	if (!record)
		record = thread_reserve(run->thread, sizeof(*record), RECORD_HOST_RUN);
	if (!record)
		return;
	record->caller = run->caller;
	record->called = run->called;
	record->enter = run->enter;
	record->exit = exit;
	record->function = run->function;
	record->data = run->data;
	trace_commit(chunk);
	run->entered = chunk->written;
}

/* The first record makes a function that does not return visible. */
static void run_begin(struct host_run *run, void *frame_address)
{
	struct thread_state *thread = thread_state();

	run->thread = NULL;
	run->entered = 0;
	/* Opening a window calls CUPTI, which a host function must not. */
	if (shim.stage != SHIM_ON || !*shim.alive || window_now.outside ||
		!frame_admits(thread, CALL_cuLaunchHostFunc, frame_address))
		return;
	run->thread = thread;
	thread->busy = (uintptr_t)frame_address;
	run->enter = usage_host_function(thread, clock_read());
	write_run(run, 0);
	thread->busy = 0;
}

/* The function may have closed the trace, or forked. */
static void run_end(struct host_run *run, void *frame_address)
{
	struct thread_state *thread = run->thread;

	if (!thread || !*shim.alive || thread->generation != window_now.generation || thread->busy)
		return;
	thread->busy = (uintptr_t)frame_address;
	write_run(run, clock_read());
	thread->busy = 0;
}

static struct host_run run_of(const struct host_slot *slot)
{
	return (struct host_run){ .called = slot->called,
		.caller = slot->caller,
		.function = slot->function,
		.data = (uint64_t)(uintptr_t)slot->data };
}

/* The slot is freed before the function is called, which may not return. */
static void run_in_stream(void *data)
{
	struct host_slot *slot = data;
	struct host_run run = run_of(slot);

	slot_free(slot);
	run_begin(&run, __builtin_frame_address(0));
	((CUhostFn)run.function)((void *)run.data);
	run_end(&run, __builtin_frame_address(0));
}

static void run_as_callback(CUstream stream, CUresult status, void *data)
{
	struct host_slot *slot = data;
	struct host_run run = run_of(slot);

	slot_free(slot);
	run_begin(&run, __builtin_frame_address(0));
	((CUstreamCallback)run.function)(stream, status, (void *)run.data);
	run_end(&run, __builtin_frame_address(0));
}

static void run_node(void *data)
{
	const struct host_entry *entry = data;
	struct host_run run = { .function = (uint64_t)(uintptr_t)entry->function,
		.data = (uint64_t)(uintptr_t)entry->data };

	run_begin(&run, __builtin_frame_address(0));
	entry->function(entry->data);
	run_end(&run, __builtin_frame_address(0));
}

/* --- replacing --- */

static void count_passed(void)
{
	trace_count(&shim.writer, COUNT_PASSED_FUNCTIONS, 1);
}

static struct host_slot *fill_slot(const struct call_frame *frame, uintptr_t function, void *data)
{
	struct host_slot *slot = slot_take();

	if (!slot) {
		count_passed();
		return NULL;
	}
	slot->function = function;
	slot->data = data;
	slot->called = frame->enter;
	slot->caller = frame->thread->chunk.thread;
	return slot;
}

/* Returns 1 if the entry is now this pair's. */
static int entry_is(struct host_entry *entry, CUhostFn function, void *data)
{
	int unused = ENTRY_UNUSED;

	if (atomic_load_explicit(&entry->state, memory_order_acquire) == ENTRY_READY)
		return entry->function == function && entry->data == data;
	if (!atomic_compare_exchange_strong(&entry->state, &unused, ENTRY_TAKEN))
		return 0; /* another thread fills it: a second entry does no harm */
	entry->function = function;
	entry->data = data;
	atomic_store_explicit(&entry->state, ENTRY_READY, memory_order_release);
	return 1;
}

static struct host_entry *need_entry(CUhostFn function, void *data)
{
	uint64_t hash = ((uint64_t)(uintptr_t)function * 31 + (uint64_t)(uintptr_t)data) *
		0x9e3779b97f4a7c15u;

	for (unsigned i = 0; i < TRIES; i++) {
		struct host_entry *entry = &nodes[((hash >> 40) + i) % ENTRIES];

		if (entry_is(entry, function, data))
			return entry;
	}
	count_passed();
	return NULL;
}

static void replace_node(CUhostFn *function, void **data)
{
	struct host_entry *entry = *function ? need_entry(*function, *data) : NULL;

	if (!entry)
		return;
	*function = run_node;
	*data = entry;
}

/*
 * Another stream's capture may forbid the question in the legacy stream: then the answer is
 * unknown, and so is whether the function runs once.
 */
static int runs_once(const struct call_frame *frame, CUstream stream)
{
	static _Atomic(void *) found;
	CUresult (*ask)(CUstream, CUstreamCaptureStatus *);
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (!found)
		found = driver_symbol("cuStreamIsCapturing");
	*(void **)&ask = found;
	if (!stream && frame->flags & CALL_PER_THREAD)
		stream = CU_STREAM_PER_THREAD;
	return ask && ask(stream, &status) == CUDA_SUCCESS &&
		status == CU_STREAM_CAPTURE_STATUS_NONE;
}

void host_function_in_stream(const struct call_frame *frame, struct passed_function *passed,
	CUstream stream, CUhostFn *function, void **data)
{
	if (!*function)
		return;
	if (!runs_once(frame, stream)) {
		replace_node(function, data);
		return;
	}
	passed->slot = fill_slot(frame, (uintptr_t)*function, *data);
	if (!passed->slot)
		return;
	*function = run_in_stream;
	*data = passed->slot;
}

void host_function_as_callback(const struct call_frame *frame, struct passed_function *passed,
	CUstreamCallback *function, void **data)
{
	passed->slot = *function ? fill_slot(frame, (uintptr_t)*function, *data) : NULL;
	if (!passed->slot)
		return;
	*function = run_as_callback;
	*data = passed->slot;
}

void host_function_of_node(struct passed_function *passed, const CUDA_HOST_NODE_PARAMS **params)
{
	if (!*params)
		return;
	passed->node = **params;
	replace_node(&passed->node.fn, &passed->node.userData);
	*params = &passed->node;
}

void host_function_of_any(struct passed_function *passed, CUgraphNodeParams **params)
{
	if (!*params || (*params)->type != CU_GRAPH_NODE_TYPE_HOST)
		return;
	passed->any = **params;
	replace_node(&passed->any.host.fn, &passed->any.host.userData);
	*params = &passed->any;
}

/*
 * A call "may also return error codes from previous, asynchronous launches" (cuLaunchHostFunc):
 * after these nothing says that the function will not run, so its slot stays taken.  The others are
 * about this call.
 */
void host_function_refused(struct host_slot *slot, CUresult result)
{
	switch ((int)result) {
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_OUT_OF_MEMORY:
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_NOT_PERMITTED:
	case CUDA_ERROR_NOT_SUPPORTED:
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
	case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
	case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
	case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
		slot_free(slot);
	}
}

/* --- answers --- */

static void answer(CUhostFn *function, void **data)
{
	const struct host_entry *entry = *data;

	if (*function != run_node || entry < nodes || entry >= nodes + ENTRIES)
		return;
	*function = entry->function;
	*data = entry->data;
}

void host_function_answer(CUDA_HOST_NODE_PARAMS *params)
{
	if (params)
		answer(&params->fn, &params->userData);
}

void host_function_answer_any(CUgraphNodeParams *params)
{
	if (params && params->type == CU_GRAPH_NODE_TYPE_HOST)
		answer(&params->host.fn, &params->host.userData);
}
