/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_order.h"

#include "host_runs.h"

int walk_cursor_open(struct walk_cursor *cursor, struct db *db, const char *sql)
{
	cursor->rows = db_prepare(db, sql);
	return cursor->rows ? walk_cursor_step(cursor) : -1;
}

int walk_cursor_step(struct walk_cursor *cursor)
{
	cursor->row = db_step(cursor->rows);
	return cursor->row < 0 ? -1 : 0;
}

int walk_cursor_at(struct walk_cursor *cursor, int64_t call)
{
	while (cursor->row > 0 && sqlite3_column_int64(cursor->rows, 0) < call)
		if (walk_cursor_step(cursor))
			return -1;
	return cursor->row > 0 && sqlite3_column_int64(cursor->rows, 0) == call;
}

void walk_cursor_close(struct walk_cursor *cursor)
{
	sqlite3_finalize(cursor->rows);
	cursor->rows = NULL;
}

static void set_object(struct walk_call *call, enum object_role role, int64_t object)
{
	switch (role) {
	case OBJECT_EXEC:
		call->exec = object;
		break;
	case OBJECT_EVENT:
		call->event2 = object;
		break;
	case OBJECT_DST_CONTEXT:
		call->dst_context = object;
		break;
	case OBJECT_SRC_CONTEXT:
		call->src_context = object;
		break;
	case OBJECT_LAUNCH_EVENT:
		call->launch_event = object;
		break;
	case OBJECT_COMPLETION_EVENT:
		call->completion_event = object;
		break;
	case OBJECT_CAPTURED:
		call->captured = 1;
		break;
	case OBJECT_ATTRIBUTES:
		call->attributes = (unsigned)object;
		break;
	case OBJECT_CONTENT:
		call->content = (unsigned)object;
		break;
	case OBJECT_FILL:
		call->fill = object + 1;
		break;
	case OBJECT_OTHER:
		break;
	}
}

/* Reads the first allocation that the call freed, and the device of the call that had made it. */
static void fill_freed(struct walk_order *order, struct walk_call *call)
{
	const struct run *run = order->run;
	const struct run_ended *row = run_cursor_at(&order->freed, call->id);
	const struct run_allocation *freed = row ? run_allocation(run, row->what) : NULL;
	const struct run_call *maker = freed ? run_call(run, freed->created) : NULL;

	call->owner_device = -1;
	if (!freed)
		return;
	call->freed_async = freed->kind == ALLOCATION_ASYNC;
	if (maker)
		call->owner_device = run_context(run, run_payload(run, maker)->context)->device;
}

/* Is it mapped host memory used by a kernel, or managed memory that is written? */
static int is_visible(const struct run *run, const struct run_operand *operand)
{
	enum allocation_memory kind = run_allocation(run, operand->allocation)->kind;

	if (operand->role == OPERAND_WORD || operand->role == OPERAND_NODE)
		return kind == ALLOCATION_PINNED || kind == ALLOCATION_REGISTERED ||
			kind == ALLOCATION_MANAGED;
	return operand->role == OPERAND_DST && kind == ALLOCATION_MANAGED;
}

int walk_order_fill(struct walk_order *order, struct walk_call *call)
{
	const struct run_object *object;
	const struct run_operand *operand;
	const struct run_ended *thread = run_cursor_at(&order->threads, call->id);

	if (thread)
		call->other_thread = thread->what;
	for (; (object = run_cursor_at(&order->objects, call->id)); order->objects.at++)
		set_object(call, (enum object_role)object->role, object->object);
	for (; (operand = run_cursor_at(&order->operands, call->id)); order->operands.at++)
		call->host_visible |= is_visible(order->run, operand);
	fill_freed(order, call);
	/* A thread without calls of its own need not know what it has observed. */
	const struct run *run = order->run;
	const struct run_ended *row;

	for (; (row = run_cursor_at(&order->host_runs, call->id)); order->host_runs.at++) {
		const struct host_run *ran = host_run_at(run, row->what);

		if (call->ran_last == WALK_NEVER || ran->enter > call->ran_last)
			call->ran_last = ran->enter;
		if (ran->enter >= call->ran)
			continue;
		call->ran = ran->enter;
		call->ran_by = run->thread[ran->thread].first ? ran->thread : 0;
	}
	const struct run_ended *launch = run_cursor_at(&order->launches, call->id);
	call->outside = call->kernel &&
		run_waits_outside(order->run, call->kernel, launch ? launch->what : 0);
	call->contested = contested_of(&order->contested, call->id);
	/* Few calls load a module, and the sites of queries are few. */
	int rc = 0;

	if (call->kind == KIND_MODULE_LOAD)
		rc = call->is_lazy_load = callers_is_lazy_load(&order->callers, call->id);
	else if (kind_has(call->kind, K_POLLS)) {
		rc = callers_find_allocator(&order->callers, call->id);
		call->allocator = (uint8_t)rc;
	}
	return rc < 0 ? -1 : 0;
}

int walk_order_open(struct walk_order *order, struct db *db, const struct run *run)
{
	*order = (struct walk_order){ .run = run,
		.objects = { .rows = &run->objects },
		.freed = { .rows = &run->freed },
		.operands = { .rows = &run->operands },
		.threads = { .rows = &run->threads_made },
		.launches = { .rows = &run->launches },
		.host_runs = { .rows = &run->host_run_calls } };
	return contested_find(run, &order->contested) || callers_init(&order->callers, db, run) ? -1
												: 0;
}

void walk_order_close(struct walk_order *order)
{
	contested_release(&order->contested);
	callers_release(&order->callers);
}
