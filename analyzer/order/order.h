/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordering rules of CUDA, applied to the calls of a run in order of entry: which operation is
 * ordered after which, why, and how surely.
 *
 * The direct order is a graph whose nodes are driver calls.  A call that submits an operation is a
 * node; so is one that joins several orders: a host wait, an event record or a stream wait that
 * joins more than one earlier node.  Every stream, event and thread holds one node ("ordered after
 * all of that"), and with it a clock (order_clock.h), by which the question whether an earlier
 * operation is ordered before the present one is answered without the graph: that is for passes
 * that follow the run.  A legacy stream joins only the blocking streams that changed since its last
 * operation.  Only live objects are kept.
 *
 * The clocks, and the work on them, have a limit.  A run that needs more is followed up to there:
 * from then on every answer is ORDER_UNKNOWN, and no edge is added.  A caller that concludes from a
 * missing order must ask order.given_up first.
 *
 * One thread; one struct order per database, for all of its processes.
 */
#ifndef CUFENCE_ORDER_H
#define CUFENCE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "idmap.h"
#include "order_clock.h"
#include "walk.h"

/* Why a call is ordered after another; the name in table dependency, how sure that is. */
/* clang-format off */
#define ORDER_REASON_LIST(X) \
	X(STREAM, "stream", ORDER_GUARANTEED)  /* same stream */ \
	X(EVENT, "event", ORDER_GUARANTEED)    /* a wait for an event recorded after it */ \
	X(LEGACY, "legacy", ORDER_GUARANTEED)  /* the legacy stream and its blocking streams, of \
						  both devices for a copy between them */ \
	X(WAIT, "wait", ORDER_GUARANTEED)      /* a host wait after what it waited for */ \
	X(HOST, "host", ORDER_GUARANTEED)      /* submitted when its thread had waited for it */ \
	X(THREAD, "thread", ORDER_GUARANTEED)  /* what a thread knew when it made or joined one */ \
	X(GRAPH, "graph", ORDER_GUARANTEED)    /* the same executable graph, launched before */ \
	X(INCIDENT, "incident", ORDER_INCIDENTAL) /* a call that waited, undocumented */ \
	X(REUSE, "reuse", ORDER_INCIDENTAL)    /* it was given memory that was freed there */ \
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

/* What an agent is ordered after.  Those that functions return are valid until the next step. */
struct order_state {
	int64_t call; /* the node, 0: nothing */
	int64_t op;   /* of the operations up to it the one that ended last, 0: none known */
	int64_t end;  /* when, ns; INT64_MIN without one */
	struct order_clock *clock;
	struct order_epoch own; /* the agent itself, as far as that */
	int start;              /* up to the start of the node's operation, without it */
};
#define ORDER_NOTHING ((struct order_state){ .end = INT64_MIN })

struct order {
	/* Receives each direct edge once, by later call in order of entry; -1 stops. */
	int (*edge)(void *arg, int64_t call, int64_t needs, enum order_reason reason);
	void *arg;
	struct db *db; /* what graphs are made of; NULL: there are none */
	struct idmap streams, events, contexts, threads, processes, execs, keys;
	struct idmap freed; /* stream-ordered memory that was freed, by address */
	struct order_joiner joiner;
	uint32_t last_seq, last_key;
	uint32_t forget_at;  /* number of keys at which dead ones are looked for ... */
	size_t forget_bytes; /* ... and of bytes of all clocks */
	int64_t given_up;    /* the call from which on the order is not followed; 0: none */
	/* The last stepped call: by reason, what it is ordered after that ended last. */
	struct order_state needs[ORDER_REASONS];
	unsigned needed;            /* of these those that there are, a bit each */
	int node;                   /* the last stepped call became a node of the graph */
	struct order_epoch epoch;   /* its operation; seq 0: it submitted none */
	struct order_clock *now;    /* what that is ordered after ... */
	struct order_epoch now_own; /* ... and how far its own stream had come */
	int overlaps; /* it may start before the operation before it in its stream ends */
	int64_t exec; /* the graph it launched, 0: none */
};

/*
 * Bytes of clocks, unless the database has another limit.  At most two orders are followed at once
 * (relax.h): 1 GiB in all.
 */
#define ORDER_LIMIT ((size_t)512 << 20)

/*
 * Entries of clocks that are merged: 13 ns each where clocks are large (10 000 threads).  A run of
 * a million calls may merge 1000 at each of them.
 */
#define ORDER_WORK_LIMIT UINT64_C(1000000000)

/* Takes the next call; 0, or -1 after a message. */
int order_step(struct order *order, const struct walk_call *call);

/*
 * How surely the operation of an earlier call was ordered before the operation that the last
 * stepped call submitted.  earlier is order.epoch as it was after that call's step; it stays
 * valid, however many streams have come and gone.
 */
enum order_strength order_before(const struct order *order, struct order_epoch earlier);

/*
 * How far an agent had come that surely lies before that operation, by the clock of the operation
 * and by the agent's set (order_reaches.h).
 */
uint32_t order_reach_clock(const struct order *order, uint32_t key);
uint32_t order_reach_set(const struct order *order, uint32_t set);

/* How surely a thread has observed an operation complete, as of the last stepped call. */
enum order_strength order_known(const struct order *order, int64_t thread,
	struct order_epoch earlier);

/* 1: ORDER_GUARANTEED; and up to which number of an agent that is so. */
int order_knows(const struct order *order, int64_t thread, const struct order_epoch *earlier);
uint32_t order_known_reach(const struct order *order, int64_t thread,
	const struct order_epoch *agent);

/*
 * Likewise for operations within a graph: the node of an earlier launch, and the node of the
 * launch stepped last.  Rows of graph_node, 0: the whole call, or one that is no graph launch.
 */
enum order_strength order_before_node(struct order *order, struct order_epoch earlier,
	int64_t earlier_exec, int64_t earlier_node, int64_t node);

/* 1: events act within an executable graph, so that order_before_node() knows more than
 * order_before(); 0: not, or it was destroyed. */
int order_acts_in_graph(const struct order *order, int64_t exec);

/* Whether an executable graph orders a node of it after another: 1, 0, or -1 after a message. */
int order_path_in_graph(struct order *order, int64_t exec, int64_t from, int64_t to);

/*
 * What ends last of the work of the stream a call names and of the events it waits for; with
 * legacy, of all that an operation submitted to it now would come after.  Its call is unspecified.
 */
struct order_state order_of_stream(const struct order *order, const struct walk_call *call,
	int legacy);

/* 1 if an event was recorded: by a call, a node of a graph, or somebody else. */
int order_event_is_recorded(const struct order *order, int64_t event);

/* The call that recorded it last, 0: none was seen.  sure: nobody may have recorded it besides. */
int64_t order_record_of(const struct order *order, int64_t event, int *sure);

/* What its event stands for; ORDER_NOTHING if it was never recorded. */
struct order_state order_of_event(const struct order *order, const struct walk_call *call);

void order_release(struct order *order);

/* The later of two states, by end. */
struct order_state order_later(struct order_state a, struct order_state b);

#endif
