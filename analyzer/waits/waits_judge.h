/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the device blocked a call, and by which operation. */
#ifndef CUFENCE_WAITS_JUDGE_H
#define CUFENCE_WAITS_JUDGE_H

#include <stdint.h>

#include "order.h"
#include "run_evidence.h"
#include "waits_usual.h"

/* A call that lasted and had something pending: decided when the run has been seen. */
struct wait_candidate {
	int64_t call, process, thread, key;
	int64_t partner; /* wait.partner */
	int64_t enter, exit, overhead;
	int64_t expected;          /* waits.def */
	int64_t transfer;          /* of a copy: its operation began, else WALK_NEVER */
	int64_t transferred;       /* and ended */
	int64_t bytes;             /* of a copy */
	struct order_state before; /* in scope, submitted before it */
	struct order_state own;    /* its own operation, if it waits for that */
	enum wait_kind kind;
	int explicit_wait;
	int works_after;   /* its own work begins when the device is idle */
	int waits_first;   /* and it is certain that it needs that */
	int waits_never;   /* it is certain that it does not */
	int waits;         /* for what is pending, in any case */
	int holds_others;  /* while it waits, calls of other threads */
	int may_be_behind; /* if anything, another thread's call blocked it */
	int is_quick;      /* if so: it takes microseconds by itself */
};

/* What the explicit waits of a process say about its clocks and its scheduler. */
struct wait_timing {
	struct sample latency;
	int64_t clock_error;  /* ns */
	int blocking;         /* cudaDeviceScheduleBlockingSync, in one of its contexts */
	int64_t wake_up;      /* ns that a thread may be woken up late, once settled */
	int64_t usually_late; /* ns of that which are part of any wait */
	int64_t error;        /* ns that the clocks may differ by */
	int settled;
};

/* An explicit wait returned so many ns after what it waited for; 0, or -1 when out of memory. */
int wait_timing_add(struct wait_timing *timing, int64_t latency);

/* When all are known, and before anything is judged. */
void wait_timing_settle(struct wait_timing *timing);

/* Returns whether a wait, ns, is noise: shorter than least, or within the error of the clocks. */
int wait_is_short(const struct wait_timing *timing, int64_t waited, int64_t least);

/* What such a call takes, ns. */
struct wait_usual {
	int64_t alone;      /* if it waits for nothing */
	int64_t with_own;   /* for its own operation only, 0: no call showed it */
	int64_t afterwards; /* after its wait, if it waits first */
};

/* What blocked the call, ORDER_NOTHING if nothing did, and for how many ns. */
struct order_state wait_judge(const struct wait_candidate *candidate,
	const struct wait_timing *timing, const struct wait_usual *usual, int64_t *waited);

#endif
