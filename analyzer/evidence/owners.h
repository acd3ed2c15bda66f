/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which threads use the results of a stream.
 *
 * A thread owns its results in a stream if it waits for each of them before it asks for the next
 * one there: another thread that waits for the device need not wait for these. If another thread
 * submits results to the stream too, or one is submitted before the thread has observed the last
 * one complete, any thread may use them.
 */
#ifndef CUFENCE_OWNERS_H
#define CUFENCE_OWNERS_H

#include "idmap.h"
#include "relax.h"

struct owned_stream {
	int64_t thread;            /* of the last result, 0: none yet */
	struct order_epoch result; /* in relax.full */
	int64_t served;            /* results that their thread waited for */
	int shared;                /* anybody may look at them */
};

struct owners {
	struct idmap streams;
};

/* The call that relax_all() has just seen; 0, or -1 after a message. */
int owners_note(struct owners *owners, const struct relax *relax, const struct walk_call *call);

/* The results of the stream are another thread's. */
int owners_is_others(const struct owners *owners, int64_t stream, int64_t thread);

void owners_release(struct owners *owners);

#endif
