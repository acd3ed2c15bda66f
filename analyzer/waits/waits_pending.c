/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_pending.h"

#include <stdlib.h>

#include "constants.h"
#include "id_map.h"
#include "memory.h"

/* The operation that ended last in a context, among submissions that have returned. */
struct pending_context {
	int64_t process;
	int device;
	struct order_state all, blocking; /* blocking: legacy and blocking streams */
	int64_t stream;                   /* stream of `all` */
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
	struct id_map contexts;
	struct in_flight *flight; /* submissions that may not have returned yet */
	size_t flight_count;
	int64_t first_exit; /* the earliest exit of them */
};

struct pending *pending_new(void)
{
	struct pending *pending = xcalloc(1, sizeof(*pending));

	pending->first_exit = WALK_NEVER;
	return pending;
}

void pending_free(struct pending *pending)
{
	if (!pending)
		return;
	id_map_release(&pending->contexts, free);
	free(pending->flight);
	free(pending);
}

static int64_t context_id(const struct walk_call *call)
{
	return call->stream_context ? call->stream_context : call->context;
}

void pending_add(struct pending *pending, const struct walk_call *call)
{
	struct pending_context *context;

	if (!call->unknown && (!call->op || call->op_end == WALK_NEVER))
		return;
	context = id_map_need(&pending->contexts, context_id(call), sizeof(*context));
	context->process = call->process;
	context->device = call->device;
	*array_push(pending->flight, pending->flight_count) = (struct in_flight){
		.exit = call->exit,
		.context = context,
		.stream = call->stream,
		.blocking = stream_is_blocking(call->stream_kind) ||
			call->stream_kind == STREAM_KIND_LEGACY,
		.state = { .call = call->id,
			.op = call->unknown ? ORDER_OP_UNKNOWN : call->op,
			.end = call->op_end },
	};
	if (call->exit < pending->first_exit)
		pending->first_exit = call->exit;
}

static void add_end(struct pending_context *context, const struct in_flight *flight)
{
	if (flight->blocking)
		context->blocking = order_later(context->blocking, flight->state);
	if (flight->stream != context->stream) {
		if (context->all.op && flight->state.end <= context->all.end) {
			context->beside = order_later(context->beside, flight->state);
			return;
		}
		context->beside = context->all;
		context->stream = flight->stream;
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

		if (flight->exit <= now) {
			add_end(flight->context, flight);
			continue;
		}
		if (flight->exit < pending->first_exit)
			pending->first_exit = flight->exit;
		pending->flight[kept++] = *flight;
	}
	pending->flight_count = kept;
}

static int is_on(const struct pending_context *context, int64_t process, int device)
{
	return context && context->process == process && (device < 0 || context->device == device);
}

/* Of all devices if device is -1; without the work of stream except, 0: none. */
static struct order_state of_device(const struct pending *pending, int64_t process, int device,
	int64_t except)
{
	struct order_state state = ORDER_NOTHING;

	for (size_t i = 0; i < pending->contexts.size; i++) {
		const struct pending_context *context = pending->contexts.slot[i].object;

		if (is_on(context, process, device))
			state = order_later(state,
				except && context->stream == except ? context->beside
								    : context->all);
	}
	return state;
}

static struct order_state of_launch(const struct pending *pending, const struct walk_call *call)
{
	struct order_state all = of_device(pending, call->process, call->device, 0);
	struct order_state beside = of_device(pending, call->process, call->device, call->stream);
	int64_t difference = all.end - beside.end;

	if (all.op == ORDER_OP_UNKNOWN)
		return all;
	return beside.op && difference <= (all.end - call->enter) / OWN_STREAM_PART ? beside : all;
}

struct order_state pending_find(struct pending *pending, const struct order *order,
	const struct walk_call *call, enum scope *scope)
{
	const struct pending_context *context;

	land(pending, call->enter);
	if (call->freed_async)
		*scope = SCOPE_NONE;
	context = id_map_get(&pending->contexts, context_id(call));
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
			: of_device(pending, call->process, scope_device(call), 0);
	case SCOPE_PROCESS:
		return of_device(pending, call->process, -1, 0);
	}
	return ORDER_NOTHING;
}

void pending_end_unknown(struct pending *pending, const struct walk_call *call, enum scope scope)
{
	int device = scope == SCOPE_DEVICE ? scope_device(call) : -1;

	if (scope != SCOPE_CONTEXT && scope != SCOPE_DEVICE && scope != SCOPE_PROCESS)
		return;
	for (size_t i = 0; i < pending->contexts.size; i++) {
		struct pending_context *context = pending->contexts.slot[i].object;

		if (!is_on(context, call->process, device) ||
			(scope == SCOPE_CONTEXT &&
				pending->contexts.slot[i].id != context_id(call)))
			continue;
		context->all = context->blocking = context->beside = ORDER_NOTHING;
	}
}
