/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"

#include <stdlib.h>

#include "order_steps.h"

const char *const order_reason_names[ORDER_REASONS] = {
#define X(reason, name, strength) [ORDER_##reason] = name,
	ORDER_REASON_LIST(X)
#undef X
};

const enum order_strength order_reason_strength[ORDER_REASONS] = {
#define X(reason, name, strength) [ORDER_##reason] = strength,
	ORDER_REASON_LIST(X)
#undef X
};

const char *const order_strength_names[ORDER_GUARANTEED + 1] = {
	[ORDER_UNORDERED] = "unordered",
	[ORDER_UNKNOWN] = "unknown",
	[ORDER_ASSUMED] = "assumed",
	[ORDER_INCIDENTAL] = "incidental",
	[ORDER_GUARANTEED] = "guaranteed",
};

struct order_state order_later(struct order_state a, struct order_state b)
{
	return b.op && (!a.op || b.end > a.end) ? b : a;
}

void order_begin(struct order *order, const struct order_state *state)
{
	order_clock_ref(state->clock);
	order_clock_unref(order->now);
	order->now = state->clock;
	order->now_own = state->own;
}

void order_learn(struct order *order, struct order_clock **clock, const struct order_epoch *own,
	const struct order_state *state, enum order_strength cap)
{
	/*
	 * A clock that contains an agent's position also contains everything that position is
	 * ordered after.
	 */
	if (state->own.seq && order_clock_strength(*clock, own, &state->own) >= cap)
		return;
	order_clock_join(&order->joiner, clock, own, state->clock, cap);
	order_clock_add(&order->joiner, clock, own, &state->own, cap);
}

int order_edge(struct order *order, const struct walk_call *call, const struct order_state *state,
	enum order_reason reason)
{
	if (!state->call || state->call == call->id)
		return 0;
	/* Unknown work of which a thread has seen the end delays nothing any more. */
	if (state->op != ORDER_OP_UNKNOWN || (reason != ORDER_HOST && reason != ORDER_THREAD))
		order->needs[reason] = order_later(order->needs[reason], *state);
	order->needed |= 1u << reason;
	return order->edge ? order->edge(order->arg, call->id, state->call,
				     state->start ? ORDER_START : reason)
			   : 0;
}

int order_need(struct order *order, const struct walk_call *call, const struct order_state *state,
	enum order_reason reason)
{
	if (order_edge(order, call, state, reason))
		return -1;
	order_learn(order, &order->now, &order->now_own, state, order_reason_strength[reason]);
	return 0;
}

void order_doubt(struct order *order, struct order_clock **clock)
{
	struct order_epoch all = { .key = ORDER_ALL_KEY, .seq = order->last_seq };

	order_clock_add(&order->joiner, clock, NULL, &all, ORDER_UNKNOWN);
}

struct order_state order_node(struct order *order, const struct walk_call *call)
{
	struct order_state state = ORDER_NOTHING;

	if (call->op && call->op_end != WALK_NEVER)
		state = (struct order_state){ .op = call->op, .end = call->op_end };
	else if (call->unknown)
		state = (struct order_state){ .op = ORDER_OP_UNKNOWN, .end = WALK_NEVER };
	for (unsigned needed = order->needed; needed; needed &= needed - 1)
		state = order_later(state, order->needs[__builtin_ctz(needed)]);
	order->node = 1;
	return (struct order_state){ .call = call->id,
		.op = state.op,
		.end = state.end,
		.clock = order->now };
}

static int step_create(struct order *order, const struct walk_call *call)
{
	struct order_event *event;

	if (!call->event)
		return 0;
	event = order_need_event(order, call->event);
	if (event)
		event->foreign = call->kind == KIND_IPC_EVENT;
	return event ? 0 : -1;
}

/* Other processes may record an exported event. */
static int step_export(struct order *order, const struct walk_call *call)
{
	struct order_event *event = order_need_event(order, call->event);

	if (event)
		event->foreign = 1;
	return event ? 0 : -1;
}

static int step_stream_destroy(struct order *order, const struct walk_call *call)
{
	order_drop_stream(order, call->stream, id_map_get(&order->threads, call->thread));
	return 0;
}

static int step_event_destroy(struct order *order, const struct walk_call *call)
{
	order_drop_event(order, call->event);
	return 0;
}

static int step_context_destroy(struct order *order, const struct walk_call *call)
{
	if (!call->context) /* the context has other users */
		return 0;
	if (order_step_incident(order, call))
		return -1;
	order_drop_context(order, call->context, id_map_get(&order->threads, call->thread));
	return 0;
}

/* It orders nothing; process_call() has the thread receive reports before any step. */
static int step_host_access(struct order *order, const struct walk_call *call)
{
	return 0;
}

typedef int order_step_function(struct order *order, const struct walk_call *call);

/* Steps of calls by kind. */
static order_step_function *const steps[KIND_COUNT] = {
	[KIND_IPC_EXPORT] = step_export,
	[KIND_EXEC_SET] = order_step_graph,
	[KIND_EVENT_RECORD] = order_step_record,
	[KIND_EVENT_DESTROY] = step_event_destroy,
	[KIND_STREAM_WAIT] = order_step_wait,
	[KIND_STREAM_DESTROY] = step_stream_destroy,
	[KIND_CONTEXT_RECORD] = order_step_context_record,
	[KIND_CONTEXT_WAIT] = order_step_context_wait,
};

/* Steps of calls by family. */
static order_step_function *const family_steps[FAMILY_COUNT] = {
	[FAMILY_stream_allocation] = order_step_alloc,
	[FAMILY_stream_free] = order_step_free,
	[FAMILY_graph_launch] = order_step_graph,
	[FAMILY_exec] = order_step_graph,
	[FAMILY_event_create] = step_create,
	[FAMILY_context_end] = step_context_destroy,
	[FAMILY_wait] = order_step_join,
	[FAMILY_query] = order_step_join,
	[FAMILY_thread] = order_step_thread,
	[FAMILY_host_access] = step_host_access,
};

/* Returns NULL for calls that do not affect order. */
static order_step_function *step_of(enum call_kind kind)
{
	if (steps[kind])
		return steps[kind];
	if (family_steps[kind_family(kind)])
		return family_steps[kind_family(kind)];
	if (kind_has(kind, K_RESOURCE))
		return order_step_incident;
	return kind_has(kind, K_WORK | K_SILENT) ? order_step_submit : NULL;
}

/* Calls between recording windows were not recorded. */
static int check_window(struct order *order, const struct walk_call *call)
{
	struct order_process *process = order_need_process(order, call->process);

	if (!process)
		return -1;
	if (process->stretch == call->stretch)
		return 0;
	process->stretch = call->stretch;
	/* Accounts for unrecorded calls, which may have ordered anything. */
	for (size_t i = 0; i < order->streams.size; i++) {
		struct order_stream *stream = order->streams.slot[i].object;
		if (stream)
			order_doubt(order, &stream->last.clock);
	}
	for (size_t i = 0; i < order->threads.size; i++) {
		struct order_thread *thread = order->threads.slot[i].object;
		if (!thread)
			continue;
		thread->last.own.seq = order_next(order);
		if (!thread->last.own.seq)
			return -1;
		order_doubt(order, &thread->last.clock);
	}
	return 0;
}

static int process_call(struct order *order, const struct walk_call *call)
{
	order_step_function *step = step_of(call->kind);

	/*
	 * A captured call becomes part of a graph: "operations are not enqueued for execution"
	 * (programming guide, "Creating a Graph Using Stream Capture").
	 */
	if (check_window(order, call))
		return -1;
	if (call->result || call->captured || !step)
		return 0;
	if (order_receive_reports(order, call) || order_see_moved(order, call) || step(order, call))
		return -1;
	if (order->keys.count > order->forget_at || order->joiner.bytes > order->forget_bytes)
		order_forget(order);
	return 0;
}

/* Only the reasons in use are cleared: a call has few. */
void order_begin_step(struct order *order)
{
	for (unsigned needed = order->needed; needed; needed &= needed - 1)
		order->needs[__builtin_ctz(needed)] = ORDER_NOTHING;
	order->needed = 0;
	order->node = order->overlaps = 0;
	order->epoch = (struct order_epoch){ 0 };
	order->exec = 0;
}

int order_step(struct order *order, const struct walk_call *call)
{
	if (!order->joiner.limit && !order->given_up) {
		order->needed = (1u << ORDER_REASONS) - 1;
		order_begin_step(order);
		order->joiner.limit =
			order->db && order->db->order_limit ? order->db->order_limit : ORDER_LIMIT;
		order->joiner.work_limit = ORDER_WORK_LIMIT;
		order->forget_bytes = order->joiner.limit / 2;
	}
	order_begin_step(order);
	if (order->given_up)
		return 0;
	if (process_call(order, call))
		return -1;
	if (order->joiner.full) {
		/* A clock is incomplete: answers from it would be wrong from now on. */
		order_release(order);
		order_begin_step(order);
		order->given_up = call->id;
	}
	return 0;
}

static int is_forgotten(const struct order *order, uint32_t key)
{
	return key && !id_map_get(&order->keys, key);
}

enum order_strength order_before(const struct order *order, struct order_epoch earlier)
{
	enum order_strength strength = order_strength(order, order->now, &order->now_own, &earlier);

	if (order->given_up)
		return ORDER_UNKNOWN;
	if (!earlier.seq || !order->epoch.seq)
		return ORDER_UNORDERED;
	/*
	 * Two threads submitted at once: which one came first is unknown, but the two are ordered.
	 */
	if (strength < ORDER_GUARANTEED && earlier.key == order->epoch.key && !order->overlaps)
		return ORDER_GUARANTEED;
	if (strength < ORDER_GUARANTEED && is_forgotten(order, earlier.key))
		return ORDER_GUARANTEED;
	return strength;
}

uint32_t order_reach_clock(const struct order *order, uint32_t key)
{
	uint32_t covered = order_clock_reach(order->now, key, ORDER_GUARANTEED);

	/* Clocks contain no entries of forgotten agents. */
	return !covered && is_forgotten(order, key) ? UINT32_MAX : covered;
}

uint32_t order_reach_set(const struct order *order, uint32_t set)
{
	return order->given_up || !order->epoch.seq
		? 0
		: order_clock_covers_set(order->now, &order->now_own, set);
}

uint32_t order_known_reach(const struct order *order, int64_t thread,
	const struct order_epoch *agent)
{
	const struct order_thread *known = id_map_get(&order->threads, thread);

	if (order->given_up || !known)
		return 0;
	return is_forgotten(order, agent->key) ? UINT32_MAX
					       : order_clock_covers(known->last.clock, NULL, agent);
}

int order_knows(const struct order *order, int64_t thread, const struct order_epoch *earlier)
{
	return earlier->seq && earlier->seq <= order_known_reach(order, thread, earlier);
}

enum order_strength order_known(const struct order *order, int64_t thread,
	struct order_epoch earlier)
{
	const struct order_thread *known = id_map_get(&order->threads, thread);
	enum order_strength strength, by_report;

	if (order->given_up)
		return ORDER_UNKNOWN;
	if (!earlier.seq || !known)
		return ORDER_UNORDERED;
	if (is_forgotten(order, earlier.key))
		return ORDER_GUARANTEED;
	strength = order_strength(order, known->last.clock, NULL, &earlier);
	by_report = order_reports_strength(id_map_get(&order->processes, known->process),
		known->received, &earlier);
	return by_report > strength ? by_report : strength;
}

/* Callers outside keep the state without its clock. */
static struct order_state without_clock(struct order_state state)
{
	state.clock = NULL;
	return state;
}

struct order_state order_of_stream(const struct order *order, const struct walk_call *call,
	int legacy)
{
	const struct order_stream *stream = id_map_get(&order->streams, call->stream), *other;
	const struct order_context *context = id_map_get(&order->contexts, call->stream_context);
	struct order_state state = stream ? stream->last : ORDER_NOTHING;
	uint32_t seen = 0;

	for (size_t i = 0; stream && i < stream->pending_count; i++)
		state = order_later(state, stream->pending[i].state);
	if (!context || !legacy)
		return without_clock(state);
	if (context->legacy)
		seen = context->legacy->last.own.seq;
	if (stream_is_blocking(call->stream_kind) && context->legacy)
		state = order_later(state, context->legacy->last);
	other = call->stream_kind == STREAM_KIND_LEGACY ? context->newest_blocking : NULL;
	for (; other && other->changed > seen; other = other->older_blocking)
		state = order_later(state, other->last);
	return without_clock(state);
}

int order_event_is_recorded(const struct order *order, int64_t id)
{
	const struct order_event *event = id_map_get(&order->events, id);

	return event && (event->recorded || event->foreign);
}

int64_t order_record_of(const struct order *order, int64_t id, int *sure)
{
	const struct order_event *event = id_map_get(&order->events, id);

	*sure = event && !event->foreign;
	return event ? event->record : 0;
}

struct order_state order_of_event(const struct order *order, const struct walk_call *call)
{
	const struct order_event *event = id_map_get(&order->events, call->event);

	return event ? without_clock(event->state) : ORDER_NOTHING;
}

void order_release(struct order *order)
{
	id_map_release(&order->streams, order_free_stream);
	id_map_release(&order->events, order_free_event);
	id_map_release(&order->contexts, order_free_context);
	id_map_release(&order->threads, order_free_thread);
	id_map_release(&order->processes, order_free_process);
	id_map_release(&order->execs, order_free_exec);
	id_map_release(&order->freed, order_free_event);
	id_map_release(&order->keys, free);
	order_clock_unref(order->now);
	order->now = NULL;
	free(order->joiner.scratch);
	order->joiner = (struct order_joiner){ 0 };
}
