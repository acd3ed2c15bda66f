/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the device blocked, kept to find calls which waited because another thread was in one
 * of them: that thread holds a lock of the driver all the while.  Measured on an H200: while a
 * thread is in cudaFree or in a pageable copy to the host, other threads' launches are blocked;
 * while it is in an explicit wait they are not.
 */
#ifndef CUFENCE_WAITS_BEHIND_H
#define CUFENCE_WAITS_BEHIND_H

#include <stddef.h>
#include <stdint.h>

struct held_call {
	int64_t call, process, thread;
	int64_t enter, exit; /* ns */
	int64_t op;          /* what it waited for */
};

/* Zero-initialized is empty. */
struct held_calls {
	struct held_call *held;
	size_t count;
	int sorted;
};

/* 0, or -1 after a message. */
int held_calls_add(struct held_calls *calls, const struct held_call *call);

/*
 * The blocked call of another thread just after which call returned, at most latency ns later (or
 * error ns sooner), if call overlapped it and earlier such calls for nearly all of its time: the
 * lock is not given in turn.  The op of call is not used.  NULL: none.
 */
const struct held_call *held_calls_before(struct held_calls *calls, const struct held_call *call,
	int64_t latency, int64_t error);

void held_calls_release(struct held_calls *calls);

#endif
