/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the order engine keeps of each stream, event, thread, context and executable graph: private
 * to order*.c.  Agents are made at their first use and released when they are destroyed.  A state
 * that an agent holds owns a reference to its clock: order_keep() and order_drop() change it.
 */
#ifndef CUFENCE_ORDER_AGENTS_H
#define CUFENCE_ORDER_AGENTS_H

#include "order.h"

void order_keep(struct order_state *slot, struct order_state state);
void order_drop(struct order_state *slot);

/* Host knowledge that others may act on once a time has come. */
struct order_news {
	int64_t at; /* ns */
	struct order_state state;
};

/* How far an agent was observed, from that many reports on, no surer than ORDER_ASSUMED. */
struct order_told {
	struct order_told_from {
		uint32_t told, seq[ORDER_ASSUMED];
	} * from;
	size_t count;
};

struct order_process {
	struct order_thread **thread; /* those that are not known to have ended */
	size_t thread_count;
	struct order_news *news; /* a heap, the earliest first */
	size_t news_count;
	uint32_t key;    /* stands for what was reported to it: order_told.c */
	uint32_t told;   /* sequence number of the last report to it, 0: none */
	struct idmap of; /* agent's key -> struct order_told */
	int met;         /* it has had two threads at once */
	int stretch;     /* of its last call */
};

struct order_thread {
	int64_t id, process;
	struct order_state last;    /* the thread's last host wait */
	uint32_t told;              /* number of the process's reports that it has received */
	int64_t joining, join_call; /* the thread that its last call joined, 0: none */
	int64_t last_exit;          /* its last host wait returned, ns */
	size_t place;               /* in process->thread */
};

struct order_event {
	struct order_state state;  /* as of the last record */
	int64_t stream;            /* recorded in */
	int64_t record;            /* the call that did, 0: none was seen */
	int64_t joined, joined_by; /* node and thread that waited for it last */
	int recorded;
	int foreign; /* recorded by somebody else, or before the trace */
};

/* Something that the next operation of a stream comes after besides the last one. */
struct order_pending {
	struct order_state state;
	enum order_reason reason;
};

struct order_stream {
	int64_t id;
	enum stream_kind kind;
	struct order_context *context;
	struct order_state last;       /* its last node */
	struct order_state before;     /* what the last node was after, if that may overlap it */
	struct order_pending *pending; /* since */
	size_t pending_count;
	int64_t legacy_seen;            /* the legacy node its last node is after */
	int64_t barrier_seen;           /* likewise of context->barrier */
	int64_t peer_seen;              /* likewise of context->peer */
	int64_t joined, joined_by;      /* node and thread that waited for it last */
	int64_t last_exit, last_thread; /* of the last node's call */
	uint32_t changed;               /* sequence number of its last change */
	int last_is_kernel;
	struct order_stream *newer, *older; /* of the context, by last change */
	struct order_stream *newer_blocking, *older_blocking;
};

/* The last work of a destroyed stream, until a host wait for the context has covered it. */
struct order_orphan {
	struct order_state state;
	uint32_t changed; /* the stream's */
	int blocking;     /* legacy work has to come after it still */
};

struct order_context {
	int64_t id, process;
	int device;                  /* -1: unknown */
	uint32_t changed;            /* sequence number of its streams' last change */
	uint32_t key;                /* of all its streams; key + 1 is the legacy stream's */
	struct order_stream *legacy; /* NULL before its first use */
	struct order_stream *newest, *newest_blocking;
	struct order_orphan *orphan;
	size_t orphan_count;
	struct order_clock *gone, *gone_blocking; /* what destroyed streams were after */
	struct order_state barrier;               /* an event that all later work is after */
	struct order_state peer; /* other contexts' work that is legacy work here, too */
};

/* A node of an executable graph that acts on an event, or on what is not known. */
struct order_graph_node {
	int64_t node; /* row of graph_node */
	int64_t event;
	enum { GRAPH_RECORDS, GRAPH_WAITS, GRAPH_EXTERNAL } act;
	uint32_t key;             /* stands for what precedes a record */
	struct order_state state; /* of a wait, at the last launch */
};

struct order_exec {
	int64_t id;
	int64_t graph, created;  /* the graph as of that call */
	struct order_state last; /* its last launch */
	struct order_graph_node *node;
	size_t node_count;
	int64_t (*arc)[2]; /* all edges, once they were asked for */
	size_t arc_count;
	int arcs_known;
};

/* An agent's key, as long as somebody may ask for it. */
struct order_key {
	struct order_epoch last; /* dead: how far it had come */
	int64_t process;
	int dead;
};

/* The agents a call names; NULL after a message when out of memory, NULL without one if the call
 * names none (distinguish by the id in the call). */
struct order_stream *order_need_stream(struct order *order, const struct walk_call *call);
struct order_context *order_need_context(struct order *order, int64_t id,
	const struct walk_call *call);
struct order_event *order_need_event(struct order *order, int64_t id);
struct order_thread *order_need_thread(struct order *order, int64_t id, int64_t process);
struct order_process *order_need_process(struct order *order, int64_t id);
struct order_exec *order_need_exec(struct order *order, int64_t id);

/* The next sequence number, and a new key (of two, if count is 2); 0 after a message. */
uint32_t order_next(struct order *order);
uint32_t order_new_key(struct order *order, int count);

/* Notes that a stream has something new for those who wait for all of its context. */
void order_note_change(struct order_stream *stream, uint32_t seq);

/* Gives up a destroyed stream, event, graph or thread; what was pending in a stream stays known
 * to its context. */
int order_drop_stream(struct order *order, int64_t id, const struct order_thread *by);
void order_drop_event(struct order *order, int64_t id);
void order_drop_exec(struct order *order, int64_t id);
/* Forgets the inside of an executable graph. */
void order_free_nodes(struct order *order, struct order_exec *exec);
void order_end_thread(struct order *order, struct order_thread *thread);
int order_drop_context(struct order *order, int64_t id, const struct order_thread *by);

/* Removes streams and threads that were destroyed, and that every thread has observed complete,
 * from all clocks; order->forget_at says when next, so that it costs little. */
int order_forget(struct order *order);

/* Keeps those of a process's reports that a receiver with one of these numbers, which are sorted,
 * needs. */
void order_forget_told(struct order *order, struct order_process *process, uint32_t *heard,
	size_t count);

void order_free_stream(void *stream);
void order_free_event(void *event);
void order_free_context(void *context);
void order_free_thread(void *thread);
void order_free_process(void *process);
void order_free_told(void *told);
void order_free_exec(void *exec);

#endif
