/* SPDX-License-Identifier: Apache-2.0 */
#include "holds.h"

#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "late_start.h"
#include "legacy_before.h"
#include "memory.h"
#include "run_columns.h"
#include "concurrency.h"

/* Event waits that the next operation of a stream comes after. */
struct held_stream {
	struct event_wait {
		int64_t call;
		struct order_state state;
	} * wait;
	size_t count;
};

struct holds {
	struct run *run;
	struct id_map streams; /* struct held_stream */
	struct legacy_before before;
	struct late *late;
};

struct holds *holds_new(struct db *db)
{
	struct holds *holds = xcalloc(1, sizeof(*holds));

	holds->run = db->run;
	holds->late = late_new(db);
	legacy_before_find(&holds->before, db->run);
	if (holds->late)
		return holds;
	holds_free(holds);
	return NULL;
}

static void free_stream(void *object)
{
	struct held_stream *stream = object;

	if (stream)
		free(stream->wait);
	free(stream);
}

void holds_free(struct holds *holds)
{
	if (!holds)
		return;
	id_map_release(&holds->streams, free_stream);
	legacy_before_release(&holds->before);
	late_free(holds->late);
	free(holds);
}

/*
 * When the operation was submitted and ready, without these reasons (a bit each), ns.  Ignores work
 * that still had long to run when the operation started: with calls of several threads the order of
 * submission may differ.
 */
static int64_t ready_at(const struct order *order, const struct walk_call *call, unsigned besides)
{
	int64_t ready = call->enter + LAUNCH_MAX_NS;

	for (int i = 0; i < ORDER_REASONS; i++) {
		const struct order_state *need = &order->needs[i];

		if (!(besides & 1u << i) && need->op && need->end > ready &&
			need->end - HANDOVER_MAX_NS <= call->op_start)
			ready = need->end;
	}
	return ready;
}

static int can_overlap(const struct run *run, const struct walk_call *call,
	const struct order_state *by)
{
	struct shape held = shape_of(run, call->op), behind = shape_of(run, by->op);

	return shape_can_overlap(&held, &behind);
}

static void add_hold(struct holds *holds, const struct walk_call *call,
	const struct order_state *by, int64_t via, enum hold_reason reason, int64_t ready,
	int64_t until)
{
	if (can_overlap(holds->run, call, by))
		run_add_hold(&holds->run->evidence,
			&(struct run_hold){ .op = (uint32_t)call->op,
				.behind = (uint32_t)by->op,
				.via = (uint32_t)via,
				.reason = reason,
				.ready = ready,
				.held = until - ready });
}

static int is_foreign(int64_t context, const struct walk_call *call)
{
	return context && context != call->stream_context;
}

/*
 * Returns the call that makes it legacy work: the legacy one of the two, or the copy between
 * devices, which is part of the legacy streams of both.
 */
static int64_t find_via(const struct holds *holds, const struct walk_call *call,
	const struct order_state *by)
{
	const struct run_call *other = run_call(holds->run, by->call);

	if (call->stream_kind != STREAM_KIND_LEGACY)
		return by->call;
	if (is_foreign(call->dst_context, call) || is_foreign(call->src_context, call) || !other)
		return call->id;
	return is_foreign(run_stream(holds->run, other->stream)->context, call) ? by->call
										: call->id;
}

static void add_legacy_hold(struct holds *holds, const struct order *order,
	const struct walk_call *call, const struct order_state *by, const struct legacy_pair *pair)
{
	const struct run_call *legacy = run_call(holds->run, by->call);
	unsigned besides = 1u << ORDER_LEGACY;
	int64_t ready, gap, until = call->op_start;

	if (!by->op)
		return;
	/*
	 * All threads share the legacy stream: a thread's own earlier work there comes first by
	 * intent; work of other threads counts like any legacy work.
	 */
	if (pair && call->stream_kind == STREAM_KIND_LEGACY)
		besides |= 1u << ORDER_STREAM | 1u << ORDER_AFTERWARDS;
	ready = ready_at(order, call, besides);
	if (pair && pair->own_end > ready)
		ready = pair->own_end;
	if (call->op_start - ready < HELD_MIN_NS || by->end <= ready)
		return;
	/* The gap between the two may be the hand-over, a host function, or something else. */
	gap = call->op_start - by->end;
	if (llabs(gap) > HANDOVER_MAX_NS) {
		if (gap < 0 || !legacy || kind_family(legacy->kind) != FAMILY_callback)
			return;
		if (gap > HOST_FUNCTION_MAX_NS)
			until = by->end;
	}
	if (until - ready >= HELD_MIN_NS)
		add_hold(holds, call, by, find_via(holds, call, by), HOLD_LEGACY, ready, until);
}

static void add_wait(struct holds *holds, const struct order *order, const struct walk_call *call)
{
	struct event_wait wait = { .call = call->id, .state = order_of_event(order, call) };
	struct held_stream *stream;

	if (!wait.state.op || call->result || call->captured || !call->stream)
		return;
	stream = id_map_need(&holds->streams, call->stream, sizeof(*stream));
	*array_push(stream->wait, stream->count) = wait;
}

/*
 * Each event wait that blocked the operation for long gets a row, if the operation started when the
 * last one ended.
 */
static void add_event_holds(struct holds *holds, const struct order *order,
	const struct walk_call *call, const struct held_stream *stream)
{
	int64_t ready = ready_at(order, call, 1u << ORDER_EVENT), first = ready, last = INT64_MIN;

	for (size_t i = 0; i < stream->count; i++)
		if (stream->wait[i].state.end > last)
			last = stream->wait[i].state.end;
	if (call->op_start - ready < HELD_MIN_NS || last <= ready ||
		llabs(call->op_start - last) > HANDOVER_MAX_NS)
		return;
	/* When everything that may be required was complete. */
	for (size_t i = 0; i < stream->count; i++) {
		const struct order_state *state = &stream->wait[i].state;

		if (state->end > ready &&
			(state->end - first < HELD_MIN_NS || !can_overlap(holds->run, call, state)))
			ready = state->end;
	}
	for (size_t i = 0; i < stream->count; i++) {
		const struct event_wait *wait = &stream->wait[i];
		int64_t until = wait->state.end == last ? call->op_start : wait->state.end;

		if (until - ready >= HELD_MIN_NS)
			add_hold(holds, call, &wait->state, wait->call, HOLD_EVENT, ready, until);
	}
}

void holds_process_call(struct holds *holds, const struct order *order,
	const struct walk_call *call)
{
	/* As the device ran it if threads submitted at the same time, else in order of calls. */
	const struct legacy_pair *pair = legacy_before_of(&holds->before, call->id);
	struct order_state legacy = order->needs[ORDER_LEGACY];
	struct held_stream *stream;

	if (pair)
		legacy = (struct order_state){ .call = pair->by_call,
			.op = pair->by_op,
			.end = pair->by_end };
	if (call->kind == KIND_STREAM_WAIT) {
		add_wait(holds, order, call);
		return;
	}
	if (call->kind == KIND_STREAM_DESTROY)
		free_stream(id_map_take(&holds->streams, call->stream));
	late_start_process_call(holds->late, order, call, legacy.op ? legacy.end : INT64_MIN);
	if (!call->op || call->op_start == WALK_NEVER)
		return;
	stream = id_map_get(&holds->streams, call->stream);
	if (stream && stream->count)
		add_event_holds(holds, order, call, stream);
	if (stream)
		stream->count = 0;
	if (!call_is_sync_copy(call->kind) || call->direction == COPY_D2D)
		add_legacy_hold(holds, order, call, &legacy, pair);
}
