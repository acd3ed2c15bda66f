/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers about calls that the order does not step: what a wait covers, what a thread has observed
 * without it, and which position of a stream a wait for an event refers to.
 */
#ifndef CUFENCE_ORDER_COVER_H
#define CUFENCE_ORDER_COVER_H

#include "order.h"

/* The work that a wait covers.  Zero: none. */
struct order_cover {
	uint32_t set;              /* for a context: its key, with ORDER_BLOCKING for only its
				    * legacy and blocking streams ... */
	uint32_t seq;              /* ... up to this sequence number */
	struct order_clock *clock; /* for a stream or an event: its clock ... */
	struct order_epoch own;    /* ... and its own position */
};

/*
 * Finds what a host wait, a query or a stream's wait for an event would cover after the last
 * stepped call.  Returns 0, or -1 after a message; call order_cover_release() in both cases.
 */
int order_cover_of(struct order *order, const struct walk_call *call, struct order_cover *cover);
void order_cover_release(struct order_cover *cover);

/* Returns 1 if the wait surely covers the operation. */
int order_cover_has(const struct order_cover *cover, const struct order_epoch *operation);

/* Returns 1 if all later work of the call's stream comes after the operation anyway. */
int order_cover_of_stream_has(const struct order *order, const struct walk_call *call,
	const struct order_epoch *operation);

/*
 * Returns 1 if everything submitted to a stream from now on surely comes after the operation,
 * whatever thread submits it.  Not for work that may overlap its predecessor.
 */
int order_stream_follows(const struct order *order, int64_t stream, int64_t process,
	const struct order_epoch *operation);

/* Returns 1 if every thread that may submit work has surely observed the operation complete. */
int order_is_complete(const struct order *order, int64_t process,
	const struct order_epoch *operation);

/* Returns the position up to which the wait surely covers an agent. */
uint32_t order_cover_reach(const struct order_cover *cover, const struct order_epoch *agent);

/*
 * Returns everything that a thread has observed complete; valid until the next step, not
 * referenced.
 */
struct order_clock *order_clock_of_thread(const struct order *order, int64_t thread);

/*
 * Returns the position of a thread: work it submits later is ordered after that.  Zero: it has not
 * waited.
 */
struct order_epoch order_point_of_thread(const struct order *order, int64_t thread);

/*
 * Adds the content of the cover to what the call's thread has observed complete, without stepping
 * the call: answers about the last stepped call stay valid.  Returns 0, or -1 after a message.
 */
int order_thread_knows(struct order *order, const struct walk_call *call,
	const struct order_cover *cover);

/* Does the same for a wait of the call's thread for a stream. */
int order_thread_waits(struct order *order, const struct walk_call *call, int64_t stream);

/*
 * Adds a position to the call's stream, as for an operation that takes no time: order->epoch.
 * Returns 0, or -1 after a message.
 */
int order_mark(struct order *order, const struct walk_call *call);

#endif
