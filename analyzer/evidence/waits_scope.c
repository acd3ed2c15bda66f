/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_scope.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"
#include "idmap.h"
#include "run_columns.h"

/* What ended last in a context, of the submissions that have returned. */
struct pending_context {
	int64_t process;
	int device;
	struct order_state all, blocking; /* blocking: legacy and blocking streams */
	int64_t stream;                   /* of all */
	struct order_state beside;        /* in other streams than that */
};

struct in_flight {
	int64_t exit;
	struct pending_context *context;
	int64_t stream;
	int blocking;
	struct order_state state;
};

struct pending {
	const struct run *run;
	struct idmap contexts;
	struct in_flight *flight; /* submissions that may not have returned yet */
	size_t flight_count;
	int64_t first_exit; /* the earliest of them */
};

static int is_host(enum memory_kind memory)
{
	return memory == MEMORY_PAGEABLE || memory == MEMORY_PINNED;
}

/* Of a copy or memset without a stream argument: of the default stream. */
static enum scope scope_of_default(const struct walk_call *call)
{
	return call->stream_kind == STREAM_KIND_THREAD ? SCOPE_STREAM : SCOPE_LEGACY;
}

static enum scope scope_by_memory(const struct walk_call *call)
{
	if (kind_family(call->kind) == FAMILY_set)
		return is_host(call->dst) ? scope_of_default(call) : SCOPE_NONE;
	if (call->direction == COPY_D2D)
		return SCOPE_NONE;
	if (kind_has(call->kind, K_DEFAULT_STREAM))
		return scope_of_default(call);
	return call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE ? SCOPE_STREAM
									    : SCOPE_NONE;
}

/* A call that frees NULL waits for nothing. */
static int frees_null(const struct walk_call *call)
{
	return kind_has(call->kind, K_RELEASES) && !call->ptr;
}

enum scope scope_of(const struct walk_call *call)
{
	switch (kind_waits(call->kind)) {
	case WAITS_EVENT:
		return SCOPE_EVENT;
	case WAITS_STREAM:
		return call->stream_kind == STREAM_KIND_LEGACY ? SCOPE_LEGACY : SCOPE_OWN;
	case WAITS_BY_MEMORY:
		return scope_by_memory(call);
	case WAITS_CONTEXT:
		return SCOPE_CONTEXT;
	case WAITS_DEVICE:
		return frees_null(call) ? SCOPE_NONE : SCOPE_DEVICE;
	case WAITS_PROCESS:
		return frees_null(call) ? SCOPE_NONE : SCOPE_PROCESS;
	case WAITS_NOTHING:
		break;
	}
	return SCOPE_NONE;
}

enum scope scope_asked(const struct walk_call *call)
{
	if (!kind_has(call->kind, K_POLLS))
		return scope_of(call);
	return call->kind == KIND_STREAM_QUERY ? SCOPE_OWN : SCOPE_EVENT;
}

enum scope scope_within(const struct walk_call *call)
{
	return kind_has(call->kind, K_LOADS_CODE) ? SCOPE_DEVICE : scope_of(call);
}

int scope_empties_device(const struct walk_call *call)
{
	enum scope scope = scope_within(call);

	return scope == SCOPE_DEVICE || scope == SCOPE_PROCESS;
}

int scope_waits_first(const struct walk_call *call)
{
	return scope_of(call) != SCOPE_NONE && scope_empties_device(call) &&
		call->kind != KIND_MODULE_LOAD;
}

int scope_is_explicit(const struct walk_call *call)
{
	return call_is_wait(call->kind);
}

int scope_holds_others(const struct walk_call *call)
{
	return !scope_is_explicit(call) && scope_of(call) > SCOPE_STREAM;
}

int scope_waited(const struct walk_call *call)
{
	enum scope scope = call->result || call->freed_async ? SCOPE_NONE : scope_of(call);

	if (scope == SCOPE_NONE)
		return 0;
	return scope_is_explicit(call) || scope >= SCOPE_CONTEXT ||
		call->exit - call->enter > BLOCKED_MIN_NS;
}

int scope_includes_own(const struct walk_call *call)
{
	if (call_is_sync_set(call->kind))
		return is_host(call->dst);
	if (!call_is_copy(call->kind))
		return 0;
	return call->direction == COPY_D2H || call->direction == COPY_H2H ||
		(call_is_sync_copy(call->kind) && call->src == MEMORY_PINNED);
}

struct pending *pending_new(struct db *db)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return NULL;
	pending->first_exit = WALK_NEVER;
	pending->run = db->run;
	return pending;
}

void pending_free(struct pending *pending)
{
	if (!pending)
		return;
	idmap_release(&pending->contexts, free);
	free(pending->flight);
	free(pending);
}

int pending_add(struct pending *pending, const struct walk_call *call)
{
	int64_t id = call->stream_context ? call->stream_context : call->context;
	struct pending_context *context;
	struct in_flight *more;

	if (!call->op || call->op_end == WALK_NEVER)
		return 0;
	context = idmap_need(&pending->contexts, id, sizeof(*context));
	more = array_room(pending->flight, pending->flight_count, sizeof(*more));
	if (!context || !more)
		return -1;
	context->process = call->process;
	context->device = call->device;
	pending->flight = more;
	pending->flight[pending->flight_count++] = (struct in_flight){
		.exit = call->exit,
		.context = context,
		.stream = call->stream,
		.blocking = stream_is_blocking(call->stream_kind) ||
			call->stream_kind == STREAM_KIND_LEGACY,
		.state = { .call = call->id, .op = call->op, .end = call->op_end },
	};
	if (call->exit < pending->first_exit)
		pending->first_exit = call->exit;
	return 0;
}

static void note_end(struct pending_context *context, const struct in_flight *flight)
{
	if (flight->blocking)
		context->blocking = order_later(context->blocking, flight->state);
	if (flight->stream != context->stream &&
		(!context->all.op || flight->state.end > context->all.end)) {
		context->beside = context->all;
		context->stream = flight->stream;
	} else if (flight->stream != context->stream) {
		context->beside = order_later(context->beside, flight->state);
		return;
	}
	context->all = order_later(context->all, flight->state);
}

static void land(struct pending *pending, int64_t now)
{
	size_t kept = 0;

	if (pending->first_exit > now)
		return;
	pending->first_exit = WALK_NEVER;
	for (size_t i = 0; i < pending->flight_count; i++) {
		struct in_flight *flight = &pending->flight[i];

		if (flight->exit > now) {
			if (flight->exit < pending->first_exit)
				pending->first_exit = flight->exit;
			pending->flight[kept++] = *flight;
			continue;
		}
		note_end(flight->context, flight);
	}
	pending->flight_count = kept;
}

/* device -1: all of them; but: a stream that does not count, 0: all do. */
static struct order_state of_device(const struct pending *pending, int64_t process, int device,
	int64_t but)
{
	struct order_state state = ORDER_NOTHING;

	for (size_t i = 0; i < pending->contexts.size; i++) {
		const struct pending_context *context = pending->contexts.slot[i].object;

		if (context && context->process == process &&
			(device < 0 || context->device == device))
			state = order_later(state,
				but && context->stream == but ? context->beside : context->all);
	}
	return state;
}

static struct order_state of_launch(const struct pending *pending, const struct walk_call *call)
{
	struct order_state all = of_device(pending, call->process, call->device, 0);
	struct order_state beside = of_device(pending, call->process, call->device, call->stream);
	int64_t difference = all.end - beside.end;

	return beside.op && difference <= (all.end - call->enter) / OWN_STREAM_PART ? beside : all;
}

/* Memory is waited for on the device that owns it, whatever device is current; of a pool not. */
static int find_owner(const struct run *run, const struct walk_call *call, enum scope *scope)
{
	const struct run_ended *freed = run_find(&run->freed, call->id);
	const struct run_allocation *allocation = run_allocation(run, freed ? freed->what : 0);
	const struct run_call *maker = run_call(run, allocation->created);
	int device = maker ? run_context(run, run_payload(run, maker)->context)->device : -1;

	if (freed && allocation->kind == ALLOCATION_ASYNC)
		*scope = SCOPE_NONE;
	return device < 0 ? call->device : device;
}

struct order_state pending_find(struct pending *pending, const struct order *order,
	const struct walk_call *call, enum scope *scope)
{
	int64_t id = call->stream_context ? call->stream_context : call->context;
	const struct pending_context *context;
	int device = call->device;

	land(pending, call->enter);
	if (kind_family(call->kind) == FAMILY_free)
		device = find_owner(pending->run, call, scope);
	context = idmap_get(&pending->contexts, id);
	switch (*scope) {
	case SCOPE_NONE:
		break;
	case SCOPE_EVENT:
		return order_of_event(order, call);
	case SCOPE_OWN:
		return order_of_stream(order, call, 0);
	case SCOPE_STREAM:
		return order_of_stream(order, call, 1);
	case SCOPE_LEGACY:
		return context ? context->blocking : ORDER_NOTHING;
	case SCOPE_CONTEXT:
		return context ? context->all : ORDER_NOTHING;
	case SCOPE_DEVICE:
		return kind_family(call->kind) == FAMILY_launch
			? of_launch(pending, call)
			: of_device(pending, call->process, device, 0);
	case SCOPE_PROCESS:
		return of_device(pending, call->process, -1, 0);
	}
	return ORDER_NOTHING;
}
