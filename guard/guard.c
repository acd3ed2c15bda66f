/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks the program's calls that submit copies or wait for them.  Pages are opened when the host
 * has waited for the copy, its stream, its device, or an event recorded after it in its stream.
 * Waits that cover it through other streams are not tracked: its pages are then opened at the next
 * access, which the analyzer, knowing the order, finds correct.  So nothing here decides what is
 * reported.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "guard_parts.h"
#include "system.h"

#define EVENTS 4096 /* a power of two */
#define TRIES 16
#define REGISTER_UNUSUAL 0x0cu /* CU_MEMHOSTREGISTER_IOMEMORY, _READ_ONLY */

/* The last record of each event; the words of an entry are set by the thread that records it. */
static struct recorded {
	_Atomic uint64_t event, stream, at;
} events[EVENTS];

static const struct guard_recorder *recorder;

/* Stream 0 is the legacy stream or the thread's own default stream. */
static uint64_t stream_key(const struct guard_call *call)
{
	uint64_t stream = call->field[FIELD_stream];

	if (!stream)
		stream = call->per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
	return stream == STREAM_PER_THREAD ? stream | (uint64_t)syscall(SYS_gettid) << 8 : stream;
}

/* --- events --- */

static struct recorded *find_event(uint64_t event, int make)
{
	uint32_t place = (uint32_t)(event * 0x9e3779b97f4a7c15u >> 40) & (EVENTS - 1);

	for (unsigned tries = 0; tries < TRIES; tries++, place = (place + 1) & (EVENTS - 1)) {
		uint64_t found = events[place].event;

		if (!found && make &&
			atomic_compare_exchange_strong(&events[place].event, &found, event))
			return &events[place];
		if (found == event)
			return &events[place];
		if (!found)
			return NULL;
	}
	return NULL;
}

static void record_event(const struct guard_call *call)
{
	struct recorded *recorded = find_event(call->field[FIELD_event], 1);

	/* The table is full: waits for this event open nothing. */
	if (!recorded)
		return;
	/* A wait between two stores must not combine the old record's stream with the new time. */
	recorded->at = 0;
	recorded->stream = stream_key(call);
	recorded->at = call->enter;
}

static void complete_event(const struct guard_call *call)
{
	const struct recorded *recorded = find_event(call->field[FIELD_event], 0);
	uint64_t stream;

	if (!recorded || !recorded->at)
		return;
	stream = recorded->stream;
	pages_complete(stream == STREAM_LEGACY ? ANY_STREAM : stream, recorded->at);
}

/* --- waits --- */

/* The start of a query may be unknown: then all work counts. */
static uint64_t as_of(const struct guard_call *call)
{
	return call->enter ? call->enter : UINT64_MAX;
}

static void complete(const struct guard_call *call)
{
	uint64_t stream;

	if (call->field[FIELD_event]) {
		complete_event(call);
		return;
	}
	stream = kind_waits(call->kind) >= WAITS_CONTEXT ? ANY_STREAM : stream_key(call);
	/* The legacy stream comes after all blocking streams. */
	pages_complete(stream == STREAM_LEGACY ? ANY_STREAM : stream, as_of(call));
}

/* --- copies --- */

static struct host_end end_of(const struct guard_call *call, enum field_kind which)
{
	int is_dst = which == FIELD_dst;
	uint64_t pitch = call->field[is_dst ? FIELD_dst_pitch : FIELD_src_pitch];
	uint64_t rows = call->field[is_dst ? FIELD_dst_height : FIELD_src_height];
	uint64_t depth = call->field[FIELD_depth];
	struct host_end end = { .low = call->field[which] };

	if (!call->field[FIELD_width] || !call->field[FIELD_height]) {
		end.high = end.low + call->field[FIELD_bytes];
		return end;
	}
	end.width = call->field[FIELD_width];
	end.height = call->field[FIELD_height];
	end.pitch = pitch ? pitch : end.width;
	end.slice = depth > 1 ? end.pitch * (rows ? rows : end.height) : 0;
	end.high = end.low + end.slice * (depth ? depth - 1 : 0) + end.pitch * (end.height - 1) +
		end.width;
	return end;
}

static void guard_end(const struct guard_call *call, enum field_kind which)
{
	struct pending_copy copy = { .end = end_of(call, which),
		.written = which == FIELD_dst,
		.stream = stream_key(call),
		.submitted = recorder->clock() };

	if (copy.end.high > copy.end.low)
		pages_guard(&copy);
}

static void submit(const struct guard_call *call)
{
	struct host_memory memory;
	int dst = pages_find_memory(call->field[FIELD_dst], &memory);
	int src = pages_find_memory(call->field[FIELD_src], &memory);

	if (call->kind == KIND_COPY_BATCH) {
		pages_count(GUARDED_BATCHED);
		return;
	}
	if (!dst && !src)
		return;
	/* The driver may make copies from host to host with the processor. */
	if (!call->by_device || (dst && src))
		pages_count(GUARDED_UNKNOWN);
	else if (call->capturing)
		pages_count(GUARDED_CAPTURED);
	else
		guard_end(call, dst ? FIELD_dst : FIELD_src);
}

/* Allocations have been added by pinned.c, unless that had no room. */
static void add_memory(const struct guard_call *call)
{
	uintptr_t start = call->field[FIELD_ptr];
	struct host_memory memory;

	if (call->kind == KIND_REGISTER_HOST ? call->field[FIELD_flags] & REGISTER_UNUSUAL
					     : pages_find_memory(start, &memory) && memory.base)
		return;
	pages_add_memory(start, call->field[FIELD_bytes], 0);
}

static void called(const struct guard_call *call)
{
	switch (kind_family(call->kind)) {
	case FAMILY_copy:
		/* Calls that wait return after the copy, or after its source was read. */
		if (!kind_has(call->kind, K_DEFAULT_STREAM))
			submit(call);
		return;
	case FAMILY_graph_launch:
		pages_count(GUARDED_GRAPHS);
		return;
	case FAMILY_event:
		if (call->field[FIELD_event] && !call->capturing)
			record_event(call);
		return;
	case FAMILY_allocation:
		add_memory(call);
		return;
	default:
		complete(call);
	}
}

static void complete_all(void *arg)
{
	pages_complete(ANY_STREAM, UINT64_MAX);
}

/* A handler may call it on a small stack. */
static void open_all(void)
{
	if (pages_pending)
		stacks_call(complete_all, NULL);
}

static unsigned counts(struct guard_count *count, unsigned room)
{
	static const char *const names[] = {
#define X(symbol, name) #name,
		GUARD_COUNTS(X)
#undef X
	};
	unsigned i;

	for (i = 0; i < GUARDED_COUNT && i < room; i++)
		count[i] = (struct guard_count){ names[i], pages_counted((enum guard_counter)i) };
	return i;
}

static const char *start(const struct guard_recorder *given)
{
	recorder = given;
	return pages_start(given);
}

__attribute__((visibility("default")))
const struct guard cufence_guard = { pinned_wrap, pinned_queries, start, open_all, called, counts,
	pages_child };
