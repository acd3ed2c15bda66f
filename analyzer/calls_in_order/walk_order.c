/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_order.h"

#include "host_runs.h"

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
	const struct run *run = order->known->run;
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

void walk_order_fill(struct walk_order *order, struct walk_call *call)
{
	const struct walk_known *known = order->known;
	const struct run *run = known->run;
	const struct run_object *object;
	const struct run_operand *operand;
	const struct run_ended *thread = run_cursor_at(&order->threads, call->id), *row, *launch;

	if (thread)
		call->other_thread = thread->what;
	for (; (object = run_cursor_at(&order->objects, call->id)); order->objects.at++)
		set_object(call, (enum object_role)object->role, object->object);
	for (; (operand = run_cursor_at(&order->operands, call->id)); order->operands.at++)
		call->host_visible |= is_visible(run, operand);
	fill_freed(order, call);
	/* A thread without calls of its own need not know what it has observed. */
	for (; (row = run_cursor_at(&order->host_runs, call->id)); order->host_runs.at++) {
		const struct host_run *ran = host_run_at(run, row->what);

		if (call->ran_last == WALK_NEVER || ran->enter > call->ran_last)
			call->ran_last = ran->enter;
		if (ran->enter >= call->ran)
			continue;
		call->ran = ran->enter;
		call->ran_by = run->thread[ran->thread].first ? ran->thread : 0;
	}
	launch = run_cursor_at(&order->launches, call->id);
	call->outside =
		call->kernel && run_waits_outside(run, call->kernel, launch ? launch->what : 0);
	call->contested = contested_of(&order->contested, call->id);
	if (call->kind == KIND_MODULE_LOAD)
		call->is_lazy_load = map_get(&known->lazy_loads, (uint64_t)call->id, 0) != 0;
	else if (kind_has(call->kind, K_POLLS))
		call->allocator =
			(uint8_t)map_get(&known->allocators, run_link(run, call->id)->site, 0);
}

void walk_order_begin(struct walk_order *order, const struct walk_known *known)
{
	const struct run *run = known->run;

	*order = (struct walk_order){ .known = known,
		.objects = { .rows = &run->objects },
		.freed = { .rows = &run->freed },
		.operands = { .rows = &run->operands },
		.threads = { .rows = &run->threads_made },
		.launches = { .rows = &run->launches },
		.host_runs = { .rows = &run->host_run_calls },
		.contested = known->contested };
}

/* Few calls load a module, and the sites of queries are few. */
static int find_caller(struct walk_known *known, struct callers *callers, uint32_t id,
	enum call_kind kind)
{
	uint32_t site = run_link(known->run, id)->site;
	int found = 0;

	if (kind == KIND_MODULE_LOAD) {
		found = callers_is_lazy_load(callers, id);
		if (found > 0)
			map_set(&known->lazy_loads, id, 1);
	} else if (kind_has(kind, K_POLLS)) {
		found = callers_find_allocator(callers, id);
		if (found > 0)
			map_set(&known->allocators, site, (uint64_t)found);
	}
	return found < 0 ? -1 : 0;
}

int walk_known_find(struct walk_known *known, struct db *db, const struct run *run)
{
	struct callers callers = { 0 };
	int rc;

	*known = (struct walk_known){ .run = run };
	rc = contested_find(run, &known->contested) || callers_init(&callers, db, run) ? -1 : 0;
	for (uint32_t id = 1; id < run_call_end(run) && !rc; id++) {
		const struct run_call *call = run_call(run, id);

		if (call && call->kind != KIND_RUNTIME)
			rc = find_caller(known, &callers, id, call->kind);
	}
	callers_release(&callers);
	return rc;
}

void walk_known_release(struct walk_known *known)
{
	contested_release(&known->contested);
	map_release(&known->lazy_loads);
	map_release(&known->allocators);
}
