/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order engine against a reference, on random small programs.
 *
 * The reference knows no clocks, lists of changed streams or direct edges: it looks at all pairs
 * of calls, draws an edge wherever a rule of CUDA says so, and takes the transitive closure, once
 * per strength.  A call has three nodes: S, what it is after; E, what it did is complete; H, what
 * its thread knows when it has returned.
 *
 *	order_random [--count N] [--seed N]      10 000 programs of seed 1 by default
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "order.h"

enum {
	CALLS = 64, STREAMS = 40, EVENTS = 6, EXECS = 2, THREADS = 4, POINTERS = 2,
	NODES = 3 * CALLS, WORDS = NODES / 64,
};

/* Ids of streams: the legacy streams of both contexts come first. */
struct program {
	struct walk_call call[CALLS];
	int count;
	enum stream_kind kind[STREAMS];
	int context[STREAMS], dead[STREAMS];
	int streams;
	int created[EVENTS];      /* by a recorded call */
	int thread_made[THREADS], thread_ended[THREADS];
};

static uint64_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

/* --- programs --- */

static int add_stream(struct program *p, enum stream_kind kind, int context)
{
	p->kind[p->streams] = kind;
	p->context[p->streams] = context;
	return p->streams++;
}

static int pick_stream(const struct program *p)
{
	int s;

	do
		s = (int)pick((unsigned)p->streams);
	while (p->dead[s]);
	return s;
}

static int pick_thread(const struct program *p)
{
	int t;

	do
		t = (int)pick(THREADS);
	while (!p->thread_made[t] || p->thread_ended[t]);
	return t;
}

static void name_stream(const struct program *p, struct walk_call *call, int s)
{
	call->stream = s + 1;
	call->stream_kind = p->kind[s];
	call->stream_context = p->context[s] + 1;
	call->context = p->context[s] + 1;
	call->device = p->context[s];
}

static void make_copy(struct walk_call *call)
{
	static const enum memory_kind host[] = { MEMORY_PAGEABLE, MEMORY_PINNED };

	call->direction = (enum copy_direction)pick(5);
	call->src = call->direction == COPY_H2D || call->direction == COPY_H2H ? host[pick(2)]
		  : call->direction == COPY_DEFAULT ? MEMORY_UNKNOWN : MEMORY_DEVICE;
	call->dst = call->direction == COPY_D2H || call->direction == COPY_H2H ? host[pick(2)]
		  : call->direction == COPY_DEFAULT ? MEMORY_UNKNOWN : MEMORY_DEVICE;
	if (call->kind == KIND_COPY_ASYNC && pick(2)) {
		call->op = call->id;
		call->op_end = call->exit - 1;
	}
}

static void make_set(struct walk_call *call)
{
	call->dst = pick(2) ? MEMORY_PINNED : MEMORY_DEVICE;
}

static void make_submission(const struct program *p, struct walk_call *call)
{
	static const enum call_kind kinds[] = { KIND_LAUNCH, KIND_LAUNCH, KIND_LAUNCH, KIND_COPY,
		KIND_COPY_ASYNC, KIND_SET, KIND_SET_ASYNC, KIND_HOST_FUNC, KIND_PREFETCH,
		KIND_ALLOC_ASYNC, KIND_FREE_ASYNC, KIND_GRAPH_LAUNCH, KIND_GRAPH_UPLOAD,
		KIND_STREAM_VALUE_WAIT, KIND_COPY_BATCH, KIND_COPY_PEER_ASYNC };

	name_stream(p, call, pick_stream(p));
	call->kind = kinds[pick(sizeof(kinds) / sizeof(*kinds))];
	if (call->kind == KIND_STREAM_VALUE_WAIT && pick(4))
		call->kind = KIND_LAUNCH;
	if (call->kind == KIND_COPY || call->kind == KIND_COPY_ASYNC)
		make_copy(call);
	else if (call->kind == KIND_SET)
		make_set(call);
	else if (call->kind == KIND_GRAPH_LAUNCH || call->kind == KIND_GRAPH_UPLOAD)
		call->exec = 1 + pick(EXECS);
	else if (call->kind == KIND_ALLOC_ASYNC || call->kind == KIND_FREE_ASYNC)
		call->ptr = 0x1000 * (1 + (int)pick(POINTERS));
	else if (call->kind == KIND_LAUNCH && !pick(4))
		call->attributes = LAUNCH_PROGRAMMATIC;
	else if (call->kind == KIND_HOST_FUNC && pick(2)) {
		call->op = call->id;
		call->op_end = call->enter + 5 + pick(60);
	}
}

static void make_wait(const struct program *p, struct walk_call *call)
{
	static const enum call_kind kinds[] = { KIND_STREAM_SYNC, KIND_STREAM_QUERY, KIND_EVENT_SYNC,
		KIND_EVENT_QUERY, KIND_EVENT_ELAPSED, KIND_CONTEXT_SYNC, KIND_FREE_DEVICE,
		KIND_FREE_HOST };

	name_stream(p, call, pick_stream(p));
	call->kind = kinds[pick(sizeof(kinds) / sizeof(*kinds))];
	if (call->kind != KIND_STREAM_SYNC && call->kind != KIND_STREAM_QUERY) {
		call->stream = call->stream_context = 0;
		call->stream_kind = STREAM_KIND_UNKNOWN;
	}
	if (call->kind == KIND_EVENT_SYNC || call->kind == KIND_EVENT_QUERY ||
		call->kind == KIND_EVENT_ELAPSED)
		call->event = 1 + pick(EVENTS);
	if (call->kind == KIND_EVENT_ELAPSED)
		call->event2 = 1 + pick(EVENTS);
	if (call->kind == KIND_FREE_DEVICE || call->kind == KIND_FREE_HOST)
		call->ptr = 1;
	if (pick(5) == 0)
		call->exit += 10 * pick(8);
}

static void make_context_call(const struct program *p, struct walk_call *call)
{
	static const enum call_kind kinds[] = { KIND_CONTEXT_RECORD, KIND_CONTEXT_WAIT,
		KIND_COPY_PEER };

	call->kind = kinds[pick(3)];
	name_stream(p, call, (int)pick(2)); /* a legacy stream */
	call->event = call->kind == KIND_COPY_PEER ? 0 : 1 + pick(EVENTS);
	if (call->kind == KIND_COPY_PEER) {
		call->dst_context = 1 + pick(2);
		call->src_context = 1 + pick(2);
	} else {
		call->stream = call->stream_context = 0;
	}
}

static void make_life(struct program *p, struct walk_call *call)
{
	int s = pick_stream(p), e = (int)pick(EVENTS);

	switch (pick(4)) {
	case 0: /* another stream instead of it, or one more */
		if (p->kind[s] != STREAM_KIND_LEGACY) {
			name_stream(p, call, s);
			call->kind = KIND_STREAM_DESTROY;
			p->dead[s] = 1;
		}
		if (p->streams < STREAMS)
			add_stream(p, pick(3) ? STREAM_KIND_BLOCKING : STREAM_KIND_NON_BLOCKING,
				(int)pick(2));
		break;
	case 1:
		call->kind = KIND_EVENT_DESTROY;
		call->event = e + 1;
		break;
	case 2:
		call->kind = KIND_EVENT_CREATE;
		call->event = e + 1;
		break;
	default:
		call->kind = KIND_STREAM_WAIT;
		name_stream(p, call, s);
		call->event = e + 1;
	}
}

/* The last two threads come and go. */
static void make_thread_call(struct program *p, struct walk_call *call)
{
	int t = 2 + (int)pick(THREADS - 2);

	if (call->thread == t + 1 || p->thread_ended[t])
		return;
	call->other_thread = t + 1;
	call->kind = p->thread_made[t] ? KIND_THREAD_JOIN : KIND_THREAD_CREATE;
	if (p->thread_made[t])
		p->thread_ended[t] = 1;
	p->thread_made[t] = 1;
}

static void make_call(struct program *p, struct walk_call *call)
{
	unsigned what = pick(20);

	if (what < 9) {
		make_submission(p, call);
	} else if (what < 12) {
		call->kind = KIND_EVENT_RECORD;
		name_stream(p, call, pick_stream(p));
		call->event = 1 + pick(EVENTS);
	} else if (what < 15) {
		call->kind = KIND_STREAM_WAIT;
		name_stream(p, call, pick_stream(p));
		call->event = 1 + pick(EVENTS);
	} else if (what < 17) {
		make_wait(p, call);
	} else if (what < 18) {
		make_context_call(p, call);
	} else if (what < 19) {
		make_life(p, call);
	} else {
		make_thread_call(p, call);
	}
	call->result = pick(25) == 0 && call->kind != KIND_STREAM_DESTROY &&
		       call->kind != KIND_THREAD_CREATE && call->kind != KIND_THREAD_JOIN;
}

/* Threads take turns; a thread whose last call lasts waits for it. */
static struct walk_call *next_call(struct program *p, int t, int64_t now)
{
	struct walk_call *call = &p->call[p->count++];

	*call = (struct walk_call){ .id = p->count, .process = 1, .thread = t + 1,
		.enter = now, .exit = now + 4, .kind = KIND_OTHER,
		.direction = COPY_DEFAULT, .op_start = WALK_NEVER, .op_end = WALK_NEVER,
		.owner_device = -1 };
	return call;
}

static void make_program(struct program *p)
{
	int64_t busy[THREADS] = { 0 }, now = 0;
	int length = 6 + (int)pick(CALLS - 14), streams = 1 + (int)pick(5);

	*p = (struct program){ .thread_made = { 1, 1 } };
	add_stream(p, STREAM_KIND_LEGACY, 0);
	add_stream(p, STREAM_KIND_LEGACY, 1);
	for (int i = 0; i < streams; i++)
		add_stream(p, pick(3) ? STREAM_KIND_BLOCKING : STREAM_KIND_NON_BLOCKING,
			(int)pick(2));
	for (int i = 0; i < EVENTS; i++)
		p->created[i] = pick(4) != 0;
	while (p->count < length) {
		int t = p->count < 2 ? p->count : pick_thread(p);
		struct walk_call *call;

		/* A call that is still running is its thread's only one. */
		now += 10;
		if (busy[t] > now)
			continue;
		call = next_call(p, t, now);
		if (p->count > 2)
			make_call(p, call);
		else
			call->kind = KIND_EVENT_CREATE;
		if (call->kind == KIND_THREAD_JOIN && busy[call->other_thread - 1] >= call->exit)
			call->exit = busy[call->other_thread - 1] + 2;
		busy[t] = call->exit;
	}
	/* Who knows what in the end. */
	for (int t = 0; t < THREADS; t++) {
		struct walk_call *call;

		if (!p->thread_made[t] || p->thread_ended[t] || p->streams >= STREAMS)
			continue;
		call = next_call(p, t, now += 1000);
		call->kind = KIND_LAUNCH;
		name_stream(p, call, add_stream(p, STREAM_KIND_NON_BLOCKING, 0));
	}
}

/* --- the reference --- */

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
	case KIND_LAUNCH: case KIND_COPY: case KIND_COPY_ASYNC: case KIND_SET: case KIND_SET_ASYNC:
	case KIND_HOST_FUNC: case KIND_PREFETCH: case KIND_ALLOC_ASYNC: case KIND_FREE_ASYNC:
	case KIND_GRAPH_LAUNCH: case KIND_GRAPH_UPLOAD: case KIND_STREAM_VALUE_WAIT:
	case KIND_COPY_BATCH: case KIND_COPY_PEER_ASYNC: case KIND_COPY_PEER:
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
	if (c->kind == KIND_COPY_PEER)
		return c->stream_context == context || c->dst_context == context ||
		       c->src_context == context;
	return c->kind == KIND_CONTEXT_WAIT && c->context == context;
}

static int is_of_context(const struct program *p, int j, int64_t context)
{
	return (in_stream(p, j) && p->call[j].stream_context == context) ||
	       is_barrier_of(&p->call[j], context);
}

static void draw_contexts(struct reference *r, int i, int to, int64_t context,
	enum order_strength strength)
{
	for (int j = 0; j < i; j++)
		if (is_of_context(r->p, j, context))
			draw(r, E(j), to, strength);
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
		if (is_barrier_of(e, c->stream_context))
			draw(r, E(j), S(i), ORDER_GUARANTEED);
	}
}

static int last_of(const struct program *p, int i, enum call_kind a, enum call_kind b,
	int64_t ptr, int64_t exec)
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
	if (c->kind == KIND_COPY_PEER) {
		draw_contexts(r, i, S(i), c->stream_context, ORDER_GUARANTEED);
		draw_contexts(r, i, S(i), c->dst_context, ORDER_GUARANTEED);
		draw_contexts(r, i, S(i), c->src_context, ORDER_GUARANTEED);
	}
}

/* What the thread of a submitting call knows afterwards. */
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
	case KIND_STREAM_SYNC: case KIND_STREAM_QUERY:
		for (int j = 0; j < i; j++) {
			const struct walk_call *e = &r->p->call[j];

			if ((in_stream(r->p, j) && e->stream == c->stream) ||
				(legacy && e->stream_context == c->stream_context &&
					is_blocking(e) && in_stream(r->p, j)) ||
				(legacy && is_barrier_of(e, c->stream_context)))
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
	case KIND_EVENT_SYNC: case KIND_EVENT_QUERY: case KIND_EVENT_ELAPSED:
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
			(e->thread == c->other_thread || (e->kind == KIND_THREAD_CREATE &&
				e->other_thread == c->other_thread)))
			draw(r, H(j), H(i), ORDER_GUARANTEED);
		if (e->kind == KIND_HOST_FUNC && !e->result &&
			(e->op ? e->op_end : e->enter) <= c->enter)
			draw_knowledge(r, E(j), i, ORDER_ASSUMED);
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

/* --- the engine --- */

struct edges {
	struct { int64_t call, needs; enum order_reason reason; } list[40 * CALLS * CALLS];
	size_t count;
};

static int take_edge(void *arg, int64_t call, int64_t needs, enum order_reason reason)
{
	struct edges *edges = arg;

	if (edges->count == sizeof(edges->list) / sizeof(*edges->list))
		return -1;
	edges->list[edges->count].call = call;
	edges->list[edges->count].needs = needs;
	edges->list[edges->count++].reason = reason;
	return 0;
}

/*
 * The best way from b to each call by direct edges: one is reached complete ([1]), or up to its
 * start only ([0]), which says nothing of its own operation nor of what only comes "afterwards".
 * Edges come by later call, but for those of pthread_join: it takes effect when it has returned.
 */
static void find_ways(const struct edges *edges, int64_t b, enum order_strength best[][2])
{
	int changed = 1;

	memset(best, 0, (CALLS + 1) * sizeof(*best));
	best[b][0] = ORDER_GUARANTEED;
	while (changed) {
		changed = 0;
		for (size_t i = edges->count; i-- > 0;) {
			enum order_reason reason = edges->list[i].reason;
			int64_t call = edges->list[i].call, needs = edges->list[i].needs;
			enum order_strength from = best[call][1], own = order_reason_strength[reason];

			if (reason != ORDER_AFTERWARDS && best[call][0] > from)
				from = best[call][0];
			if (own > from)
				own = from;
			if (own > best[needs][reason != ORDER_START]) {
				best[needs][reason != ORDER_START] = own;
				changed = 1;
			}
		}
	}
}

static void show(const struct program *p, int i)
{
	const struct walk_call *c = &p->call[i];

	fprintf(stderr, "%3d thread %d [%d, %d] %s%s stream %d (%s, context %d) event %d,%d "
		"direction %d src %d dst %d exec %d ptr %x op_end %d attributes %u other %d "
		"contexts %d %d\n", i,
		(int)c->thread, (int)c->enter, (int)c->exit, call_kind_names[c->kind],
		c->result ? " failed" : "", (int)c->stream,
		c->stream_kind == STREAM_KIND_LEGACY ? "legacy"
		: c->stream_kind == STREAM_KIND_BLOCKING ? "blocking" : "other",
		(int)c->context, (int)c->event, (int)c->event2, c->direction, c->src, c->dst,
		(int)c->exec, (unsigned)c->ptr, c->op ? (int)c->op_end : -1, c->attributes,
		(int)c->other_thread, (int)c->dst_context, (int)c->src_context);
}

struct run {
	struct program p;
	struct reference r;
	struct edges edges;
	struct order_epoch epoch[CALLS];
	uint64_t pairs[ORDER_GUARANTEED + 1];
	uint64_t ways, without_way; /* guaranteed pairs that edges explain, or not */
};

static int differ(struct run *run, int a, int b, enum order_strength is,
	enum order_strength should, const char *what)
{
	fprintf(stderr, "%s: call %d before call %d is %s, not %s:\n", what, a, b,
		order_strength_names[is], order_strength_names[should]);
	for (int i = 0; i <= b; i++)
		show(&run->p, i);
	return -1;
}

static int compare(struct run *run, const struct order *order, int b)
{
	enum order_strength best[CALLS + 1][2];

	find_ways(&run->edges, b + 1, best);
	for (int a = 0; a < b; a++) {
		enum order_strength is, should, way = best[a + 1][1];

		if (!run->epoch[a].seq)
			continue;
		is = order_before(order, run->epoch[a]);
		should = by_reference(&run->r, a, b);
		run->pairs[should]++;
		if (is != should)
			return differ(run, a, b, is, should, "engine");
		if (way > should)
			return differ(run, a, b, way, should, "edges");
		run->ways += should == ORDER_GUARANTEED && way == should;
		run->without_way += should == ORDER_GUARANTEED && way != should;
	}
	return 0;
}

static int run_program(struct run *run)
{
	struct order order = { .edge = take_edge, .arg = &run->edges };
	int rc = 0;

	make_program(&run->p);
	refer(&run->r, &run->p);
	run->edges.count = 0;
	for (int i = 0; i < run->p.count && !rc; i++) {
		rc = order_step(&order, &run->p.call[i]);
		run->epoch[i] = works(&run->p.call[i]) ? order.epoch : (struct order_epoch){ 0 };
		if (!rc && works(&run->p.call[i]))
			rc = compare(run, &order, i);
	}
	order_release(&order);
	return rc;
}

static uint64_t count = 10000, seed = 1;

static void programs(void **state)
{
	struct run *run = calloc(1, sizeof(*run));

	(void)state;
	assert_non_null(run);
	for (uint64_t i = 0; i < count; i++) {
		random_state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
		if (run_program(run)) {
			fprintf(stderr, "program %llu of seed %llu\n", (unsigned long long)i,
				(unsigned long long)seed);
			free(run);
			fail();
		}
	}
	for (int i = ORDER_UNORDERED; i <= ORDER_GUARANTEED; i++) {
		print_message("%s: %llu pairs\n", order_strength_names[i],
			(unsigned long long)run->pairs[i]);
		/* Programs in which a strength never occurs would say nothing about it. */
		assert_true(count < 1000 || run->pairs[i] > 100);
	}
	print_message("explained by direct edges: %llu guaranteed pairs, not: %llu\n",
		(unsigned long long)run->ways, (unsigned long long)run->without_way);
	free(run);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		{ "the engine and a reference agree on random programs", programs, NULL, NULL, NULL },
	};

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--count"))
			count = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
