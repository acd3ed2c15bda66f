/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the device blocked a call, and by which operation. */
#ifndef CUFENCE_WAITS_JUDGE_H
#define CUFENCE_WAITS_JUDGE_H

#include <stdint.h>

#include "wait.h"
#include "waits_usual.h"

/* Clock error and wake-up time of a process, measured by its explicit waits. */
struct wait_timing {
	struct sample latency;
	int64_t clock_error;  /* ns */
	int blocking;         /* cudaDeviceScheduleBlockingSync is set in one of its contexts */
	int64_t wake_up;      /* ns that a thread may wake up late, once settled */
	int64_t usually_late; /* the part of wake_up that any wait has, ns */
	int64_t error;        /* maximum difference of the clocks, ns */
	int settled;
};

/*
 * Adds an explicit wait that returned latency ns after the operation that it waited for.  Returns
 * 0, or -1 when out of memory.
 */
int wait_timing_add(struct wait_timing *timing, int64_t latency);

/* Call it when all waits are added, and before anything is judged. */
void wait_timing_settle(struct wait_timing *timing);

/* Returns whether a wait, ns, is noise: shorter than least, or within the error of the clocks. */
int wait_is_short(const struct wait_timing *timing, int64_t waited, int64_t least);

/* Usual durations of such a call, ns. */
struct wait_usual {
	int64_t alone;      /* without anything to wait for */
	int64_t with_own;   /* when it waits only for its own operation, 0: no such call */
	int64_t afterwards; /* of its work after the wait, if it waits first */
};

/* Returns what blocked the call, ORDER_NOTHING if nothing did, and the time in *waited, ns. */
struct order_state wait_judge(const struct wait *wait, const struct wait_timing *timing,
	const struct wait_usual *usual, int64_t *waited);

#endif
