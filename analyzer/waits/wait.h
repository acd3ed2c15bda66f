/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One wait, from candidate to row of table wait: a call that the device may have blocked, what is
 * known of such calls, what blocked it (waits_judge.h), and what the thread and the device did next
 * (waits_segment.h).
 */
#ifndef CUFENCE_WAIT_H
#define CUFENCE_WAIT_H

#include <stddef.h>
#include <stdint.h>

#include "order.h"
#include "run_evidence.h"
#include "spans.h"
#include "stream_kind.h"

/* Maximum length of a row: consecutive copies that are one mistake. */
#define SEGMENT_ROW 8

/* The time between a wait and the next one that covers its operation. */
struct segment {
	struct spans spans;
	int64_t until;            /* entry of the next one, or return of the thread's last call */
	int64_t last_end;         /* last end of an operation */
	int64_t elsewhere, apart; /* sums, ns */
	int submits, after, legacy;
	int64_t row[SEGMENT_ROW];
	size_t row_count;
	size_t async_count; /* Async copies of the row, which keep their order */
};

/* An operation, and where it ran. */
struct wait_operation {
	int64_t call, start, end; /* ns; end INT64_MIN: none */
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
	int64_t overhead;          /* OVERHEAD intervals within it, ns */
	int64_t key;               /* of usual durations */
	int64_t expected;          /* from waits.def, ns */
	int64_t bytes;             /* size of a copy */
	int64_t transfer;          /* start of a copy's operation, or WALK_NEVER */
	int64_t transferred;       /* and its end */
	struct order_state before; /* work in scope, submitted before the call */
	struct order_state own;    /* its own operation, if it waits for that */
	uint8_t works_after;       /* its own work begins when the device is idle ... */
	uint8_t waits_first;       /* ... and it certainly needs an idle device */
	uint8_t waits_never;       /* it certainly does not wait */
	uint8_t waits;             /* it waits for pending work in any case */
	uint8_t holds_others;      /* it blocks calls of other threads while it waits */
	uint8_t may_be_behind;     /* only another thread's call may have blocked it */
	uint8_t is_quick;          /* if so, it takes microseconds by itself */

	/* What blocked it. */
	struct order_state by;
	int64_t waited;  /* ns beyond the call's usual duration */
	uint32_t number; /* of its row, 0: none */

	/* What it cost. */
	struct wait_operation behind; /* the operation that blocked it */
	struct wait_operation itself; /* the call's own */
	struct segment *next;
	int stretch;
	uint8_t is_async;     /* an Async copy */
	uint8_t is_copy;      /* any synchronous copy or memset */
	uint8_t on_default;   /* that in a default stream */
	uint8_t to_host;      /* a synchronous copy to the host */
	uint8_t leaves;       /* its fix moves this Async copy out of the legacy default stream */
	uint8_t past_results; /* copies like `result` are fixed, too */
	int64_t result;       /* a copy to the host that closed the segment and would have waited
			       * in its place, 0: none */
};

/* Zero-initialized is empty. */
struct wait_list {
	struct wait *wait;
	size_t count;
};

/* Returns 0, or -1 after a message. */
int wait_list_add(struct wait_list *list, const struct wait *wait);

/*
 * Adds its row to table wait.  held: the blocked call of another thread that it was blocked behind,
 * NULL: none.  Returns 0, or -1 after a message.
 */
int wait_add_row(struct wait *wait, struct run_evidence *evidence, const struct wait *held);

#endif
