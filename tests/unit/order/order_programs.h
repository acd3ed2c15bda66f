/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs of a few calls for order_random.c: streams of two contexts that come and go,
 * events, graphs, pools, copies of all kinds, and threads that take turns or overlap.
 */
#ifndef CUFENCE_TESTS_ORDER_PROGRAMS_H
#define CUFENCE_TESTS_ORDER_PROGRAMS_H

#include <stdint.h>
#include <string.h>

#include "walk.h"

enum {
	CALLS = 64,
	STREAMS = 40,
	EVENTS = 6,
	EXECS = 2,
	THREADS = 4,
	POINTERS = 2,
	NODES = 3 * CALLS,
	WORDS = NODES / 64,
};

/* Ids of streams: the legacy streams of both contexts come first. */
struct program {
	struct walk_call call[CALLS];
	int count;
	enum stream_kind kind[STREAMS];
	int context[STREAMS], dead[STREAMS];
	int streams;
	int created[EVENTS]; /* by a recorded call */
	int thread_made[THREADS], thread_ended[THREADS];
};

static uint64_t random_state;

static unsigned pick(unsigned n)
{
	random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(random_state >> 33) % n;
}

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
		: call->direction == COPY_DEFAULT                              ? MEMORY_UNKNOWN
									       : MEMORY_DEVICE;
	call->dst = call->direction == COPY_D2H || call->direction == COPY_H2H ? host[pick(2)]
		: call->direction == COPY_DEFAULT                              ? MEMORY_UNKNOWN
									       : MEMORY_DEVICE;
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
	} else if (call->kind == KIND_HOST_FUNC && pick(3)) {
		call->ran = call->enter + 5 + pick(60);
		call->ran_by = pick(3); /* threads that are never joined, or none */
	}
}

static void make_wait(const struct program *p, struct walk_call *call)
{
	static const enum call_kind kinds[] = { KIND_STREAM_SYNC, KIND_STREAM_QUERY,
		KIND_EVENT_SYNC, KIND_EVENT_QUERY, KIND_EVENT_ELAPSED, KIND_CONTEXT_SYNC,
		KIND_FREE_DEVICE, KIND_FREE_HOST };

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
		KIND_COPY_PEER, KIND_COPY_PEER_ASYNC, KIND_COPY_ASYNC };
	unsigned kind = pick(sizeof(kinds) / sizeof(*kinds));

	call->kind = kinds[kind];
	name_stream(p, call, (int)pick(2)); /* a legacy stream */
	call->event = kind < 2 ? 1 + pick(EVENTS) : 0;
	if (kind < 2) {
		call->stream = call->stream_context = 0;
	} else {
		call->dst_context = 1 + pick(2);
		call->src_context = 1 + pick(2);
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

	*call = (struct walk_call){ .id = p->count,
		.process = 1,
		.thread = t + 1,
		.enter = now,
		.exit = now + 4,
		.kind = KIND_OTHER,
		.direction = COPY_DEFAULT,
		.op_start = WALK_NEVER,
		.op_end = WALK_NEVER,
		.ran = WALK_NEVER,
		.ran_last = WALK_NEVER,
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
	/* A last launch of each thread shows what the thread has observed complete. */
	for (int t = 0; t < THREADS; t++) {
		struct walk_call *call;

		if (!p->thread_made[t] || p->thread_ended[t] || p->streams >= STREAMS)
			continue;
		call = next_call(p, t, now += 1000);
		call->kind = KIND_LAUNCH;
		name_stream(p, call, add_stream(p, STREAM_KIND_NON_BLOCKING, 0));
	}
}

#endif
