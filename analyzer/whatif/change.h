/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a fix changes the call at fault: bits.  A replay (replay.h) without a finding runs with its
 * calls changed so.  The saving of a finding without changes is only bounded.
 */
#ifndef CUFENCE_CHANGE_H
#define CUFENCE_CHANGE_H

enum change {
	/* The thread does not wait in it: it goes on after what the call takes otherwise, or once
	 * the operation of still_needs is complete.  A synchronous copy or memset becomes an
	 * asynchronous one, in the stream of what it shares memory with. */
	CHANGE_WAIT = 1 << 0,
	/* Streams do not wait because of it, where they share no memory with it: legacy work is in
	 * a stream of its own, a stream's wait for an event is gone, so are holds via it. */
	CHANGE_ORDER = 1 << 1,
	/* It is not made; for calls that submit nothing. */
	CHANGE_CALL = 1 << 2,
	/* Work that its thread gives to other streams, until it waits next, is submitted before
	 * what keeps the call's stream busy. */
	CHANGE_AHEAD = 1 << 3,
	/* It is a node of the graph that is launched with the call before it: its operation stays,
	 * and the host has nothing to do for it. */
	CHANGE_NODE = 1 << 4,
};

#endif
