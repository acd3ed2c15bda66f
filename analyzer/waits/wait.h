/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One wait, from candidate to row of table wait: a call that the device may have blocked, what is
 * known of such calls (waits.c), what blocked it (waits_judge.c), and what that cost
 * (waits_avoidable.c).
 */
#ifndef CUFENCE_WAIT_H
#define CUFENCE_WAIT_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "run_columns.h"
#include "waits_usual.h"

/* A call's operation, or all of them, and where it ran. */
struct wait_operation {
	int64_t call, op;   /* op 0: none */
	int64_t start, end; /* ns */
	int64_t stream, context;
	enum stream_kind kind;
	int device;
};

struct wait {
	int64_t call, process, thread;
	int64_t enter, exit; /* ns */
	enum wait_kind kind;
	int64_t partner; /* as wait.partner */

	/* What is known of the call. */
	int64_t overhead;             /* OVERHEAD intervals within it, ns */
	int64_t key;                  /* of usual durations */
	int64_t expected;             /* from waits.def, ns */
	int64_t bytes;                /* size of a copy */
	int64_t transfer;             /* start of a copy's operation, or WALK_NEVER */
	int64_t transferred;          /* and its end */
	struct wait_operation before; /* work in scope, submitted before the call */
	struct wait_operation own;    /* its own operation, if it waits for that */
	uint8_t works_after;          /* its own work begins when the device is idle ... */
	uint8_t waits_first;          /* ... and it certainly needs an idle device */
	uint8_t waits_never;          /* it certainly does not wait */
	uint8_t waits;                /* it waits for pending work in any case */
	uint8_t holds_others;         /* it blocks calls of other threads while it waits */
	uint8_t may_be_behind;        /* only another thread's call may have blocked it */
	uint8_t is_quick;             /* if so, it takes microseconds by itself */

	/* What blocked it. */
	struct wait_operation by;
	int64_t held_by; /* the other thread's blocked call that it waited for, 0: none */
	int64_t waited;  /* ns beyond the call's usual duration */
	uint32_t number; /* of its row, 0: none */

	/* What it cost. */
	struct wait_operation itself; /* the call's own operations: first start, last end */
	int stretch;
	uint8_t is_async;   /* an Async copy */
	uint8_t is_copy;    /* any synchronous copy or memset */
	uint8_t on_default; /* that in a default stream */
	uint8_t to_host;    /* a synchronous copy to the host */
	int64_t avoidable;  /* ns */
};

/* Zero-initialized is empty. */
struct wait_list {
	struct wait *wait;
	size_t count;
};

/* Adds its row to table wait. */
void wait_add_row(struct wait *wait, struct run_evidence *evidence);

/*
 * The place of a call's operations.  times: also the first start, INT64_MAX if none is known, and
 * the one of them that ended last, op 0 and INT64_MIN if none is known to have ended.
 */
struct wait_operation wait_operation_of(const struct run *run, int64_t call, int times);

/* Would a call (or a wait in the place of a query) have waited for a pending operation? */
enum covered {
	COVERED_NOT,
	COVERED,
	COVERED_IF_ORDERED, /* if the order graph has a path from the call to it */
};
enum covered wait_covered(const struct walk_call *call, const struct wait_operation *pending);

/*
 * Adds a row for each of the waits that were blocked, in this order: by the device, and behind
 * another thread's blocked call.  timings: struct wait_timing by process.
 */
void waits_judge(struct wait_list *list, struct samples *samples, struct id_map *timings,
	struct run_evidence *evidence);

/* Adds the pageable copies that waited only for themselves. */
void waits_add_staged(struct run *run, struct wait_list *list);

/* Returns the time of a pageable Async copy during its own transfer, ns; 0 for other calls. */
int64_t waits_staged_time(const struct run *run, uint32_t call);

/* Sets wait.avoidable of implicit waits.  Returns 0, or -1 after a message. */
int waits_find_avoidable(struct db *db, struct wait_list *list);

#endif
