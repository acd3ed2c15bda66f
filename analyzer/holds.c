/* SPDX-License-Identifier: Apache-2.0 */
#include "holds.h"

#include <stdlib.h>
#include <string.h>

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

struct holds {
	sqlite3_stmt *insert, *shape, *host_function;
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

void holds_free(struct holds *holds)
{
	if (!holds)
		return;
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

/* Submitted, and let go by its stream, by events and by what its thread had waited for. */
static int64_t ready_at(const struct order *order, const struct walk_call *call)
{
	int64_t ready = call->enter + LAUNCH_LATENCY_NS;

	for (int i = 0; i < ORDER_REASONS; i++)
		if (i != ORDER_LEGACY)
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

int holds_see(struct holds *holds, const struct order *order, const struct walk_call *call)
{
	const struct order_state *legacy = &order->needs[ORDER_LEGACY];
	struct shape held, behind;
	int64_t ready, until;

	if (!call->op || call->op_start == WALK_NEVER || !legacy->op)
		return 0;
	if (call->kind == KIND_COPY && call->direction != COPY_D2D)
		return 0;
	ready = ready_at(order, call);
	if (call->op_start - ready < HOLD_MIN_NS || legacy->end <= ready)
		return 0;
	until = held_until(holds, call, legacy);
	if (until - ready < HOLD_MIN_NS)
		return until < 0 ? -1 : 0;
	if (read_shape(holds, call->op, &held) || read_shape(holds, legacy->op, &behind))
		return -1;
	if (!can_overlap(&held, &behind))
		return 0;
	return db_run(holds->insert, "iiisii", call->op, legacy->op,
		call->stream_kind == STREAM_KIND_LEGACY ? call->id : legacy->call, "legacy",
		ready, until - ready);
}
