/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order that a program of order_programs.h makes, found without the engine.
 *
 * The reference knows no clocks, lists of changed streams or direct edges: it looks at all pairs
 * of calls, draws an edge wherever a rule of CUDA says so, and takes the transitive closure, once
 * per strength.  A call has three nodes: S, what it is after; E, what it did is complete; H, what
 * its thread has observed complete when it has returned.
 */
#ifndef CUFENCE_TESTS_ORDER_REFERENCE_H
#define CUFENCE_TESTS_ORDER_REFERENCE_H

#include "order_clock.h"
#include "order_programs.h"

struct reference {
	const struct program *p;
	uint8_t edge[NODES][NODES]; /* [from][to]: strength */
	uint64_t reach[ORDER_LEVELS][NODES][WORDS];
};

#define S(i) (3 * (i))
#define E(i) (3 * (i) + 1)
#define H(i) (3 * (i) + 2)

static void draw(struct reference *r, int from, int to, enum order_strength strength)
{
	if (r->edge[from][to] < strength)
		r->edge[from][to] = (uint8_t)strength;
}

static int works(const struct walk_call *c)
{
	switch (c->kind) {
	case KIND_LAUNCH:
	case KIND_COPY:
	case KIND_COPY_ASYNC:
	case KIND_SET:
	case KIND_SET_ASYNC:
	case KIND_HOST_FUNC:
	case KIND_PREFETCH:
	case KIND_ALLOC_ASYNC:
	case KIND_FREE_ASYNC:
	case KIND_GRAPH_LAUNCH:
	case KIND_GRAPH_UPLOAD:
	case KIND_STREAM_VALUE_WAIT:
	case KIND_COPY_BATCH:
	case KIND_COPY_PEER_ASYNC:
	case KIND_COPY_PEER:
		return !c->result;
	default:
		return 0;
	}
}

/* The record that an event stands for when call i names it: its index; -1: none, -2: unknown. */
static int record_of(const struct program *p, int i, int64_t event)
{
	int known = 0;

	for (int j = i - 1; j >= 0; j--) {
		const struct walk_call *c = &p->call[j];

		if (c->result || c->event != event)
			continue;
		if (c->kind == KIND_EVENT_RECORD || c->kind == KIND_CONTEXT_RECORD)
			return j;
		if (c->kind == KIND_EVENT_DESTROY)
			return known ? -1 : -2;
		known |= c->kind == KIND_EVENT_CREATE;
	}
	return known ? -1 : -2;
}

static int is_wait(const struct walk_call *c)
{
	return c->kind == KIND_STREAM_WAIT && !c->result;
}

/* It takes a place in its stream, with all that this means. */
static int acts(const struct program *p, int j)
{
	const struct walk_call *c = &p->call[j];

	if (works(c) || (c->kind == KIND_EVENT_RECORD && !c->result))
		return 1;
	return is_wait(c) && c->stream_kind == STREAM_KIND_LEGACY && record_of(p, j, c->event) >= 0;
}

static int in_stream(const struct program *p, int j)
{
	return acts(p, j) || is_wait(&p->call[j]);
}

static int is_blocking(const struct walk_call *c)
{
	return c->stream_kind == STREAM_KIND_BLOCKING;
}

/* All work of the context has to come after the call. */
static int is_barrier_of(const struct walk_call *c, int64_t context)
{
	if (c->result)
		return 0;
	return c->kind == KIND_CONTEXT_WAIT && c->context == context;
}

/* Legacy work of a context that is not its stream's: a copy from or to it. */
static int crosses_to(const struct walk_call *c, int64_t context)
{
	return !c->result && c->stream_kind == STREAM_KIND_LEGACY && context &&
		c->stream_context != context &&
		(c->dst_context == context || c->src_context == context);
}

static int is_of_legacy_rule(const struct walk_call *c)
{
	return is_blocking(c) || c->stream_kind == STREAM_KIND_LEGACY;
}

/* Both are legacy work of some context, or one is and the other a blocking stream's. */
static int is_crossed(const struct walk_call *a, const struct walk_call *b)
{
	return (crosses_to(a, b->stream_context) && is_of_legacy_rule(b)) ||
		(crosses_to(b, a->stream_context) && is_of_legacy_rule(a)) ||
		(crosses_to(a, a->dst_context) && crosses_to(b, a->dst_context)) ||
		(crosses_to(a, a->src_context) && crosses_to(b, a->src_context));
}

static void draw_contexts(struct reference *r, int i, int to, int64_t context,
	enum order_strength strength)
{
	for (int j = 0; j < i; j++) {
		const struct walk_call *c = &r->p->call[j];

		if (in_stream(r->p, j) && c->stream_context == context)
			draw(r, E(j), to, strength);
		if (is_barrier_of(c, context) || crosses_to(c, context))
			draw(r, E(j), to, strength);
	}
}

/* "Overlaps with the previous kernel in the stream": that one, or -1. */
static int overlapped(const struct program *p, int i)
{
	const struct walk_call *c = &p->call[i];

	if (c->kind != KIND_LAUNCH || !(c->attributes & LAUNCH_PROGRAMMATIC))
		return -1;
	for (int j = i - 1; j >= 0; j--)
		if (in_stream(p, j) && p->call[j].stream == c->stream)
			return p->call[j].kind == KIND_LAUNCH ? j : -1;
	return -1;
}

static void draw_stream(struct reference *r, int i)
{
	const struct walk_call *c = &r->p->call[i];
	int before = overlapped(r->p, i);

	if (before >= 0) {
		draw(r, S(before), S(i), ORDER_GUARANTEED);
		draw(r, E(before), S(i), ORDER_UNKNOWN);
		draw(r, E(before), E(i), ORDER_GUARANTEED);
	}
	for (int j = 0; j < i; j++) {
		const struct walk_call *e = &r->p->call[j];

		if (e->stream == c->stream && in_stream(r->p, j) && before < 0)
			draw(r, E(j), S(i), ORDER_GUARANTEED);
		if (e->stream_context == c->stream_context && is_blocking(e) &&
			c->stream_kind == STREAM_KIND_LEGACY && in_stream(r->p, j))
			draw(r, E(j), S(i), ORDER_GUARANTEED);
		if (e->stream_context == c->stream_context && is_blocking(c) &&
			e->stream_kind == STREAM_KIND_LEGACY && acts(r->p, j))
			draw(r, E(j), S(i), ORDER_GUARANTEED);
		if (is_barrier_of(e, c->stream_context) || (in_stream(r->p, j) && is_crossed(e, c)))
			draw(r, E(j), S(i), ORDER_GUARANTEED);
	}
}

static int last_of(const struct program *p, int i, enum call_kind a, enum call_kind b, int64_t ptr,
	int64_t exec)
{
	for (int j = i - 1; j >= 0; j--) {
		const struct walk_call *c = &p->call[j];

		if (!c->result && (c->kind == a || c->kind == b) && c->ptr == ptr &&
			c->exec == exec)
			return j;
	}
	return -1;
}

static void draw_all(struct reference *r, int i)
{
	for (int j = 0; j < i; j++)
		draw(r, E(j), S(i), ORDER_UNKNOWN);
}

static void draw_event(struct reference *r, int i, int64_t event, int to)
{
	int j = record_of(r->p, i, event);

	if (j >= 0)
		draw(r, E(j), to, ORDER_GUARANTEED);
	for (int k = 0; j == -2 && k < i; k++)
		draw(r, E(k), to, ORDER_UNKNOWN);
}

static void draw_special(struct reference *r, int i)
{
	const struct walk_call *c = &r->p->call[i];
	int j = -1;

	if (c->kind == KIND_GRAPH_LAUNCH || c->kind == KIND_GRAPH_UPLOAD) {
		j = last_of(r->p, i, KIND_GRAPH_LAUNCH, KIND_GRAPH_UPLOAD, 0, c->exec);
		if (j >= 0)
			draw(r, E(j), S(i), ORDER_GUARANTEED);
	}
	if (c->kind == KIND_ALLOC_ASYNC) {
		j = last_of(r->p, i, KIND_ALLOC_ASYNC, KIND_FREE_ASYNC, c->ptr, 0);
		if (j >= 0 && r->p->call[j].kind == KIND_FREE_ASYNC)
			draw(r, E(j), S(i), ORDER_INCIDENTAL);
	}
	if (c->kind == KIND_STREAM_VALUE_WAIT)
		draw_all(r, i);
}

/* Draws what the thread of a submitting call has observed complete afterwards. */
static void draw_copy(struct reference *r, int i)
{
	const struct walk_call *c = &r->p->call[i];

	if (c->kind == KIND_SET && c->dst == MEMORY_PINNED)
		draw(r, E(i), H(i), ORDER_GUARANTEED);
	if (c->kind == KIND_COPY_ASYNC && c->op &&
		(c->src == MEMORY_PAGEABLE || c->dst == MEMORY_PAGEABLE))
		draw(r, E(i), H(i), ORDER_INCIDENTAL);
	if (c->kind != KIND_COPY)
		return;
	if (c->direction == COPY_D2H || c->direction == COPY_H2H ||
		(c->direction == COPY_H2D && c->src == MEMORY_PINNED))
		draw(r, E(i), H(i), ORDER_GUARANTEED);
	else if (c->direction == COPY_H2D)
		draw(r, S(i), H(i), ORDER_GUARANTEED);
	else if (c->direction == COPY_DEFAULT)
		draw(r, E(i), H(i), ORDER_UNKNOWN);
}

static void draw_wait(struct reference *r, int i)
{
	const struct walk_call *c = &r->p->call[i];
	int legacy = c->stream_kind == STREAM_KIND_LEGACY;

	switch (c->kind) {
	case KIND_STREAM_SYNC:
	case KIND_STREAM_QUERY:
		for (int j = 0; j < i; j++) {
			const struct walk_call *e = &r->p->call[j];

			if ((in_stream(r->p, j) && e->stream == c->stream) ||
				(legacy && e->stream_context == c->stream_context &&
					is_blocking(e) && in_stream(r->p, j)))
				draw(r, E(j), H(i), ORDER_GUARANTEED);
			if (legacy &&
				(is_barrier_of(e, c->stream_context) ||
					crosses_to(e, c->stream_context)))
				draw(r, E(j), H(i), ORDER_GUARANTEED);
		}
		break;
	case KIND_CONTEXT_SYNC:
		draw_contexts(r, i, H(i), c->context, ORDER_GUARANTEED);
		break;
	case KIND_FREE_DEVICE:
		draw_contexts(r, i, H(i), c->context, ORDER_INCIDENTAL);
		break;
	case KIND_FREE_HOST:
		draw_contexts(r, i, H(i), 1, ORDER_INCIDENTAL);
		draw_contexts(r, i, H(i), 2, ORDER_INCIDENTAL);
		break;
	case KIND_EVENT_SYNC:
	case KIND_EVENT_QUERY:
	case KIND_EVENT_ELAPSED:
		draw_event(r, i, c->event, H(i));
		if (c->event2)
			draw_event(r, i, c->event2, H(i));
		break;
	default:
		break;
	}
}

static void draw_events(struct reference *r, int i)
{
	const struct walk_call *c = &r->p->call[i];

	if (is_wait(c))
		draw_event(r, i, c->event, S(i));
	if (c->kind == KIND_CONTEXT_RECORD)
		draw_contexts(r, i, S(i), c->context, ORDER_GUARANTEED);
	if (c->kind == KIND_CONTEXT_WAIT) {
		int j = record_of(r->p, i, c->event);

		if (j >= 0)
			draw(r, E(j), S(i), ORDER_GUARANTEED);
		for (j = 0; j < i; j++)
			if (is_barrier_of(&r->p->call[j], c->context))
				draw(r, E(j), S(i), ORDER_GUARANTEED);
	}
}

/* Whether a thread's knowledge enters call i: into S if it acts, into H in any case. */
static void draw_knowledge(struct reference *r, int from, int i, enum order_strength strength)
{
	if (acts(r->p, i))
		draw(r, from, S(i), strength);
	draw(r, from, H(i), strength);
}

/* When a host function ran, or can have begun: once all that it surely comes after has ended. */
static int64_t function_begins(const struct reference *r, int i)
{
	const struct walk_call *call = r->p->call;
	int64_t at = call[i].enter;
	uint8_t after[NODES] = { 0 };

	if (call[i].ran != WALK_NEVER || call[i].op)
		return call[i].op ? call[i].op_end : call[i].ran;
	after[S(i)] = 1;
	for (int to = S(i); to >= 0; to--)
		for (int from = 0; after[to] && from < to; from++)
			after[from] |= r->edge[from][to] >= ORDER_INCIDENTAL;
	for (int k = 0; k < i; k++)
		if (after[E(k)] && call[k].op && call[k].op_end > at)
			at = call[k].op_end;
	return at;
}

static void draw_threads(struct reference *r, int i)
{
	const struct walk_call *c = &r->p->call[i];

	for (int j = 0; j < i; j++) {
		const struct walk_call *e = &r->p->call[j];

		if (e->thread == c->thread && !e->result)
			draw_knowledge(r, H(j), i, ORDER_GUARANTEED);
		else if (e->exit <= c->enter && !e->result)
			draw_knowledge(r, H(j), i, ORDER_ASSUMED);
		if (e->kind == KIND_THREAD_CREATE && e->other_thread == c->thread)
			draw_knowledge(r, H(j), i, ORDER_GUARANTEED);
		if (c->kind == KIND_THREAD_JOIN && !e->result &&
			(e->thread == c->other_thread ||
				(e->kind == KIND_THREAD_CREATE &&
					e->other_thread == c->other_thread)))
			draw(r, H(j), H(i), ORDER_GUARANTEED);
		if (e->kind == KIND_HOST_FUNC && !e->result && function_begins(r, j) <= c->enter)
			draw_knowledge(r, E(j), i,
				e->ran_by == c->thread ? ORDER_GUARANTEED : ORDER_ASSUMED);
	}
}

static void close_over(struct reference *r)
{
	int nodes = 3 * r->p->count;

	memset(r->reach, 0, sizeof(r->reach));
	for (int level = 0; level < ORDER_LEVELS; level++) {
		for (int to = 0; to < nodes; to++) {
			for (int from = 0; from < to; from++) {
				if (r->edge[from][to] <= level)
					continue;
				for (int w = 0; w < WORDS; w++)
					r->reach[level][to][w] |= r->reach[level][from][w];
				r->reach[level][to][from / 64] |= UINT64_C(1) << (from % 64);
			}
		}
	}
}

static void refer(struct reference *r, const struct program *p)
{
	memset(r, 0, sizeof(*r));
	r->p = p;
	for (int i = 0; i < p->count; i++) {
		draw(r, S(i), E(i), ORDER_GUARANTEED);
		if (p->call[i].result)
			continue;
		if (acts(p, i))
			draw_stream(r, i);
		draw_special(r, i);
		draw_copy(r, i);
		draw_wait(r, i);
		draw_events(r, i);
		draw_threads(r, i);
	}
	close_over(r);
}

static enum order_strength by_reference(const struct reference *r, int a, int b)
{
	for (int level = ORDER_LEVELS; level-- > 0;)
		if (r->reach[level][S(b)][E(a) / 64] >> (E(a) % 64) & 1)
			return (enum order_strength)(level + 1);
	return ORDER_UNORDERED;
}

#endif
