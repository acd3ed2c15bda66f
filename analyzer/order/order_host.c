/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of host threads: what they wait for, and what they observe through each other.
 */
#include <stdlib.h>

#include "constants.h"
#include "memory.h"
#include "order_steps.h"
#include "scope.h"

/* --- reports between threads --- */

static void sift_down(struct order_process *process, size_t at)
{
	struct order_news *news = process->news, moved = news[at];

	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= process->news_count)
			break;
		if (child + 1 < process->news_count && news[child + 1].at < news[child].at)
			child++;
		if (news[child].at >= moved.at)
			break;
		news[at] = news[child];
		at = child;
	}
	news[at] = moved;
}

static void add_report(struct order_process *process, int64_t at, int64_t thread,
	const struct order_state *state)
{
	struct order_news news = { .at = at, .thread = thread, .state = ORDER_NOTHING };
	size_t i;

	order_keep(&news.state, *state);
	process->news = array_grown(process->news, process->news_count, sizeof(*process->news));
	for (i = process->news_count++; i && process->news[(i - 1) / 2].at > at; i = (i - 1) / 2)
		process->news[i] = process->news[(i - 1) / 2];
	process->news[i] = news;
}

int order_report_wait(struct order *order, const struct walk_call *call, int64_t at,
	const struct order_state *state)
{
	struct order_process *process = order_need_process(order, call->process);

	if (!process)
		return -1;
	add_report(process, at, 0, state);
	return 0;
}

/*
 * "The stream's work before the function is complete" (cuLaunchHostFunc) for the thread that runs
 * it.  Others may act on what it tells them from its entry on: it may go on after that.
 */
int order_report_run(struct order *order, const struct walk_call *call, int64_t at,
	const struct order_state *state)
{
	struct order_process *process = order_need_process(order, call->process);

	if (!process)
		return -1;
	add_report(process, at, call->ran_by, state);
	return 0;
}

/* When a process has a second thread, it begins to report what its threads have observed. */
static void start_reports(struct order_process *process)
{
	process->met = 1;
	for (size_t i = 0; i + 1 < process->thread_count; i++) {
		const struct order_thread *thread = process->thread[i];
		if (thread->last.own.seq)
			add_report(process, thread->last_exit, 0, &thread->last);
	}
}

static struct order_thread *thread_of(struct order *order, int64_t id, int64_t process_id)
{
	struct order_thread *thread = id_map_get(&order->threads, id);
	struct order_process *process;

	if (thread)
		return thread;
	thread = order_need_thread(order, id, process_id);
	process = thread ? order_need_process(order, process_id) : NULL;
	if (!process)
		return NULL;
	if (process->thread_count == 2 && !process->met)
		start_reports(process);
	return thread;
}

/* Adds to a thread's clock without a call that waited. */
static int add_observed(struct order *order, struct order_thread *thread,
	const struct order_state *state, enum order_strength cap)
{
	order_learn(order, &thread->last.clock, NULL, state, cap);
	thread->last.own.seq = order_next(order);
	return thread->last.own.seq ? 0 : -1;
}

/* Adds the reports to the process that were made before a call was entered. */
static int add_reports_until(struct order *order, struct order_process *process,
	const struct walk_call *call)
{
	int rc = 0;

	while (process->news_count && process->news[0].at <= call->enter && !rc) {
		struct order_news news = process->news[0];
		struct order_thread *by = NULL;

		process->news[0] = process->news[--process->news_count];
		if (process->news_count)
			sift_down(process, 0);
		if (news.thread)
			by = thread_of(order, news.thread, call->process);
		rc = (news.thread && !by) ||
			(by && add_observed(order, by, &news.state, ORDER_GUARANTEED)) ||
			order_add_report(order, process, &news.state);
		order_drop(&news.state);
	}
	return rc ? -1 : 0;
}

/*
 * pthread_join: "waits for the thread specified by thread to terminate"; it has returned by the
 * joining thread's next call.
 */
static int finish_join(struct order *order, struct order_thread *thread)
{
	struct order_thread *other = id_map_get(&order->threads, thread->joining);
	struct walk_call call = { .id = thread->join_call, .op_end = WALK_NEVER };
	struct order_state state;
	int rc = 0;

	thread->joining = 0;
	if (!other)
		return 0;
	/* The joined thread's last call may have been a join too. */
	if (other->joining && finish_join(order, other))
		return -1;
	if (other->last.own.seq) {
		order_begin(order, &thread->last);
		rc = order_need(order, &call, &thread->last, ORDER_HOST) ||
			order_need(order, &call, &other->last, ORDER_THREAD);
		state = order_node(order, &call);
		state.own = thread->last.own;
		state.own.seq = order_next(order);
		order_keep(&thread->last, state);
		order_begin_step(order);
	}
	order_end_thread(order, other);
	return rc;
}

int order_receive_reports(struct order *order, const struct walk_call *call)
{
	struct order_thread *thread = thread_of(order, call->thread, call->process);
	struct order_process *process = thread ? order_need_process(order, call->process) : NULL;

	if (!process || (thread->joining && finish_join(order, thread)))
		return -1;
	if (process->news_count && add_reports_until(order, process, call))
		return -1;
	thread->received = process->last_report;
	return 0;
}

/* Other threads may act on what a thread has observed once its call has returned. */
static int report_observed(struct order *order, const struct walk_call *call,
	struct order_thread *thread)
{
	const struct order_process *process = id_map_get(&order->processes, call->process);

	thread->last_exit = call->exit;
	if (!process || !process->met || call->exit == WALK_NEVER)
		return 0;
	return order_report_wait(order, call, call->exit, &thread->last);
}

int order_let_know(struct order *order, const struct walk_call *call,
	const struct order_state *state, enum order_strength cap)
{
	struct order_thread *thread = thread_of(order, call->thread, call->process);
	struct order_state known = *state;

	if (!thread)
		return -1;
	if (cap < ORDER_GUARANTEED) {
		if (add_observed(order, thread, state, cap))
			return -1;
		return report_observed(order, call, thread);
	}
	order_clock_ref(known.clock);
	known.own = thread->last.own;
	known.own.seq = order_next(order);
	if (!known.own.seq) {
		order_clock_unref(known.clock);
		return -1;
	}
	order_clock_add(&order->joiner, &known.clock, NULL, &state->own, cap);
	order_keep(&thread->last, known);
	order_clock_unref(known.clock);
	return report_observed(order, call, thread);
}

int order_note_known(struct order *order, const struct walk_call *call,
	const struct order_state *state)
{
	struct order_thread *thread = thread_of(order, call->thread, call->process);

	if (!thread || add_observed(order, thread, state, ORDER_GUARANTEED))
		return -1;
	return report_observed(order, call, thread);
}

/* --- waiting --- */

/* A host wait becomes a node if it waits for work that the thread has not observed complete. */
static int join(struct order *order, const struct walk_call *call, const struct order_state *state,
	enum order_reason reason)
{
	const struct order_thread *thread = id_map_get(&order->threads, call->thread);

	if (!state->call && !state->clock)
		return 0;
	if (!order->node) {
		order->node = 1;
		if (order_edge(order, call, &thread->last, ORDER_HOST))
			return -1;
	}
	return order_need(order, call, state, reason);
}

static int join_pending(struct order *order, const struct walk_call *call,
	const struct order_stream *stream, enum order_reason reason)
{
	int rc = 0;

	for (size_t i = 0; i < stream->pending_count && !rc; i++)
		rc = join(order, call, &stream->pending[i].state, reason);
	return rc;
}

/* Another thread submitted to the stream at the same time: the wait may cover that work or not. */
static int join_in_part(struct order *order, const struct walk_call *call,
	struct order_stream *stream, enum order_reason reason)
{
	if (join(order, call, &stream->before, reason))
		return -1;
	order_learn(order, &order->now, &order->now_own, &stream->last, ORDER_UNKNOWN);
	return 0;
}

static int join_stream(struct order *order, const struct walk_call *call,
	struct order_stream *stream, enum order_reason reason)
{
	int surely = order_reason_strength[reason] == ORDER_GUARANTEED;

	if (surely && !stream->pending_count && stream->joined == stream->last.call &&
		stream->joined_by == call->thread)
		return 0;
	if (order_is_contested(stream, call))
		return join_in_part(order, call, stream, reason);
	if (join(order, call, &stream->last, reason) || join_pending(order, call, stream, reason))
		return -1;
	if (surely) {
		stream->joined = stream->last.call;
		stream->joined_by = call->thread;
	}
	return 0;
}

static int join_orphans(struct order *order, const struct walk_call *call,
	struct order_context *context, int blocking_only, enum order_reason reason, uint32_t seen)
{
	int surely = order_reason_strength[reason] == ORDER_GUARANTEED;

	for (size_t i = 0; i < context->orphan_count; i++) {
		const struct order_orphan *orphan = &context->orphan[i];

		if (orphan->changed > seen && (!blocking_only || orphan->blocking) &&
			join(order, call, &orphan->state, reason))
			return -1;
	}
	if (blocking_only || !surely)
		return 0;
	for (size_t i = 0; i < context->orphan_count; i++)
		order_drop(&context->orphan[i].state);
	context->orphan_count = 0;
	return 0;
}

static int join_all(struct order *order, const struct walk_call *call,
	struct order_context *context, int blocking_only, enum order_reason reason, uint32_t seen)
{
	struct order_stream *stream = blocking_only ? context->newest_blocking : context->newest;
	struct order_stream *legacy = blocking_only ? context->legacy : NULL;

	if (legacy && legacy->changed > seen && join_stream(order, call, legacy, reason))
		return -1;
	for (; stream && stream->changed > seen;
		stream = blocking_only ? stream->older_blocking : stream->older)
		if (join_stream(order, call, stream, reason))
			return -1;
	if (join_orphans(order, call, context, blocking_only, reason, seen))
		return -1;
	order_clock_join(&order->joiner, &order->now, &order->now_own,
		blocking_only ? context->gone_blocking : context->gone,
		order_reason_strength[reason]);
	return (context->barrier.call && join(order, call, &context->barrier, reason)) ||
			(context->peer.call && join(order, call, &context->peer, reason))
		? -1
		: 0;
}

/*
 * Joins all work of a context, or that of its legacy and blocking streams.  cuCtxSynchronize
 * "blocks until the current context has completed all preceding requested tasks"; waiting for the
 * legacy stream includes the blocking streams (H200).
 */
static int join_context(struct order *order, const struct walk_call *call,
	struct order_context *context, int blocking_only, enum order_reason reason)
{
	enum order_strength cap = order_reason_strength[reason];
	uint32_t seen = order_clock_reach(order->now, context->key, cap);
	uint32_t legacy = order_clock_reach(order->now, context->key + 1, cap);
	struct order_epoch all = { context->key + (blocking_only ? 1 : 0), context->key,
		order->last_seq };
	int rc;

	if (blocking_only && legacy > seen)
		seen = legacy;
	order->joiner.implied = context->key | (blocking_only ? ORDER_BLOCKING : 0);
	rc = join_all(order, call, context, blocking_only, reason, seen);
	order->joiner.implied = 0;
	/* Only the context's key covers the work of destroyed streams. */
	if (!rc && context->changed > seen)
		order->node |= 2;
	if (rc || !order->node)
		return rc;
	order_clock_add(&order->joiner, &order->now, &order->now_own, &all, cap);
	return 0;
}

static int join_event(struct order *order, const struct walk_call *call, int64_t id)
{
	struct order_event *event = id_map_get(&order->events, id);

	if (!id)
		return 0;
	if (!event || event->foreign) {
		order->node |= 2;
		order_doubt(order, &order->now);
	}
	if (!event || (event->joined == event->state.call && event->joined_by == call->thread))
		return 0;
	if (event->foreign || call->contested & CONTESTED_EVENT) {
		order->node |= 2;
		order_learn(order, &order->now, &order->now_own, &event->state, ORDER_UNKNOWN);
		return 0;
	}
	event->joined = event->state.call;
	event->joined_by = call->thread;
	return join(order, call, &event->state, ORDER_WAIT);
}

/* The streams of a green context are unknown, as are those of an unnamed context. */
static int join_named_context(struct order *order, const struct walk_call *call)
{
	struct order_context *context = id_map_get(&order->contexts, call->context);

	if (!call->context || call->green) {
		order->node |= 2;
		order_doubt(order, &order->now);
	}
	return context ? join_context(order, call, context, 0, ORDER_WAIT) : 0;
}

static int join_target(struct order *order, const struct walk_call *call)
{
	enum scope scope = scope_requested(call);
	struct order_stream *stream;

	if (scope == SCOPE_CONTEXT)
		return join_named_context(order, call);
	if (scope == SCOPE_EVENT || scope == SCOPE_NONE)
		return join_event(order, call, call->event2) || join_event(order, call, call->event)
			? -1
			: 0;
	stream = order_need_stream(order, call);
	if (!stream)
		return call->stream ? -1 : 0;
	/* It is for both, without what the legacy stream has not seen yet of other streams. */
	if (stream->kind == STREAM_KIND_MOVED && stream->context->legacy &&
		join_stream(order, call, stream->context->legacy, ORDER_WAIT))
		return -1;
	return scope == SCOPE_LEGACY ? join_context(order, call, stream->context, 1, ORDER_WAIT)
				     : join_stream(order, call, stream, ORDER_WAIT);
}

/* Orders the thread after what the call waited for. */
static int order_thread_after(struct order *order, const struct walk_call *call,
	struct order_thread *thread)
{
	struct order_state state;

	if (!order->node)
		return 0;
	state = thread->last;
	/* Waits with no sure edge are no nodes. */
	if (order->node & 1)
		state = order_node(order, call);
	else
		order->node = 0;
	state.clock = order->now;
	state.own = thread->last.own;
	state.own.seq = order_next(order);
	if (!state.own.seq)
		return -1;
	order_keep(&thread->last, state);
	return report_observed(order, call, thread);
}

int order_step_join(struct order *order, const struct walk_call *call)
{
	struct order_thread *thread = thread_of(order, call->thread, call->process);

	if (!thread)
		return -1;
	/*
	 * A thread observes nothing by a call that has not returned.  An allocator goes on whatever
	 * the answer: who calls it has not observed it.
	 */
	if (call->exit == WALK_NEVER || call->allocator)
		return 0;
	order_begin(order, &thread->last);
	if (join_target(order, call))
		return -1;
	return order_thread_after(order, call, thread);
}

/*
 * cudaFree and similar calls wait for the device, by measurement and not by documentation ("may
 * perform implicit synchronization"): cudaFree for the device that owns the memory, cudaFreeHost
 * and cudaHostUnregister for all devices, loading code and new limits for the current one (H200).
 * Only calls that did wait, by their times, count; and no load for a first launch: the next launch
 * has none.
 */
static int device_of_incident(const struct walk_call *call)
{
	return scope_of(call) == SCOPE_PROCESS ? -1 : scope_device(call);
}

static int frees_nothing(const struct walk_call *call)
{
	return kind_has(call->kind, K_RELEASES) && (!call->ptr || call->freed_async);
}

/* Work that is unknown does not refute it. */
static int ended_later(const struct order_state *state, int64_t exit)
{
	return state->op && state->op != ORDER_OP_UNKNOWN && state->end > exit + CLOCK_APART_NS;
}

static int has_waited(const struct order_context *context, const struct walk_call *call,
	uint32_t seen)
{
	for (const struct order_stream *s = context->newest; s && s->changed > seen; s = s->older)
		if (ended_later(&s->last, call->exit))
			return 0;
	return !ended_later(&context->peer, call->exit);
}

int order_step_incident(struct order *order, const struct walk_call *call)
{
	struct order_thread *thread = thread_of(order, call->thread, call->process);
	int device = device_of_incident(call), rc = 0;

	if (!thread)
		return -1;
	if (frees_nothing(call) || call->exit == WALK_NEVER || call->is_lazy_load)
		return 0;
	/* Records the context's device. */
	if (call->context && !order_need_context(order, call->context, call))
		return -1;
	order_begin(order, &thread->last);
	for (size_t i = 0; i < order->contexts.size && !rc; i++) {
		struct order_context *context = order->contexts.slot[i].object;

		if (context && context->process == call->process &&
			(device < 0 || context->device == device) &&
			has_waited(context, call,
				order_clock_reach(order->now, context->key, ORDER_INCIDENTAL)))
			rc = join_context(order, call, context, 0, ORDER_INCIDENT);
	}
	return rc ? -1 : order_thread_after(order, call, thread);
}

/* pthread_create: the new thread has observed everything that its creator has. */
int order_step_thread(struct order *order, const struct walk_call *call)
{
	struct order_thread *thread = thread_of(order, call->thread, call->process), *other;
	struct order_state known;

	if (!thread)
		return -1;
	if (!call->other_thread)
		return 0;
	if (call->kind == KIND_THREAD_JOIN) {
		thread->joining = call->other_thread;
		thread->join_call = call->id;
		return 0;
	}
	other = thread_of(order, call->other_thread, call->process);
	if (!other || !thread->last.own.seq)
		return other ? 0 : -1;
	known = thread->last;
	known.own = other->last.own;
	known.own.seq = order_next(order);
	if (!known.own.seq)
		return -1;
	order_keep(&other->last, known);
	other->last_exit = call->enter;
	order_clock_add(&order->joiner, &other->last.clock, NULL, &thread->last.own,
		ORDER_GUARANTEED);
	return 0;
}
