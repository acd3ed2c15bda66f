/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains why a fence in the program does not order two operations: keeps the record that each
 * event wait of a stream used.  An event covers what was submitted before its last record; a wait
 * for an event that was never recorded does nothing (CUDA runtime API, event management).
 */
#ifndef CUFENCE_FENCES_H
#define CUFENCE_FENCES_H

#include "history.h"
#include "id_map.h"
#include "mistakes.h"
#include "run_columns.h"
#include "walk.h"

/* Event waits and event records that are kept, of all streams. */
#define FENCES_RECENT 16

struct recent_wait {
	int64_t call, stream, record, recorded_in; /* record: its call, 0: none */
};

/* Why nothing orders two operations, and the calls of a fence without effect. */
struct fence {
	enum mistake_id why;
	int64_t wait, record; /* the event wait and the event record; 0: none */
};

struct recent_record {
	int64_t call, stream, event;
};

struct fences {
	struct id_map events, streams;            /* struct recorded, struct waited */
	struct id_map contexts;                   /* struct host_waits */
	struct recent_wait recent[FENCES_RECENT]; /* a ring */
	unsigned waits;
	struct recent_record recorded[FENCES_RECENT]; /* a ring */
	unsigned records;
};

/*
 * Adds an event record, an event wait or a host wait; ignores other calls.  Captured calls have a
 * struct fences of their own.  Must follow order_step().  Returns 0, or -1 after a message.
 */
int fences_process_call(struct fences *fences, const struct order *order,
	const struct walk_call *call);

/*
 * Returns why the last event waits of later's stream do not order the two operations:
 * MISTAKE_unrecorded_event, _early_wait (the event is recorded after the wait, where it would order
 * them), _early_record, _stale_event or _wrong_stream (the event wait is in the stream that
 * recorded the event).  MISTAKE_none: no wait looks meant to order them.
 */
struct fence fences_explain(const struct fences *fences, const struct operation_point *earlier,
	const struct operation_point *later);

/* The same for captured operations, after the capture; may return MISTAKE_late_fence, too. */
struct fence fences_explain_captured(const struct fences *fences,
	const struct operation_point *earlier, const struct operation_point *later);

/* Returns 1 if the stream has waited for an event, whatever it was recorded after. */
int fences_have_wait(const struct fences *fences, int64_t stream);

/*
 * Returns the last wait in a third stream for an event recorded after earlier, where later's stream
 * should have waited.  NULL: none.
 */
const struct recent_wait *fences_find_third(const struct fences *fences,
	const struct operation_point *earlier, const struct operation_point *later);

/*
 * Returns MISTAKE_unused_event if between the two operations an event is recorded in earlier's
 * stream, and no other call has used it so far.
 */
struct fence fences_find_unused(const struct fences *fences, const struct operation_point *earlier,
	const struct operation_point *later);

/* Removes that explanation if a call has used the event after all; at the end of the run. */
void fences_settle(const struct fences *fences, const struct run *run, struct fence *fence);

/*
 * Returns the record that a wait in later's stream uses, if it comes after earlier and before later
 * was submitted: a wait before later would have ordered them.  0: none.
 */
int64_t fences_find_late(const struct fences *fences, const struct walk_call *wait,
	const struct operation_point *earlier, const struct operation_point *later);

void fences_release(struct fences *fences);

#endif
