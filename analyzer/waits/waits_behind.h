/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the device blocked.  They are kept to find calls of other threads that waited because
 * a blocked call holds a lock of the driver.  Measured on an H200: while a thread is in cudaFree or
 * in a pageable copy to the host, other threads' launches are blocked; while it is in an explicit
 * wait they are not.
 */
#ifndef CUFENCE_WAITS_BEHIND_H
#define CUFENCE_WAITS_BEHIND_H

#include <stddef.h>
#include <stdint.h>

#include "wait.h"

/* Zero-initialized is empty. */
struct held_calls {
	const struct wait **held; /* the caller's */
	size_t count;
	int sorted;
};

/* Returns 0, or -1 after a message. */
int held_calls_add(struct held_calls *calls, const struct wait *call);

/*
 * Returns the blocked call of another thread that returned at most latency ns before call (or error
 * ns after), if call overlapped it and earlier such calls for nearly all of its time: the lock is
 * not granted in turn.  Returns NULL if there is none.
 */
const struct wait *held_calls_before(struct held_calls *calls, const struct wait *call,
	int64_t latency, int64_t error);

void held_calls_release(struct held_calls *calls);

#endif
