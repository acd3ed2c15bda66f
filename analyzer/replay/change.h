/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes that a fix makes to the call at fault, as bits.  A replay (replay.h) without a finding
 * runs with its calls changed in these ways.  The saving of a finding without changes is only
 * bounded.
 */
#ifndef CUFENCE_CHANGE_H
#define CUFENCE_CHANGE_H

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
};

#endif
