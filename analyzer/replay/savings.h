/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Savings of a run without some of its findings: the difference between two replays, unchanged and
 * fixed.  A saving is an interval: operations that newly overlap may compete for the device (low)
 * or not (high).  Both ends are widened by the error of the unchanged replay and by the effect of a
 * faster host.
 *
 * There is no estimate if that error is more than SAVINGS_MAX_ERROR_PERCENT, or if a replay would
 * be a guess (replay_refusal()).
 */
#ifndef CUFENCE_SAVINGS_H
#define CUFENCE_SAVINGS_H

#include <stddef.h>

#include "db.h"

/*
 * Changes that a fix makes to the call at fault, as bits.  A replay (replay.h) without a finding
 * runs with its calls changed in these ways.  The saving of a finding without changes is only
 * bounded.
 */
enum change {
	/*
	 * The thread does not wait in the call: it continues after the call's own time, or once the
	 * operation of still_needs is complete.  A synchronous copy or memset becomes an
	 * asynchronous one, in the stream of work that uses the same memory.
	 */
	CHANGE_WAIT = 1 << 0,
	/*
	 * Streams do not wait because of the call unless they use the same memory: legacy work
	 * moves to a stream of its own, and a stream's wait for an event is removed, as are holds
	 * via it.
	 */
	CHANGE_ORDER = 1 << 1,
	/* The call is not made: it submits nothing, or another call does the same work. */
	CHANGE_CALL = 1 << 2,
	/*
	 * Work that its thread submits to other streams before its next wait is submitted before
	 * the work that keeps the call's stream busy.
	 */
	CHANGE_AHEAD = 1 << 3,
	/*
	 * The call is a node of the graph that is launched with the call before it: its operation
	 * remains, but takes no host time.
	 */
	CHANGE_NODE = 1 << 4,
	/*
	 * After the call the thread does not wait outside of CUDA until another thread or a host
	 * function has done its part (handovers.h).
	 */
	CHANGE_OUTSIDE = 1 << 5,
	/*
	 * The pool keeps its memory: the call's time in which it was given back or mapped again
	 * (run_evidence.trimmed) is saved.
	 */
	CHANGE_TRIM = 1 << 6,
	/*
	 * A result is not fetched: neither is its copy to the host made, nor what the thread
	 * records and waits for right after it.
	 */
	CHANGE_FETCH = 1 << 7,
};

/* ns of the run. */
struct saving {
	int64_t best, low, high;
};

/* A call and its changes: bits of enum change. */
struct changed_call {
	int64_t call, still_needs;
	unsigned change;
};

struct replay;
struct run_loop;
struct savings;

/* Returns NULL after a message. */
struct savings *savings_open(struct db *db);
void savings_close(struct savings *savings);

/* Returns the replay of a process, NULL: its savings are not estimated. */
struct replay *savings_of(const struct savings *savings, int64_t process);

/*
 * Likewise, also if its savings are only upper bounds: of a rank, whose collectives last as long as
 * they did.  Alone it cannot be early more often than that, as the others may come no earlier.
 */
struct replay *savings_bound_of(const struct savings *savings, int64_t process);

/* Changes calls for the next estimate. */
void savings_change(struct replay *replay, const struct changed_call *changed, size_t count);

/* Estimates the saving of the changes, and undoes them.  Returns 1, or 0 without an estimate. */
int savings_estimate(struct replay *replay, struct saving *saving);

/*
 * Like savings_estimate(), without the ends of the interval: takes one replay, not four.  That of a
 * line counts apart.
 */
enum savings_search { SEARCH_FINDING, SEARCH_ORDER, SEARCH_LINE };
int savings_estimate_best(struct replay *replay, enum savings_search search, int64_t *best);

/* The most that the loop can save, and for how long its thread is blocked in it then, ns. */
struct ceiling {
	int64_t saving, blocked;
};

/*
 * Estimates it for the changes; with results, all waits for results are left out, too.  Undoes the
 * changes.  Returns as savings_estimate().
 */
int savings_estimate_ceiling(struct replay *replay, int results, const struct run_loop *loop,
	struct ceiling *ceiling);

/*
 * Admits an explicit wait (CHANGE_WAIT) or a stream's wait for an event (CHANGE_ORDER) to those
 * that savings_find_takers() may find.
 */
void savings_admit(struct replay *replay, int64_t call, unsigned change);

/* Returns the least saving that matters, ns: a part of the run. */
int64_t savings_least(const struct replay *replay);

/*
 * Finds calls of other places that would wait as a side effect, or delay the work of streams,
 * instead of the changed ones, so that the change alone saves little: they should be changed too.
 * Returns their number, up to most; 0 also if they would not save much more.  Leaves room for one
 * estimate, and for one of theirs alone.  Undoes the changes.
 */
size_t savings_find_takers(struct replay *replay, struct changed_call *taker, size_t most);

/*
 * A process's findings, what joins them and the order of fixes are searched with at most
 * REPLAYS_MOST replays with changes; single lines come on top of it.  Together they have ROOM_STEPS
 * steps, of which the order, smaller sets and lines begin in the first SPARE_STEPS.  These limits
 * are of steps, not of time, so that each machine gives the same savings.  REPLAYS_KEPT replays are
 * for all findings together and for the ceiling of the loop.
 *
 * Returns whether so many more replays fit; if not, the search was cut.
 */
int savings_has_room(struct replay *replay, enum savings_search search, size_t replays);

/* What estimates take at most. */
enum { REPLAYS_OF_BEST = 1, REPLAYS_OF_ESTIMATE = 4, REPLAYS_KEPT = REPLAYS_OF_ESTIMATE + 2 };

/* What findings say of a process in table replay, ns; DB_NULL and NAN: nothing. */
struct replay_row {
	int64_t saving, low, high, turn_saving; /* of all shown findings together */
	double share;
	int64_t ceiling[2], blocked[2]; /* per turn; [1]: if no value is read, either */
	int has_findings;               /* its replays are counted */
};

/* Returns that of a process, NULL: it made no call. */
struct replay_row *savings_row(const struct savings *savings, int64_t process);

/* Fills table replay.  Returns 0, or -1 after a message. */
int savings_store(struct savings *savings);

/* --- the length of a process's run, for shares of it, and bounds of what can be saved --- */

/*
 * In ns.  No fix changes that operations of the busiest stream follow each other (in a legacy
 * stream: those of one thread).  Only the rest of the time with pending work can be saved, and only
 * the rest of the device's busy time can overlap.
 */
struct run_length {
	int64_t whole;  /* first submission to last end; at least 1 */
	int64_t idle;   /* first operation to last, minus the busiest stream */
	int64_t serial; /* device busy, minus the busiest stream */
};

/* Measures what was recorded, before unknown_since().  Returns 0, or -1 after a message. */
int run_length(struct db *db, int64_t process, struct run_length *length);

#endif
