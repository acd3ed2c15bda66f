/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to an order about calls that it does not step: what a wait covers, what a thread has
 * observed without it, and which point of a stream's life a wait for an event refers to.
 */
#ifndef CUFENCE_ORDER_COVER_H
#define CUFENCE_ORDER_COVER_H

#include "order.h"

/* What a wait is for.  Zero: nothing. */
struct order_cover {
	uint32_t set;              /* of a context: its key, with ORDER_BLOCKING for its legacy and
				    * blocking streams alone ... */
	uint32_t seq;              /* ... up to this number */
	struct order_clock *clock; /* of a stream or an event: all that this is after ... */
	struct order_epoch own;    /* ... and how far it had come */
};

/* What a host wait, a query or a stream's wait for an event would be for after the last stepped
 * call; 0, or -1 after a message.  order_cover_release() in both cases. */
int order_cover_of(struct order *order, const struct walk_call *call, struct order_cover *cover);
void order_cover_release(struct order_cover *cover);

/* 1: the wait is surely for the operation, among others. */
int order_cover_has(const struct order_cover *cover, const struct order_epoch *operation);

/* 1: all later work of the call's stream comes after the operation, whatever else it waits for. */
int order_cover_of_stream_has(const struct order *order, const struct walk_call *call,
	const struct order_epoch *operation);

/* Up to which number of an agent that is so. */
uint32_t order_cover_reach(const struct order_cover *cover, const struct order_epoch *agent);

/* All that a thread has observed complete; valid until the next step, without a reference. */
struct order_clock *order_clock_of_thread(const struct order *order, int64_t thread);

/* How far a thread has come: what it submits from then on is after that point.  Zero: it has not
 * waited. */
struct order_epoch order_point_of_thread(const struct order *order, int64_t thread);

/*
 * The call's thread has observed complete what the cover contains, without a step of the call:
 * answers about the last stepped one stay valid.  0, or -1 after a message.
 */
int order_thread_knows(struct order *order, const struct walk_call *call,
	const struct order_cover *cover);

/* The call's thread has waited for a stream; likewise. */
int order_thread_waits(struct order *order, const struct walk_call *call, int64_t stream);

/* A point in the life of the call's stream, as if an operation that takes no time came there:
 * order->epoch.  Likewise. */
int order_mark(struct order *order, const struct walk_call *call);

#endif
