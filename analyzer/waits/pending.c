/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pending work of each context.  Submissions count once they have returned: a call entered
 * while another thread was still submitting need not wait for that.
 */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "memory.h"
#include "scope.h"
#include "wait.h"

/* The operation that ended last in a context, among submissions that have returned. */
struct pending_context {
	int64_t process;
	int device;
	struct order_state all, blocking; /* blocking: legacy and blocking streams */
	int64_t stream;                   /* stream of `all` */
	struct order_state others;        /* in other streams than that */
};

/* A submission that may not have returned yet. */
struct in_flight {
	int64_t exit;
	struct pending_context *context;
	int64_t stream;
	int blocking;
	struct order_state state;
};

void pending_add(struct pending *pending, const struct walk_call *call)
{
	struct pending_context *context;

	if (!call->unknown && (!call->op || call->op_end == WALK_NEVER))
		return;
	context = id_map_need(&pending->contexts, walk_context(call), sizeof(*context));
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
	pending->first_exit = at_most(pending->first_exit, call->exit);
}

/* Adds submissions that have returned by now to their contexts. */
static void land(struct pending *pending, int64_t now)
{
	size_t kept = 0;

	if (pending->first_exit > now)
		return;
	pending->first_exit = WALK_NEVER;
	for (size_t i = 0; i < pending->flight_count; i++) {
		const struct in_flight *flight = &pending->flight[i];
		struct pending_context *context = flight->context;

		if (flight->exit > now) {
			pending->first_exit = at_most(pending->first_exit, flight->exit);
			pending->flight[kept++] = *flight;
			continue;
		}
		if (flight->blocking)
			context->blocking = order_later(context->blocking, flight->state);
		if (flight->stream != context->stream && context->all.op &&
			flight->state.end <= context->all.end) {
			context->others = order_later(context->others, flight->state);
			continue;
		}
		if (flight->stream != context->stream)
			context->others = context->all;
		context->stream = flight->stream;
		context->all = order_later(context->all, flight->state);
	}
	pending->flight_count = kept;
}

static int is_on(const struct pending_context *context, int64_t process, int device)
{
	return context->process == process && (device < 0 || context->device == device);
}

/* Of all devices if device is -1; without the work of stream except, 0: none. */
static struct order_state of_device(const struct pending *pending, int64_t process, int device,
	int64_t except)
{
	struct order_state state = ORDER_NOTHING;

	for (struct id_map_slot *at = NULL; (at = id_map_next(&pending->contexts, at));) {
		const struct pending_context *context = at->object;

		if (is_on(context, process, device))
			state = order_later(state,
				except && context->stream == except ? context->others
								    : context->all);
	}
	return state;
}

struct order_state pending_find(struct pending *pending, const struct order *order,
	const struct walk_call *call, enum scope scope)
{
	const struct pending_context *context = id_map_get(&pending->contexts, walk_context(call));
	struct order_state all, others;

	land(pending, call->enter);
	switch (scope) {
	case SCOPE_NONE:
		break;
	case SCOPE_EVENT:
		return order_of_event(order, call);
	case SCOPE_OWN:
	case SCOPE_STREAM:
		return order_of_stream(order, call, scope == SCOPE_STREAM);
	case SCOPE_LEGACY:
		return context ? context->blocking : ORDER_NOTHING;
	case SCOPE_CONTEXT:
		return context ? context->all : ORDER_NOTHING;
	case SCOPE_DEVICE:
		all = of_device(pending, call->process, scope_device(call), 0);
		if (kind_family(call->kind) != FAMILY_launch || all.op == ORDER_OP_UNKNOWN)
			return all;
		others = of_device(pending, call->process, call->device, call->stream);
		return others.op &&
				all.end - others.end <= (all.end - call->enter) / OWN_STREAM_PART
			? others
			: all;
	case SCOPE_PROCESS:
		return of_device(pending, call->process, -1, 0);
	}
	return ORDER_NOTHING;
}

void pending_clear(struct pending *pending, const struct walk_call *call, enum scope scope)
{
	int device = scope == SCOPE_DEVICE ? scope_device(call) : -1;

	for (struct id_map_slot *at = NULL; (at = id_map_next(&pending->contexts, at));) {
		struct pending_context *context = at->object;

		if (is_on(context, call->process, device) &&
			(scope != SCOPE_CONTEXT || at->id == walk_context(call)))
			context->all = context->blocking = context->others = ORDER_NOTHING;
	}
}

void pending_release(struct pending *pending)
{
	id_map_release(&pending->contexts, free);
	free(pending->flight);
}
