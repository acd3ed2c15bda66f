/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What order.c keeps of each stream, event, thread and context: private to the order engine.
 * Agents are made at their first use and, streams and events, given up when they are destroyed.
 */
#ifndef CUFENCE_ORDER_AGENTS_H
#define CUFENCE_ORDER_AGENTS_H

#include "order.h"

struct order_thread {
	struct order_state last;      /* the thread's last host wait */
};

/* Exists from the first record on. */
struct order_event {
	struct order_state state;     /* as of the last record */
	int64_t stream;               /* recorded in */
	int64_t joined, joined_by;    /* node and thread that waited for it last */
};

struct order_stream {
	int64_t id;
	enum stream_kind kind;
	struct order_context *context;
	struct order_state last;      /* its last node */
	struct order_state *waits;    /* events waited for since */
	size_t wait_count;
	int64_t legacy_seen;          /* the legacy node its last node is after */
	int64_t host_seen;            /* the host wait its last node is after */
	int64_t joined, joined_by;    /* node and thread that waited for it last */
	size_t place;                 /* in context->stream */
	size_t changed;               /* in context->changed: index + 1, 0: not in it */
};

/* The last work of a destroyed stream, until a host wait for the context has covered it. */
struct order_orphan {
	struct order_state state;
	int blocking;                 /* legacy work has to come after it still */
};

struct order_context {
	int64_t id;
	struct order_stream *legacy;  /* NULL before its first use */
	struct order_stream **stream; /* all of the context */
	size_t stream_count;
	struct order_stream **changed; /* blocking streams with work since legacy's last node */
	size_t changed_count;
	struct order_orphan *orphan;
	size_t orphan_count;
};

/* The agents a call names; NULL after a message when out of memory, NULL without one if the call
 * names none (distinguish by the id in the call). */
struct order_stream *order_need_stream(struct order *order, const struct walk_call *call);
struct order_context *order_need_context(struct order *order, int64_t id);

/* Notes that a blocking stream has work that later legacy work comes after. */
int order_note_change(struct order_stream *stream);
void order_forget_changes(struct order_context *context);

/* Gives up a destroyed stream; what was pending in it stays known to its context. */
int order_drop_stream(struct order *order, int64_t id);

void order_free_stream(void *stream);
void order_free_context(void *context);

#endif
