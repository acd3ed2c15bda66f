/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device side.  CUPTI delivers finished buffers on a thread of its own; their records are
 * written to the trace unchanged, in CUPTI's nanoseconds.  CUPTI's driver callbacks store the
 * correlation id, which those records carry, for the wrapper of the same call.
 */
#include "collector.h"

#include <errno.h>
#include <string.h>

#include "buffers.h"
#include "cupti_api.h"
#include "decode.h"
#include "flusher.h"
#include "gate.h"
#include "holder.h"
#include "origin.h"
#include "passed.h"
#include "selection.h"
#include "settings.h"
#include "shim.h"
#include "switches.h"
#include "system.h"
#include "window.h"

#define FLUSH_SLICES 100 /* of 10 ms: patience with a flush on another thread */
#define REST_MS 20       /* after a window, at most, while kernels of it have not ended */
#define FIRST_REST_MS 2u
#define REST_DOUBLINGS 4
#define RESTS 28  /* of those at most, for launches that failed or were captured */
#define GATE_MS 2 /* patience with calls in progress, doubled with each try */
#define GATE_DOUBLINGS 3
#define GATE_OPEN 10    /* times as long the gate is open before the next try */
#define GATE_TRIES 100  /* of some 20 s in all */
#define ANSWER_TRIES 6  /* of them who asked waits for: 800 ms */
#define OPEN_SLICES 200 /* the same with the opening of CUPTI for a range */
/* CUPTI 13.0 loses some 30 KiB, and 10 KiB a thread, each time that it is closed. */
#define MOST_CLOSINGS 1000

_Atomic uint32_t passed[PASSED_SLOTS];

static struct {
	_Atomic int started;
	_Atomic uint32_t waits;     /* 1: CUPTI is opened, or enabled, with the next window */
	_Atomic int handed;         /* the flusher has the lock of windows while it opens it */
	_Atomic int rests;          /* after a window: CUPTI is to be closed */
	int leaves;                 /* it can be closed after a window */
	unsigned rested, tries;     /* to close it */
	_Atomic uint32_t kernels;   /* operations of the launches that threads count */
	unsigned closings;          /* so far */
	uint32_t base;              /* added to its correlation ids, which start anew with it */
	_Atomic uint32_t first;     /* the smallest that a callback saw since it was attached */
	_Atomic int without_graphs; /* it must not time graphs */
	_Atomic uint32_t graphs;    /* how many of those are counted */
	_Atomic int ended;          /* the process exits: nothing is delivered by itself any more */
	_Atomic uint32_t flushing;  /* 1: some thread flushes */
	_Atomic int forced;         /* records of operations in progress are delivered, too */
	struct cupti_api api;
	CUpti_SubscriberHandle subscriber;
} collector;

static void set_state(uint32_t state, uint32_t error)
{
	if (!shim.writer.header)
		return;
	shim.writer.header->cupti_state = state;
	shim.writer.header->cupti_error = error;
}

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	int saved = errno;

	*buffer = buffer_take(size);
	*max_records = 0;
	errno = saved;
}

static void write_operation(struct thread_state *thread, const struct decoded *operation)
{
	uint32_t name = operation->kind == DEVICE_GRAPH ? operation->graph : 0;
	struct device_record *record;

	if (operation->invalid && collector.forced && !operation->end)
		return;
	if (operation->name)
		name = string_intern(thread, operation->name);
	record = thread_reserve(thread, sizeof(*record), RECORD_DEVICE);
	if (!record)
		return;
	record->head.flags = operation->invalid ? DEVICE_INVALID : 0;
	record->kind = operation->kind;
	record->detail = operation->detail;
	record->src = operation->src;
	record->dst = operation->dst;
	record->start = operation->start;
	record->end = operation->end;
	record->correlation = operation->correlation ? operation->correlation + collector.base : 0;
	record->context = (uint16_t)operation->context;
	record->device = (uint16_t)operation->device;
	record->stream = operation->stream;
	record->name = name;
	record->value = operation->value;
	trace_commit(&thread->chunk);
	if (operation->invalid)
		trace_count(&shim.writer, COUNT_INVALID_DEVICE, 1);
	collector.kernels += operation->kind == DEVICE_KERNEL;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
	size_t size, size_t valid)
{
	struct thread_state *thread = thread_state();
	uintptr_t was_busy = thread->busy;
	int saved = errno;
	CUpti_Activity *record = NULL;
	struct decoded operation;
	size_t dropped = 0;

	if (buffer_is_dropped(buffer)) {
		trace_count(&shim.writer, COUNT_DROPPED_DEVICE, 1);
		return;
	}
	thread->busy = STACK_PLACE;
	while (valid && shim.stage == SHIM_ON && *shim.alive &&
		collector.api.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		if (decode_activity(record, &operation) && !passed_by(operation.correlation) &&
			(!operation.correlation || operation.correlation >= collector.first))
			write_operation(thread, &operation);
	if (collector.api.cuptiActivityGetNumDroppedRecords &&
		collector.api.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) ==
			CUPTI_SUCCESS &&
		dropped)
		trace_count(&shim.writer, COUNT_DROPPED_DEVICE, dropped);
	window_grown();
	buffer_return(buffer);
	thread->busy = was_busy;
	errno = saved;
}

/* A call that reached the driver without a wrapper: only the callback records it. */
static void bypassed(struct thread_state *thread, CUpti_CallbackId id,
	const CUpti_CallbackData *data)
{
	const struct call_type *type = &call_types[selected_calls[id].call - 1];
	uint64_t now = clock_read(), *enter = data->correlationData;
	struct call_record *record;

	if (data->callbackSite == CUPTI_API_ENTER) {
		*enter = now;
		thread->bypassing = data->correlationId;
		return;
	}
	/* Callbacks may have been enabled during the call. */
	if (thread->bypassing != data->correlationId)
		return;
	thread->bypassing = 0;
	/* Inside: its wrapper passed it by, just before the window opened. */
	trace_count(&shim.writer, COUNT_BYPASSED_CALLS, !thread->inside);
	record = thread_reserve(thread, sizeof(*record) + type->field_count * sizeof(uint64_t),
		RECORD_CALL);
	if (!record)
		return;
	record->head.flags = CALL_FROM_CALLBACK;
	record->call = (uint16_t)(type - call_types);
	record->correlation = data->correlationId + collector.base;
	record->enter = *enter;
	record->duration = now - *enter > UINT32_MAX ? UINT32_MAX : (uint32_t)(now - *enter);
	if (data->functionReturnValue)
		record->result = (int16_t) * (const CUresult *)data->functionReturnValue;
	trace_commit(&thread->chunk);
}

/* Ids count up: calls that were in progress when CUPTI was attached have smaller ones. */
static void note_first(uint32_t correlation)
{
	uint32_t first = collector.first;

	while (correlation < first &&
		!atomic_compare_exchange_weak(&collector.first, &first, correlation))
		;
}

/* Called outside of our wrappers, or while no window is open. */
static COLD void seen_alone(struct thread_state *thread, CUpti_CallbackId id,
	const CUpti_CallbackData *data)
{
	int saved = errno;

	if (id >= SELECTION_CBIDS || !selected_calls[id].call || shim.stage != SHIM_ON ||
		!*shim.alive)
		return;
	/* It may be recorded with that id: those after the next opening are larger. */
	thread->announced = data->correlationId + collector.base;
	if (data->callbackSite == CUPTI_API_ENTER)
		note_first(data->correlationId);
	/* Without a wrapper the call may have begun before the window opened. */
	if (window_now.outside) {
		pass_by(data->correlationId);
		return;
	}
	thread->busy = STACK_PLACE;
	bypassed(thread, id, data);
	thread->busy = 0;
	errno = saved;
}

/* In a process whose graphs are not timed, and in which CUPTI is closed after windows. */
static void note_submission(struct thread_state *thread, CUpti_CallbackId id, uint32_t correlation)
{
	enum call_kind kind = call_types[selected_calls[id].call - 1].kind;

	note_first(correlation);
	if (kind == KIND_GRAPH_LAUNCH)
		pass_by(correlation);
	thread->kernels += kind == KIND_LAUNCH;
}

/* Called twice around each selected call that submits work. */
static HOT void CUPTIAPI callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
	const void *argument)
{
	const CUpti_CallbackData *data = argument;
	struct thread_state *thread = thread_state();

	if (UNLIKELY(domain != CUPTI_CB_DOMAIN_DRIVER_API || thread->busy))
		return;
	if (UNLIKELY(!thread->depth)) {
		seen_alone(thread, id, data);
	} else if (data->callbackSite == CUPTI_API_ENTER) {
		if (UNLIKELY(collector.without_graphs))
			note_submission(thread, id, data->correlationId);
		thread->correlation = data->correlationId + collector.base;
		thread->announced = thread->correlation;
		thread->cupti_context = data->contextUid;
	}
}

static uint64_t device_clock(void)
{
	uint64_t now = 0;

	return collector.api.cuptiGetTimestamp(&now) == CUPTI_SUCCESS ? now : 0;
}

static CUptiResult subscribe(void)
{
	CUptiResult rc = collector.api.cuptiSubscribe(&collector.subscriber, callback, NULL);

	if (rc != CUPTI_SUCCESS)
		return rc;
	rc = collector.api.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
	if (rc == CUPTI_SUCCESS)
		rc = switch_callbacks(&collector.api, collector.subscriber, 1);
	if (rc == CUPTI_SUCCESS)
		rc = switch_on(&collector.api, !collector.without_graphs);
	if (rc != CUPTI_SUCCESS) {
		collector.api.cuptiUnsubscribe(collector.subscriber);
		return rc;
	}
	if (collector.api.cuptiGetVersion)
		collector.api.cuptiGetVersion(&shim.writer.header->cupti_version);
	return rc;
}

/* Waits for a flush on another thread, which may never return: returns 0 then. */
static int begin_flush(void)
{
	for (int i = 0; i < FLUSH_SLICES; i++) {
		if (!atomic_exchange(&collector.flushing, 1))
			return 1;
		system_wait(&collector.flushing, 1, 10);
	}
	return 0;
}

static void end_flush(void)
{
	collector.flushing = 0;
	system_wake(&collector.flushing);
}

/* Call between those two.  Operations that have ended are delivered by the first flush. */
static void flush_all(void)
{
	if (!shim.device_clock)
		return;
	collector.api.cuptiActivityFlushAll(0);
	collector.forced = 1;
	collector.api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	collector.forced = 0;
}

/* On the flusher's thread.  Once the process exits the driver may end at any time. */
static void deliver(int asked)
{
	struct thread_state *thread = thread_state();

	if (shim.stage != SHIM_ON || !begin_flush())
		return;
	thread->busy = STACK_PLACE;
	if (!collector.ended && asked) {
		flush_all();
		clock_calibrate(thread, 100);
	} else if (!collector.ended && shim.device_clock) {
		collector.api.cuptiActivityFlushAll(0);
	}
	end_flush();
	thread->busy = 0;
}

static void start_flusher(void);

static void start(struct thread_state *thread)
{
	CUptiResult rc;

	if (cupti_is_off()) {
		set_state(CUPTI_STATE_OFF, 0);
		return;
	}
	if (cupti_api_open(&collector.api)) {
		set_state(CUPTI_STATE_ABSENT, 0);
		return;
	}
	rc = subscribe();
	if (rc != CUPTI_SUCCESS) {
		int busy = rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;

		set_state(busy ? CUPTI_STATE_BUSY : CUPTI_STATE_FAILED, (uint32_t)rc);
		if (busy)
			holder_note(thread);
		return;
	}
	set_state(CUPTI_STATE_ON, 0);
	shim.writer.header->features |= FEATURE_DEVICE;
	shim.device_clock = device_clock;
	clock_calibrate(thread, 100);
	start_flusher();
}

void collector_start(void)
{
	struct thread_state *thread = thread_state();
	int saved = errno;

	if (thread->busy || !shim_start() || atomic_exchange(&collector.started, 1))
		return;
	thread->busy = STACK_PLACE;
	if (window_is_paused()) {
		collector.waits = 1;
		if (!cupti_is_off())
			start_flusher();
	} else {
		start(thread);
		/* Enabled outside, too: the first call may be slow once there is a context. */
		if (window_now.outside)
			collector_window(0);
	}
	thread->busy = 0;
	errno = saved;
}

/*
 * CUPTI is opened for a window of a process that was paused.  CUPTI 13.0 crashes in the launch of a
 * graph that was made while graphs were not recorded, and once graphs were timed as a whole it
 * cannot be closed and opened again: so it never times them here.
 */
static void attach(struct thread_state *thread)
{
	uint32_t older = window_graphs();

	collector.without_graphs = 1;
	collector.first = UINT32_MAX;
	start(thread);
	if (shim.device_clock) {
		collector.kernels = gate_totals().kernels;
		trace_count(&shim.writer, COUNT_OLDER_GRAPHS, older - collector.graphs);
		collector.graphs = older;
		collector.leaves = collector.api.cuptiFinalize &&
			collector.api.cuptiActivityDisable && flusher_runs() &&
			collector.closings < MOST_CLOSINGS && gate_works();
	}
}

static void open_now(struct thread_state *thread)
{
	if (shim.device_clock) {
		switch_callbacks(&collector.api, collector.subscriber, 1);
		switch_on(&collector.api, !collector.without_graphs);
	} else {
		attach(thread);
	}
	collector.waits = 0;
}

/* On the flusher's thread.  As a flush, it is over before the process exits. */
static void open_apart(void)
{
	struct thread_state *thread = thread_state();
	uint64_t begun = clock_read();

	if (shim.stage == SHIM_ON && begin_flush()) {
		thread->busy = STACK_PLACE;
		if (collector.waits && !collector.ended && *shim.alive)
			open_now(thread);
		window_opened(collector.handed ? clock_read() - begun : 0);
		end_flush();
		thread->busy = 0;
	}
	system_wake(&collector.waits);
	if (atomic_exchange(&collector.handed, 0))
		window_release();
}

/*
 * Once CUPTI has timed kernels each launch takes a microsecond longer, whatever is disabled, until
 * cuptiFinalize().  That works only while no thread is in a call of CUDA, and only if no work was
 * submitted between it and the end of the activities (tests/gpu/attach).
 */
static void close_cupti(struct thread_state *thread)
{
	switch_off(&collector.api);
	flush_all();
	clock_calibrate(thread, 20);
	collector.api.cuptiUnsubscribe(collector.subscriber);
	collector.api.cuptiFinalize();
	shim.device_clock = NULL;
	collector.base = gate_totals().announced;
	passed_forget();
	collector.rests = 0;
	collector.waits = 1;
	collector.closings++;
	trace_count(&shim.writer, COUNT_DETACHED, 1);
}

static void disable(void)
{
	switch_off(&collector.api);
	switch_callbacks(&collector.api, collector.subscriber, 0);
	collector.waits = 1;
}

/* Kernels of the window have not ended, or what CUPTI has of them is not delivered. */
static int are_kernels_pending(void)
{
	collector.api.cuptiActivityFlushAll(0);
	return gate_totals().kernels != collector.kernels;
}

/* On the flusher's thread, some time after a window: returns the ms until it is to try again. */
static uint32_t rest(void)
{
	struct thread_state *thread = thread_state();
	uint32_t again = 0, patience;

	if (shim.stage != SHIM_ON || !window_hold())
		return REST_MS;
	if (!collector.rests || atomic_exchange(&collector.flushing, 1)) {
		again = collector.rests ? REST_MS : 0;
		window_release();
		return again;
	}
	thread->busy = STACK_PLACE;
	patience = GATE_MS << (collector.tries < GATE_DOUBLINGS ? collector.tries : GATE_DOUBLINGS);
	if (collector.ended || !*shim.alive) {
		collector.rests = 0;
	} else if (are_kernels_pending() && ++collector.rested < RESTS) {
		again = collector.rested < REST_DOUBLINGS ? FIRST_REST_MS << collector.rested
							  : REST_MS;
	} else if (gate_close(patience)) {
		close_cupti(thread);
		gate_open();
	} else if (++collector.tries < GATE_TRIES) {
		again = patience * GATE_OPEN;
	} else {
		/* It stays. */
		disable();
		collector.rests = collector.leaves = 0;
	}
	if (!again || collector.tries >= ANSWER_TRIES)
		window_rested();
	thread->busy = 0;
	end_flush();
	window_release();
	return again;
}

static void start_flusher(void)
{
	static const struct flusher_work work = { deliver, rest, open_apart, shim_end_apart };

	flusher_start(&work, &shim.writer.header->control);
}

void collector_flush(int last)
{
	struct thread_state *thread = thread_state();
	uintptr_t was_busy = thread->busy;
	int saved = errno;

	if ((!shim.device_clock && !last) || !*shim.alive)
		return;
	thread->busy = STACK_PLACE;
	if (begin_flush()) {
		collector.ended |= last;
		flush_all();
		end_flush();
	}
	thread->busy = was_busy;
	errno = saved;
}

void collector_ask(uint32_t ms, int ends)
{
	int saved = errno;

	if (*shim.alive)
		flusher_ask(ms, ends);
	errno = saved;
}

void collector_window(int open)
{
	struct thread_state *thread = thread_state();
	uintptr_t was_busy = thread->busy;
	int saved = errno;

	if (!*shim.alive)
		return;
	thread->busy = STACK_PLACE;
	if (open) {
		if (collector.waits && (shim.device_clock || !flusher_runs()))
			open_now(thread);
		else if (collector.waits)
			flusher_open();
		for (int i = 0; collector.waits && i < OPEN_SLICES; i++)
			system_wait(&collector.waits, 1, 10);
		collector.rests = 0;
	} else if (shim.device_clock && collector.api.cuptiActivityDisable) {
		if (!collector.leaves)
			disable();
		if (begin_flush()) {
			collector.api.cuptiActivityFlushAll(0);
			end_flush();
		}
		collector.tries = collector.rested = 0;
		collector.rests = collector.leaves;
		if (collector.leaves)
			flusher_rest(FIRST_REST_MS);
	}
	thread->busy = was_busy;
	errno = saved;
}

int collector_rests(void)
{
	return collector.rests;
}

int collector_waits(void)
{
	return collector.waits && flusher_runs();
}

int collector_open(void)
{
	if (!collector_waits())
		return 0;
	/* While another thread loads it the program might fork. */
	if (!cupti_is_off())
		cupti_api_open(&collector.api);
	collector.handed = 1;
	flusher_open();
	return 1;
}

void collector_graph(void)
{
	if (!collector.without_graphs || !shim.device_clock)
		return;
	trace_count(&shim.writer, COUNT_OLDER_GRAPHS, 1);
	collector.graphs++;
}

void collector_child(void)
{
	/* A forked child must not touch CUPTI if its parent had started it: it would hang. */
	if (collector.started && (shim.device_clock || collector.flushing))
		memset(&collector.api, 0, sizeof(collector.api));
	else
		collector.started = 0;
	collector.ended = collector.rests = collector.without_graphs = collector.handed = 0;
	collector.waits = collector.first = collector.graphs = 0;
	collector.flushing = collector.base = collector.closings = 0;
	collector.forced = 0;
	flusher_child();
	shim.device_clock = NULL;
}
