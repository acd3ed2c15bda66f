/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fences that a program has, as far as they explain why one of them orders nothing: which
 * record each wait of a stream for an event saw.  An event stands for what was submitted before
 * its last record; a wait for one that was never recorded does nothing (CUDA runtime API, event
 * management).
 */
#ifndef CUFENCE_FENCES_H
#define CUFENCE_FENCES_H

#include "history.h"
#include "idmap.h"
#include "walk.h"

/* Waits of all streams that are remembered. */
#define FENCES_RECENT 16

struct recent_wait {
	int64_t call, stream, record, recorded_in; /* record: the call, 0: none was seen */
};

struct fences {
	struct idmap events, streams;             /* struct recorded, struct waited */
	struct idmap contexts;                    /* struct host_waits */
	struct recent_wait recent[FENCES_RECENT]; /* a ring */
	unsigned waits;
};

/*
 * A record of an event, a wait of a stream or of the host; others do nothing.  Captured calls have
 * a struct fences of their own.  order has stepped the call.  0, or -1 after a message.
 */
int fences_see(struct fences *fences, const struct order *order, const struct walk_call *call);

/*
 * Why the last waits of later's stream do not order the two operations: "unrecorded-event",
 * "early-record", "stale-event"; "wrong-stream": the stream that recorded an event waits for it
 * itself; NULL: there is none that was meant to, as far as it shows.
 */
const char *fences_explain(const struct fences *fences, const struct operation_point *earlier,
	const struct operation_point *later);

/* Likewise of operations that were captured, once the capture has ended: "late-fence" too. */
const char *fences_explain_captured(const struct fences *fences,
	const struct operation_point *earlier, const struct operation_point *later);

/*
 * The last wait by a third stream for an event that was recorded after earlier and that later's
 * stream ought to have waited for; NULL: there is none.
 */
const struct recent_wait *fences_find_third(const struct fences *fences,
	const struct operation_point *earlier, const struct operation_point *later);

/*
 * 1 if the last wait of later's stream is for an event recorded after earlier and before later was
 * submitted: it would have ordered them and comes too late.
 */
int fences_is_late(const struct fences *fences, const struct walk_call *wait,
	const struct operation_point *earlier, const struct operation_point *later);

void fences_release(struct fences *fences);

#endif
