/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordering rules of CUDA, applied to the calls of a run in order of entry: which operation is
 * ordered after which, for what reason and how surely.
 *
 * The direct order is a graph whose nodes are driver calls.  A call that submits an operation is a
 * node; so is one that joins several orders: a host wait, an event record or a stream wait that
 * joins more than one earlier node.  Every stream, event and thread refers to one node and is
 * ordered after everything up to it.  It also has a clock (order_clock.h), which tells without the
 * graph whether an earlier operation is ordered before the current one; passes that follow the run
 * use clocks.  A legacy stream joins only the blocking streams that changed since its last
 * operation.  Only live objects are kept.
 *
 * The clocks, and the work on them, have a limit.  A run that needs more is analyzed up to there:
 * from then on every answer is ORDER_UNKNOWN, and no edge is added.  A caller that concludes from a
 * missing order must check order.given_up first.
 *
 * Not thread-safe.  One struct order serves the processes of a part of the walk (walk.h); several
 * threads may each step one, of one database.
 */
#ifndef CUFENCE_ORDER_H
#define CUFENCE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "id_map.h"
#include "order_clock.h"
#include "walk.h"

/* Reasons why a call is ordered after another: the name in table dependency, and the strength. */
/* clang-format off */
#define ORDER_REASON_LIST(X) \
	X(STREAM, "stream", ORDER_GUARANTEED)  /* same stream */ \
	X(EVENT, "event", ORDER_GUARANTEED)    /* a wait for an event recorded after it */ \
	X(LEGACY, "legacy", ORDER_GUARANTEED)  /* the legacy stream and its blocking streams, of \
						  both devices for a copy between them */ \
	X(WAIT, "wait", ORDER_GUARANTEED)      /* a host wait, after the work it waited for */ \
	X(HOST, "host", ORDER_GUARANTEED)      /* submitted after its thread had waited for it */ \
	X(THREAD, "thread", ORDER_GUARANTEED)  /* known to a thread when it made or joined one */ \
	X(GRAPH, "graph", ORDER_GUARANTEED)    /* the same executable graph, launched before */ \
	X(INCIDENT, "incident", ORDER_INCIDENTAL) /* a call that waited, undocumented */ \
	X(REUSE, "reuse", ORDER_INCIDENTAL)    /* it allocated memory that was freed there */ \
	X(START, "start", ORDER_GUARANTEED)    /* after all that the earlier call is after, not \
						  after that call's own operation */ \
	X(AFTERWARDS, "afterwards", ORDER_GUARANTEED) /* what comes after the later call is after \
						  the earlier one; its own operation is not, or \
						  a part of it only */
/* clang-format on */

enum order_reason {
#define X(reason, name, strength) ORDER_##reason,
	ORDER_REASON_LIST(X)
#undef X
		ORDER_REASONS
};
extern const char *const order_reason_names[ORDER_REASONS];
extern const enum order_strength order_reason_strength[ORDER_REASONS];
extern const char *const order_strength_names[ORDER_GUARANTEED + 1];

/*
 * The point that an agent is ordered after.  States that functions return are valid until the next
 * step.
 */
struct order_state {
	int64_t call; /* the node, 0: none */
	int64_t op;   /* the operation up to the node that ended last, 0: none has a record */
	int64_t end;  /* its end, ns; INT64_MIN without one */
	struct order_clock *clock;
	struct order_epoch own; /* the agent's own position */
	int start;              /* only up to the start of the node's operation */
};
#define ORDER_NOTHING ((struct order_state){ .end = INT64_MIN })

/* order_state.op if an operation up to the node is unknown (unknown.h); end is WALK_NEVER then. */
#define ORDER_OP_UNKNOWN (-1)

struct order {
	/*
	 * Receives each direct edge once, by later call in order of entry.  It returns -1 to stop.
	 * NULL: nobody does.
	 */
	int (*edge)(void *arg, int64_t call, int64_t needs, enum order_reason reason);
	void *arg;
	struct db *db; /* to read graph contents; NULL: no graphs */
	struct id_map streams, events, contexts, threads, processes, execs, keys;
	struct id_map freed; /* freed stream-ordered memory, by address */
	struct order_joiner joiner;
	uint32_t last_seq, last_key;
	uint32_t forget_at;  /* number of keys at which to look for dead keys ... */
	size_t forget_bytes; /* ... and bytes of all clocks at which to do so */
	int64_t given_up;    /* the first call that was not analyzed; 0: none */
	/*
	 * For the last stepped call: by reason, the state with the latest end that it is ordered
	 * after.
	 */
	struct order_state needs[ORDER_REASONS];
	unsigned needed;            /* bit mask of the reasons in needs */
	int node;                   /* the last stepped call became a node of the graph */
	struct order_epoch epoch;   /* its operation; seq 0: it submitted none */
	struct order_clock *now;    /* the clock of that operation ... */
	struct order_epoch now_own; /* ... and the position of its own stream */
	int overlaps; /* it may start before the previous operation of its stream ends */
	int64_t exec; /* the graph it launched, 0: none */
};

/*
 * Limit for bytes of clocks, unless the database sets another: of each part that is walked
 * (walk.h).  At most two orders of a part are analyzed at once (needs_internal.h): 1 GiB.  A
 * process beyond a limit has a row in table loss (ORDER_LOSS).
 */
#define ORDER_LIMIT ((size_t)512 << 20)

/*
 * Limit for merged clock entries, at 13 ns each where clocks are large (10 000 threads).  A run of
 * a million calls may merge 1000 entries per call.
 */
#define ORDER_WORK_LIMIT UINT64_C(1000000000)

/* Processes the next call.  Returns 0, or -1 after a message. */
int order_step(struct order *order, const struct walk_call *call);

/*
 * Returns how surely the operation of an earlier call was ordered before the operation of the last
 * stepped call.  earlier is the value of order.epoch after the earlier call's step; it stays valid
 * when streams are created and destroyed.
 */
enum order_strength order_before(const struct order *order, struct order_epoch earlier);

/*
 * Return the position up to which an agent is surely ordered before that operation, by the clock of
 * the operation and by the agent's set (order_reaches.h).
 */
uint32_t order_reach_clock(const struct order *order, uint32_t key);
uint32_t order_reach_set(const struct order *order, uint32_t set);

/* Returns how surely a thread has observed an operation complete, as of the last stepped call. */
enum order_strength order_known(const struct order *order, int64_t thread,
	struct order_epoch earlier);

/* Returns whether that is ORDER_GUARANTEED; and the position up to which it is for an agent. */
int order_knows(const struct order *order, int64_t thread, const struct order_epoch *earlier);
uint32_t order_known_reach(const struct order *order, int64_t thread,
	const struct order_epoch *agent);

/*
 * Likewise for operations within a graph: a node of an earlier launch, and a node of the launch
 * stepped last.  Nodes are rows of graph_node; 0 stands for the whole call, or for a call that is
 * not a graph launch.
 */
enum order_strength order_before_node(struct order *order, struct order_epoch earlier,
	int64_t earlier_exec, int64_t earlier_node, int64_t node);

/*
 * Returns 1 if nodes of an executable graph act on events, so that order_before_node() may be more
 * precise than order_before(); 0 if not, or if the graph was destroyed.
 */
int order_acts_in_graph(const struct order *order, int64_t exec);

/*
 * Does an executable graph order node `to` after node `from`?  Returns 1, 0, or -1 after a message.
 */
int order_path_in_graph(struct order *order, int64_t exec, int64_t from, int64_t to);

/*
 * Returns the state with the latest end among the work of the call's stream and the events that the
 * stream waits for; with legacy, among all work that an operation submitted now would come after.
 * The member call is unspecified.
 */
struct order_state order_of_stream(const struct order *order, const struct walk_call *call,
	int legacy);

/* Returns 1 if an event was recorded: by a call, by a graph node, or outside the recorded calls. */
int order_event_is_recorded(const struct order *order, int64_t event);

/*
 * Returns the call that last recorded the event, 0 if none was recorded.  *sure is 0 if the event
 * may have been recorded otherwise as well.
 */
int64_t order_record_of(const struct order *order, int64_t event, int *sure);

/* Returns the state that the call's event captured, ORDER_NOTHING if it was never recorded. */
struct order_state order_of_event(const struct order *order, const struct walk_call *call);

void order_release(struct order *order);

/* Returns the state with the later end. */
struct order_state order_later(struct order_state a, struct order_state b);

#endif
