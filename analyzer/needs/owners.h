/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the threads that use the results of a stream.
 *
 * A thread owns its results in a stream if it waits for each one before it submits the next:
 * other threads that wait for the device need not wait for these.  If another thread
 * submits results to the stream too, or one is submitted before the thread has observed the last
 * one complete, any thread may use them.
 */
#ifndef CUFENCE_OWNERS_H
#define CUFENCE_OWNERS_H

#include "id_map.h"
#include "orders_without_waits.h"

struct owned_stream {
	int64_t thread;            /* of the last result, 0: none yet */
	struct order_epoch result; /* in orders.full */
	int64_t served;            /* results that their thread waited for */
	int shared;                /* any thread may use them */
};

struct owners {
	struct id_map streams;
};

/* Processes the call that orders_all() has just processed. */
void owners_note(struct owners *owners, const struct orders *orders, const struct walk_call *call);

/* Do the results of the stream belong to another thread? */
int owners_is_others(const struct owners *owners, int64_t stream, int64_t thread);

void owners_release(struct owners *owners);

#endif
