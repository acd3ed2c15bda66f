/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ordering rules of CUDA, applied to the calls of a run in order of entry: which operation
 * is ordered after which, and why.
 *
 * The order is kept as a graph whose nodes are driver calls.  A call that submits an operation is
 * a node; so is one at which several orders meet: a host wait, an event record or a stream wait
 * that joins more than one earlier node.  Every stream, event and thread holds one node ("ordered
 * after all of that") instead of a clock per stream, and a legacy stream takes in the blocking
 * streams that changed since its last operation only, so that edges and time grow with the
 * calls, not with calls times streams.  Only what is alive is kept.
 *
 * One thread; one struct order per database, for all of its processes.
 */
#ifndef CUFENCE_ORDER_H
#define CUFENCE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "idmap.h"
#include "walk.h"

/* Why a call is ordered after another. */
enum order_reason {
	ORDER_STREAM,  /* same stream */
	ORDER_EVENT,   /* a stream wait for an event recorded after it */
	ORDER_LEGACY,  /* the legacy default stream and the blocking streams of its context */
	ORDER_WAIT,    /* a host wait after what it waited for */
	ORDER_HOST,    /* submitted after a host wait of the same thread had returned */
	ORDER_REASONS
};
extern const char *const order_reason_names[ORDER_REASONS];

/* What an agent is ordered after. */
struct order_state {
	int64_t call;  /* the node, 0: nothing */
	int64_t op;    /* of the operations up to it the one that ended last, 0: none known */
	int64_t end;   /* when, ns; INT64_MIN without one */
};
#define ORDER_NOTHING ((struct order_state){ .end = INT64_MIN })

struct order {
	/* Receives each direct edge once, by later call in order of entry; -1 stops. */
	int (*edge)(void *arg, int64_t call, int64_t needs, enum order_reason reason);
	void *arg;
	struct idmap streams, events, contexts, threads;
	/* The last stepped call: by reason, what it is ordered after that ended last. */
	struct order_state needs[ORDER_REASONS];
	int node;      /* the last stepped call became a node of the graph */
};

/* Takes the next call; 0, or -1 after a message. */
int order_step(struct order *order, const struct walk_call *call);

/*
 * What ends last of the work of the stream a call names and of the events it waits for; with
 * legacy, of all that an operation submitted to it now would come after.  Its call is unspecified.
 */
struct order_state order_of_stream(const struct order *order, const struct walk_call *call,
	int legacy);

/* What its event stands for; ORDER_NOTHING if it was never recorded. */
struct order_state order_of_event(const struct order *order, const struct walk_call *call);

void order_release(struct order *order);

/* The later of two states, by end. */
struct order_state order_later(struct order_state a, struct order_state b);

/* Towards the legacy stream, a blocking stream: its work and legacy work exclude each other. */
static inline int stream_is_blocking(enum stream_kind kind)
{
	return kind == STREAM_KIND_BLOCKING || kind == STREAM_KIND_THREAD;
}

#endif
