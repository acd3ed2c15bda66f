/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls outside CUDA (HOST rows of calls.def).  They are recorded only in a process that already
 * uses CUDA, and not when CUDA's libraries make them.
 */
#ifndef CUFENCE_HOST_H
#define CUFENCE_HOST_H

#include "shim.h"

/*
 * As frame_begin(), but does not start recording or query the context: the driver starts threads
 * while it holds locks that the query would need.
 */
static inline int host_begin(struct call_frame *frame, enum call_id id, void *frame_address)
{
	return shim.stage == SHIM_ON && *shim.alive &&
		!thread_depth(thread_state(), FRAME_HOST, frame_address) &&
		frame_begin(frame, id, FRAME_HOST, frame_address, 0);
}

#endif
