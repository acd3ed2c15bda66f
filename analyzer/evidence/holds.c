/* SPDX-License-Identifier: Apache-2.0 */
#include "holds.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"
#include "late_start.h"
#include "legacy_before.h"
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
	struct idmap streams; /* struct held_stream */
	struct legacy_before before;
	struct late *late;
};

struct holds *holds_new(struct db *db)
{
	struct holds *holds = calloc(1, sizeof(*holds));

	if (!holds)
		return NULL;
	holds->run = db->run;
	holds->late = late_new(db);
	if (holds->late && !legacy_before_find(db, &holds->before))
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
	idmap_release(&holds->streams, free_stream);
	legacy_before_release(&holds->before);
	late_free(holds->late);
	free(holds);
}

/*
 * Ignores work that still had long to run when the operation started: with calls of several threads
 * the order of submission may differ.
 */
static int64_t later(int64_t time, const struct order_state *state, const struct walk_call *call)
{
	return state->op && state->end > time && state->end - HANDOVER_MAX_NS <= call->op_start
		? state->end
		: time;
}

/* When the operation was submitted and ready, without these reasons (a bit each), ns. */
static int64_t ready_at(const struct order *order, const struct walk_call *call, unsigned besides)
{
	int64_t ready = call->enter + LAUNCH_MAX_NS;

	for (int i = 0; i < ORDER_REASONS; i++)
		if (!(besides & 1u << i))
			ready = later(ready, &order->needs[i], call);
	return ready;
}

static int is_host_function(const struct run *run, int64_t id)
{
	const struct run_call *call = run_call(run, id);

	return call && kind_family(call->kind) == FAMILY_callback;
}

/*
 * Returns until when a legacy operation blocked the call's operation, 0: it did not.  CUDA orders
 * the two; the gap between the end of one and the start of the other may be the hand-over, a host
 * function, or something else.
 */
static int64_t blocked_until(const struct holds *holds, const struct walk_call *call,
	const struct order_state *legacy)
{
	int64_t gap = call->op_start - legacy->end;

	if (llabs(gap) <= HANDOVER_MAX_NS)
		return call->op_start;
	if (gap <= 0 || !is_host_function(holds->run, legacy->call))
		return 0;
	return gap <= HOST_FUNCTION_MAX_NS ? call->op_start : legacy->end;
}

static int can_overlap(const struct run *run, const struct walk_call *call,
	const struct order_state *by)
{
	struct shape held = shape_of(run, call->op), behind = shape_of(run, by->op);

	return shape_can_overlap(&held, &behind);
}

static int add_hold(struct holds *holds, const struct walk_call *call, const struct order_state *by,
	int64_t via, enum hold_reason reason, int64_t ready, int64_t until)
{
	if (!can_overlap(holds->run, call, by))
		return 0;
	return run_add_hold(&holds->run->evidence,
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

/*
 * When the operation was ready without the other kind of work, ns.  All threads share the legacy
 * stream: a thread's own earlier work there comes first by intent; work of other threads counts
 * like any legacy work.
 */
static int64_t ready_for_legacy(const struct order *order, const struct walk_call *call,
	const struct legacy_pair *pair)
{
	unsigned besides = 1u << ORDER_LEGACY;
	int64_t ready;

	if (pair && call->stream_kind == STREAM_KIND_LEGACY)
		besides |= 1u << ORDER_STREAM | 1u << ORDER_AFTERWARDS;
	ready = ready_at(order, call, besides);
	return pair && pair->own_end > ready ? pair->own_end : ready;
}

static int add_legacy_hold(struct holds *holds, const struct order *order,
	const struct walk_call *call, const struct order_state *by, const struct legacy_pair *pair)
{
	int64_t ready, until;

	if (!by->op)
		return 0;
	ready = ready_for_legacy(order, call, pair);
	if (call->op_start - ready < HELD_MIN_NS || by->end <= ready)
		return 0;
	until = blocked_until(holds, call, by);
	if (until - ready < HELD_MIN_NS)
		return 0;
	return add_hold(holds, call, by, find_via(holds, call, by), HOLD_LEGACY, ready, until);
}

static int add_wait(struct holds *holds, const struct order *order, const struct walk_call *call)
{
	struct event_wait wait = { .call = call->id, .state = order_of_event(order, call) };
	struct held_stream *stream;
	struct event_wait *more;

	if (!wait.state.op || call->result || call->captured || !call->stream)
		return 0;
	stream = idmap_need(&holds->streams, call->stream, sizeof(*stream));
	more = stream ? array_room(stream->wait, stream->count, sizeof(*more)) : NULL;
	if (!more)
		return -1;
	stream->wait = more;
	stream->wait[stream->count++] = wait;
	return 0;
}

/*
 * Each event wait that blocked the operation for long gets a row, if the operation started when the
 * last one ended.
 */
static int add_event_holds(struct holds *holds, const struct order *order,
	const struct walk_call *call, const struct held_stream *stream)
{
	int64_t ready = ready_at(order, call, 1u << ORDER_EVENT), first = ready, last = INT64_MIN;
	int rc = 0;

	for (size_t i = 0; i < stream->count; i++)
		if (stream->wait[i].state.end > last)
			last = stream->wait[i].state.end;
	if (call->op_start - ready < HELD_MIN_NS || last <= ready ||
		llabs(call->op_start - last) > HANDOVER_MAX_NS)
		return 0;
	/* When everything that may be required was complete. */
	for (size_t i = 0; i < stream->count; i++) {
		const struct order_state *state = &stream->wait[i].state;

		if (state->end > ready &&
			(state->end - first < HELD_MIN_NS || !can_overlap(holds->run, call, state)))
			ready = state->end;
	}
	for (size_t i = 0; i < stream->count && !rc; i++) {
		const struct event_wait *wait = &stream->wait[i];
		int64_t until = wait->state.end == last ? call->op_start : wait->state.end;

		if (until - ready >= HELD_MIN_NS)
			rc = add_hold(holds, call, &wait->state, wait->call, HOLD_EVENT, ready,
				until);
	}
	return rc;
}

/*
 * The last legacy work, or work of blocking streams, before the call's operation: as observed on
 * the device where threads submitted at the same time, else by the order of the calls.
 */
static struct order_state last_before(const struct order *order, const struct legacy_pair *pair)
{
	return pair ? (struct order_state){ .call = pair->by_call,
		.op = pair->by_op,
		.end = pair->by_end }
		    : order->needs[ORDER_LEGACY];
}

int holds_process_call(struct holds *holds, const struct order *order, const struct walk_call *call)
{
	const struct legacy_pair *pair = legacy_before_of(&holds->before, call->id);
	struct order_state legacy = last_before(order, pair);
	struct held_stream *stream;

	if (call->kind == KIND_STREAM_WAIT)
		return add_wait(holds, order, call);
	if (call->kind == KIND_STREAM_DESTROY)
		free_stream(idmap_take(&holds->streams, call->stream));
	if (late_start_process_call(holds->late, order, call, legacy.op ? legacy.end : INT64_MIN))
		return -1;
	if (!call->op || call->op_start == WALK_NEVER)
		return 0;
	stream = idmap_get(&holds->streams, call->stream);
	if (stream && stream->count && add_event_holds(holds, order, call, stream))
		return -1;
	if (stream)
		stream->count = 0;
	if (call_is_sync_copy(call->kind) && call->direction != COPY_D2D)
		return 0;
	return add_legacy_hold(holds, order, call, &legacy, pair);
}
