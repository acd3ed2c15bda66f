/* SPDX-License-Identifier: Apache-2.0 */
#include "holds.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* From the entry of a launch to the start on an idle device: 6 microseconds, 99 % 11 (H200). */
#define LAUNCH_LATENCY_NS 11000
/* From the end of an operation to the start of one that waited for it: 1.3 microseconds between
 * kernels, up to 9 before a copy (H200); the sum of both stamps' errors on top. */
#define HANDOVER_NS 20000
/* Less than this is not told from a late start. */
#define HOLD_MIN_NS 20000
/* A host function in between takes a thread's wake-up and its own time, and leaves no operation:
 * a start so long after the work before it is still put down to it. */
#define HOST_FUNCTION_NS 1000000

/* Waits for events that the next operation of a stream comes after. */
struct held_stream {
	struct event_wait {
		int64_t call;
		struct order_state state;
	} *wait;
	size_t count;
};

struct holds {
	sqlite3_stmt *insert, *shape, *host_function;
	struct idmap streams;          /* struct held_stream */
};

/* What decides whether two operations can run at the same time. */
struct shape {
	char kind;                    /* k: kernel, c: copy, s: set, o: other */
	int64_t copy_kind;
	int fills_device;
};

struct holds *holds_new(struct db *db)
{
	struct holds *holds = calloc(1, sizeof(*holds));

	if (!holds)
		return NULL;
	holds->insert = db_prepare(db, "INSERT INTO hold VALUES (?, ?, ?, ?, ?, ?)");
	holds->shape = db_prepare(db, "SELECT o.kind, o.copy_kind, c.grid, c.block, "
		"d.sm_count, d.threads_per_sm, d.blocks_per_sm FROM operation o "
		"LEFT JOIN call c ON c.id = o.call "
		"LEFT JOIN device d ON d.process = o.process AND d.ordinal = o.device "
		"WHERE o.id = ?");
	holds->host_function = db_prepare(db, "SELECT 1 FROM call c JOIN call_type t "
		"ON t.id = c.type WHERE c.id = ? AND t.kind IN ('host_func', 'stream_callback')");
	if (holds->insert && holds->shape && holds->host_function)
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
	sqlite3_finalize(holds->insert);
	sqlite3_finalize(holds->shape);
	sqlite3_finalize(holds->host_function);
	free(holds);
}

/* A lower bound of what a kernel takes: registers and shared memory may let in fewer blocks. */
static int fills_device(uint64_t grid, uint64_t block, int64_t sms, int64_t threads_per_sm,
	int64_t blocks_per_sm)
{
	uint64_t blocks = (uint64_t)GRID_X(grid) * GRID_Y(grid) * GRID_Z(grid);
	uint64_t threads = (uint64_t)BLOCK_X(block) * BLOCK_Y(block) * BLOCK_Z(block);

	if (sms <= 0 || !blocks || !threads)
		return 0;
	return blocks * threads >= (uint64_t)(sms * threads_per_sm) ||
	       (blocks_per_sm > 0 && blocks >= (uint64_t)(sms * blocks_per_sm));
}

static int read_shape(struct holds *holds, int64_t op, struct shape *shape)
{
	sqlite3_stmt *q = holds->shape;
	int rc = db_bind(q, "i", op) ? -1 : db_step(q);
	const char *kind;

	*shape = (struct shape){ .kind = 'o' };
	if (rc > 0) {
		kind = (const char *)sqlite3_column_text(q, 0);
		shape->kind = !strcmp(kind, "kernel") ? 'k' : !strcmp(kind, "memcpy") ? 'c'
			    : !strcmp(kind, "memset") ? 's' : 'o';
		shape->copy_kind = sqlite3_column_int64(q, 1);
		shape->fills_device = shape->kind == 'k' &&
			fills_device((uint64_t)sqlite3_column_int64(q, 2),
				(uint64_t)sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
				sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6));
	}
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

static int can_overlap(const struct shape *a, const struct shape *b)
{
	if (a->kind == 'c' && b->kind == 'c')
		return a->copy_kind != b->copy_kind;
	if (a->kind == 'c' || b->kind == 'c')
		return 1;
	return !a->fills_device && !b->fills_device;
}

static int64_t later(int64_t time, const struct order_state *state)
{
	return state->op && state->end > time ? state->end : time;
}

/* Submitted, and let go by all that the order knows of besides one kind of reason. */
static int64_t ready_at(const struct order *order, const struct walk_call *call,
	enum order_reason besides)
{
	int64_t ready = call->enter + LAUNCH_LATENCY_NS;

	for (int i = 0; i < ORDER_REASONS; i++)
		if (i != (int)besides)
			ready = later(ready, &order->needs[i]);
	return ready;
}

static int is_host_function(struct holds *holds, int64_t call)
{
	int rc = db_bind(holds->host_function, "i", call) ? -1 : db_step(holds->host_function);

	sqlite3_reset(holds->host_function);
	return rc;
}

/*
 * Until when a legacy operation held the call's, 0: it did not, -1 after a message.  CUDA orders
 * the two, so that what the other one's end and the start have in between is the question: the
 * hand-over, a host function, or something else.
 */
static int64_t held_until(struct holds *holds, const struct walk_call *call,
	const struct order_state *legacy)
{
	int64_t gap = call->op_start - legacy->end;
	int between;

	if (llabs(gap) <= HANDOVER_NS)
		return call->op_start;
	between = gap > 0 ? is_host_function(holds, legacy->call) : 0;
	if (between <= 0)
		return between;
	return gap <= HOST_FUNCTION_NS ? call->op_start : legacy->end;
}

static int add_hold(struct holds *holds, const struct walk_call *call,
	const struct order_state *by, int64_t via, const char *reason, int64_t ready, int64_t until)
{
	struct shape held, behind;

	if (read_shape(holds, call->op, &held) || read_shape(holds, by->op, &behind))
		return -1;
	if (!can_overlap(&held, &behind))
		return 0;
	return db_run(holds->insert, "iiisii", call->op, by->op, via, reason, ready,
		until - ready);
}

static int see_legacy(struct holds *holds, const struct order *order,
	const struct walk_call *call)
{
	const struct order_state *legacy = &order->needs[ORDER_LEGACY];
	int64_t ready, until;

	if (!legacy->op)
		return 0;
	ready = ready_at(order, call, ORDER_LEGACY);
	if (call->op_start - ready < HOLD_MIN_NS || legacy->end <= ready)
		return 0;
	until = held_until(holds, call, legacy);
	if (until - ready < HOLD_MIN_NS)
		return until < 0 ? -1 : 0;
	return add_hold(holds, call, legacy,
		call->stream_kind == STREAM_KIND_LEGACY ? call->id : legacy->call, "legacy", ready,
		until);
}

static int add_wait(struct holds *holds, const struct order *order,
	const struct walk_call *call)
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

/* The wait that let the operation go last counts, from when the last but one did. */
static int see_events(struct holds *holds, const struct order *order,
	const struct walk_call *call, const struct held_stream *stream)
{
	int64_t ready = ready_at(order, call, ORDER_EVENT);
	const struct event_wait *last = &stream->wait[0];

	for (size_t i = 1; i < stream->count; i++) {
		const struct event_wait *wait = &stream->wait[i];

		if (wait->state.end > last->state.end) {
			ready = later(ready, &last->state);
			last = wait;
		} else {
			ready = later(ready, &wait->state);
		}
	}
	if (call->op_start - ready < HOLD_MIN_NS || last->state.end <= ready ||
		llabs(call->op_start - last->state.end) > HANDOVER_NS)
		return 0;
	return add_hold(holds, call, &last->state, last->call, "event", ready, call->op_start);
}

int holds_see(struct holds *holds, const struct order *order, const struct walk_call *call)
{
	struct held_stream *stream;

	if (call->kind == KIND_STREAM_WAIT)
		return add_wait(holds, order, call);
	if (call->kind == KIND_STREAM_DESTROY)
		free_stream(idmap_take(&holds->streams, call->stream));
	if (!call->op || call->op_start == WALK_NEVER)
		return 0;
	stream = idmap_get(&holds->streams, call->stream);
	if (stream && stream->count && see_events(holds, order, call, stream))
		return -1;
	if (stream)
		stream->count = 0;
	if (call->kind == KIND_COPY && call->direction != COPY_D2D)
		return 0;
	return see_legacy(holds, order, call);
}
