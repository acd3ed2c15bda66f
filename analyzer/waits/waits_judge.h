/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the device blocked a call, and by which operation. */
#ifndef CUFENCE_WAITS_JUDGE_H
#define CUFENCE_WAITS_JUDGE_H

#include <stdint.h>

#include "order.h"
#include "run_evidence.h"
#include "waits_usual.h"

/* A call that took long while work was pending; decided at the end of the run. */
struct wait_candidate {
	int64_t call, process, thread, key;
	int64_t partner; /* as wait.partner */
	int64_t enter, exit, overhead;
	int64_t expected;          /* from waits.def */
	int64_t transfer;          /* start of a copy's operation, or WALK_NEVER */
	int64_t transferred;       /* and its end */
	int64_t bytes;             /* size of a copy */
	struct order_state before; /* work in scope, submitted before the call */
	struct order_state own;    /* its own operation, if it waits for that */
	enum wait_kind kind;
	int explicit_wait;
	int works_after;   /* its own work begins when the device is idle ... */
	int waits_first;   /* ... and it certainly needs an idle device */
	int waits_never;   /* it certainly does not wait */
	int waits;         /* it waits for pending work in any case */
	int holds_others;  /* it blocks calls of other threads while it waits */
	int may_be_behind; /* only another thread's call may have blocked it */
	int is_quick;      /* if so, it takes microseconds by itself */
};

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
struct order_state wait_judge(const struct wait_candidate *candidate,
	const struct wait_timing *timing, const struct wait_usual *usual, int64_t *waited);

#endif
