/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of each stream, event, thread, context and executable graph.  Private to order*.c.  Agents
 * are created at their first use and released when they are destroyed.  A state in an agent owns a
 * reference to its clock; use order_keep() and order_drop() to change it.
 */
#ifndef CUFENCE_ORDER_AGENTS_H
#define CUFENCE_ORDER_AGENTS_H

#include "order.h"

void order_keep(struct order_state *slot, struct order_state state);
void order_drop(struct order_state *slot);

/* A report of what a thread has observed, which other threads may act on from a time on. */
struct order_news {
	int64_t at;     /* ns */
	int64_t thread; /* that observes it then and does not know it yet, 0: none */
	struct order_state state;
};

/* Positions up to which an agent was observed, by number of reports; at most ORDER_ASSUMED. */
struct order_reports {
	struct order_report {
		uint32_t report, seq[ORDER_ASSUMED];
	} * from;
	size_t count;
};

struct order_process {
	struct order_thread **thread; /* threads not known to have ended */
	size_t thread_count;
	struct order_news *news; /* a heap, the earliest first */
	size_t news_count;
	uint32_t key;         /* stands for the reports to the process: order_reports.c */
	uint32_t last_report; /* sequence number of the last report to it, 0: none */
	struct id_map of;     /* agent's key -> struct order_reports */
	int met;              /* it has had two threads at once */
	int stretch;          /* recording window of its last call */
};

struct order_thread {
	int64_t id, process;
	struct order_state last;    /* the thread's last host wait */
	uint32_t received;          /* number of the process's reports that it has received */
	int64_t joining, join_call; /* the thread that its last call joined, 0: none */
	int64_t last_exit;          /* return of its last host wait, ns */
	size_t place;               /* index in process->thread */
};

struct order_event {
	struct order_state state;  /* captured by the last record */
	int64_t stream;            /* the stream it was recorded in */
	int64_t record;            /* the call that recorded it, 0: none known */
	int64_t joined, joined_by; /* last node waited for, and by which thread */
	int recorded;
	int foreign; /* may be recorded by others, or was recorded before the trace */
};

/* A state that the next operation of a stream comes after, besides its last one. */
struct order_pending {
	struct order_state state;
	enum order_reason reason;
};

struct order_stream {
	int64_t id;
	enum stream_kind kind;
	struct order_context *context;
	struct order_state last; /* its last node */
	struct order_state
		before; /* state before the last node, if the next one may overlap that */
	struct order_pending *pending; /* added since the last node */
	size_t pending_count;
	int64_t legacy_seen;            /* the legacy node that its last node is ordered after */
	int64_t barrier_seen;           /* likewise for context->barrier */
	int64_t peer_seen;              /* likewise for context->peer */
	int64_t moved_seen;             /* of the legacy stream: likewise for context->moved */
	int64_t joined, joined_by;      /* last node waited for, and by which thread */
	int64_t last_exit, last_thread; /* of the last node's call */
	uint32_t changed;               /* sequence number of its last change */
	int last_is_kernel;
	struct order_stream *newer, *older; /* streams of the context, by last change */
	struct order_stream *newer_blocking, *older_blocking;
};

/* The last work of a destroyed stream, until a host wait for the context has covered it. */
struct order_orphan {
	struct order_state state;
	uint32_t changed; /* as of the stream */
	int blocking;     /* legacy work must still come after it */
};

struct order_context {
	int64_t id, process;
	int device;                  /* -1: unknown */
	uint32_t changed;            /* sequence number of the last change of its streams */
	uint32_t key;                /* for all its streams; key + 1 is the legacy stream's */
	struct order_stream *legacy; /* NULL before its first use */
	struct order_stream *moved;  /* STREAM_KIND_MOVED, or NULL */
	struct order_stream *newest, *newest_blocking;
	struct order_orphan *orphan;
	size_t orphan_count;
	struct order_clock *gone, *gone_blocking; /* clocks of destroyed streams */
	struct order_state barrier; /* an event that all later work is ordered after */
	struct order_state peer;    /* work of other contexts that is legacy work here too */
};

/* A node of an executable graph that acts on an event, or has an unknown effect. */
struct order_graph_node {
	int64_t node; /* row of graph_node */
	int64_t event;
	enum { GRAPH_RECORDS, GRAPH_WAITS, GRAPH_EXTERNAL, GRAPH_TELLS } act;
	uint32_t key; /* stands for the work that precedes a record or a host function */
	struct order_state state; /* captured by a wait at the last launch */
};

struct order_exec {
	int64_t id;
	int64_t graph, created;  /* the graph, as of call created */
	struct order_state last; /* its last launch */
	struct order_graph_node *node;
	size_t node_count;
	int acts;          /* some node acts on an event, or some host function ran */
	int64_t (*arc)[2]; /* all edges, read on first use */
	size_t arc_count;
	int arcs_known;
};

/* An agent's key, kept as long as operations of the agent may be asked about. */
struct order_key {
	struct order_epoch last; /* final position of a destroyed agent */
	int64_t process;
	int dead;
};

/*
 * Return the agents that a call names.  NULL without a message if the call names none, and NULL
 * after one if there are too many (distinguish by the id in the call).
 */
struct order_stream *order_need_stream(struct order *order, const struct walk_call *call);
struct order_context *order_need_context(struct order *order, int64_t id,
	const struct walk_call *call);
struct order_event *order_need_event(struct order *order, int64_t id);
struct order_thread *order_need_thread(struct order *order, int64_t id, int64_t process);
struct order_process *order_need_process(struct order *order, int64_t id);
struct order_exec *order_need_exec(struct order *order, int64_t id);

/* Return the next sequence number, and a new key (of two, if count is 2); 0 after a message. */
uint32_t order_next(struct order *order);
uint32_t order_new_key(struct order *order, int count);

/* Records that a stream changed, for waits on its whole context. */
void order_note_change(struct order_stream *stream, uint32_t seq);

/*
 * Releases a destroyed stream, event, graph or thread.  The context keeps what was pending in a
 * stream.
 */
void order_drop_stream(struct order *order, int64_t id, const struct order_thread *by);
void order_drop_event(struct order *order, int64_t id);
void order_drop_exec(struct order *order, int64_t id);
/* Releases the nodes of an executable graph. */
void order_free_nodes(struct order *order, struct order_exec *exec);
void order_end_thread(struct order *order, struct order_thread *thread);
void order_drop_context(struct order *order, int64_t id, const struct order_thread *by);

/* Returns 1 if every thread that may submit work has observed it complete. */
int order_is_known_to_all(const struct order *order, int64_t process,
	const struct order_epoch *operation);

/*
 * Removes from all clocks the destroyed streams and threads that every thread has observed
 * complete.  order->forget_at limits how often it runs.
 */
void order_forget(struct order *order);

/*
 * Keeps the reports to a process that are needed by receivers of these numbers of reports, which
 * are sorted.
 */
void order_forget_reports(struct order *order, struct order_process *process, uint32_t *received,
	size_t count);

void order_free_stream(void *stream);
void order_free_event(void *event);
void order_free_context(void *context);
void order_free_thread(void *thread);
void order_free_process(void *process);
void order_free_reports(void *reports);
void order_free_exec(void *exec);

#endif
