/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface between the parts of needs.h, private to needs*.c: needs.c walks over the run,
 * needs_host.c handles waits of the host, needs_events.c those of streams for events.
 */
#ifndef CUFENCE_NEEDS_INTERNAL_H
#define CUFENCE_NEEDS_INTERNAL_H

#include "needs.h"
#include "order_reaches.h"
#include "recent_accesses.h"

/*
 * Each pair of operations that shares memory and loses its order is reported.  Shared memory is
 * decided by allocation, for copies and for launch words, unless all accesses of
 * both are known and neither writes what the other uses (conflict.h).  An operation with unknown
 * memory (a graph made before the trace) shares memory with all others.  For each stream and
 * allocation the last RECENT_DEPTH operations are kept; if an older one with other accesses may
  * matter, that is reported, too.
 */
/* The order without some waits. */
struct orders_loose {
	int is_followed;
	struct order order;
	struct order_reaches reaches; /* of the current call */
};

/* An operation that was reported together with the current one. */
struct orders_reported {
	uint64_t step;
	int64_t call;
	unsigned without;
};

/* A key that the current call touches. */
struct orders_key {
	int64_t id;
	unsigned after_all; /* as for recent_note() */
};

#define ORDERS_REPORTED 1024

/* What the parts of a walk (walk.h) share, found before it and then only read. */
struct needs_known {
	const struct run *run;
	struct map timed; /* events whose elapsed times are read */
	struct map sites; /* sites of the event waits that are removed */
	struct host_view view;
	uint32_t *user;   /* memory -> 1 + the only stream that uses it; 0: none */
	int has_host;     /* some waits of the host take time enough for a finding */
	int has_events;   /* some waits for events delayed work of their stream */
	int reaches;      /* some kernel accesses memory that it was not given */
	int graphs_known; /* graphs work on the device only, on memory that they name */
};

/*
 * The walk of a part.  needs.c passes on its calls: by orders_all(), or for a removed wait by
 * orders_without() and additional order for that one (order_cover.h).
 */
struct orders {
	const struct needs_known *known;
	const struct run *run;
	struct order full;
	struct order_reaches full_reaches;
	struct orders_loose loose[WITHOUT_COUNT];
	struct orders_reported reported[ORDERS_REPORTED]; /* by call */
	struct recent_accesses memory;   /* by memory; see orders_without_waits.c */
	struct recent_accesses shown;    /* by process and certainty */
	struct recent_accesses unproven; /* by process: operations with is_unproven */
	struct recent_accesses work;     /* by stream */
	struct run_cursor operands, freed, launches;
	struct orders_key *key; /* keys of the current call that other streams touch, too */
	size_t key_count, key_room;
	int names_memory; /* the current call names memory */
	struct access_reader *reader;
	enum host_view_shown shows; /* of the last call that submitted */
	int is_unproven;            /* not all accesses of it are known from calls or PTX */
	/* struct needs_kept, of the host by thread, of events by stream. */
	struct id_map kept[WITHOUT_COUNT];
	/* Waits of the host. */
	struct needs found;     /* of the part; members host and processes are filled in */
	struct id_map threads;  /* struct waiter */
	struct live_wait *live; /* a ring of LIVE_WAITS, by number */
	struct id_map awaited;  /* struct awaited_result, by stream */
	/* All waits up to this number that were made since this call may be needed. */
	size_t unknown_until;
	uint32_t unknown_since;
	struct run_fence *fence; /* pairs of the part's waits */
	size_t fence_count;
	/* Waits of streams for events. */
	const struct id_map *waits; /* needs.events: a part changes its own ones */
	struct id_map open;         /* stream -> struct open_waits */
};

/* Finds what orders share of a run.  Returns 0, or -1 after a message; release() in both cases. */
int orders_known_find(struct needs_known *known, struct db *db);
void orders_known_release(struct needs_known *known);

/*
 * Used while the run is analyzed, by the thread that walks this part, after orders_known_find().
 * Returns 0, or -1 after a message; orders_release() in both cases.
 */
int orders_init(struct orders *orders, const struct needs_known *known, const struct id_map *events,
	struct db *db, const struct walk_part *part);
void orders_release(struct orders *orders);

/*
 * Returns the call at which the order was given up (order.h), 0: none.  From there on no pair is
 * reported: a pair without a conflict so far may still need its order.
 */
int64_t orders_given_up(const struct orders *orders);

/* Processes the next call in all orders, and reports pairs that lose their order. */
int orders_all(struct orders *orders, const struct walk_call *call);

/* Processes the next call, which submits no operation, in all orders but one. */
int orders_without(struct orders *orders, enum without without, const struct walk_call *call);

/*
 * For the last call of orders_all(), also during reports: return 1 if an epoch of the full order is
 * surely before its operation, and if it is so without these waits.
 */
static inline int orders_is_before(struct orders *orders, const struct order_epoch *epoch)
{
	return order_reaches(&orders->full_reaches, &orders->full, epoch);
}

static inline int orders_is_before_without(struct orders *orders, enum without without,
	const struct touch *touch)
{
	struct orders_loose *loose = &orders->loose[without];

	return order_reaches(&loose->reaches, &loose->order, &touch->loose[without]);
}

/*
 * Returns the operations of a process with results that the host accesses, or may access; NULL:
 * none.
 */
const struct recent_thing *orders_shown_of(const struct orders *orders, int64_t process,
	enum host_view_shown shown);

/* Returns the operation that a call submitted if it is among the last of its stream, else NULL. */
const struct touch *orders_find(const struct orders *orders, int64_t stream, int64_t call);

/* Returns 1 for a copy to the host. */
static inline int orders_fetches(const struct walk_call *call)
{
	return call_is_copy(call->kind) && !call->result && call->direction == COPY_D2H;
}

/* --- both --- */

/*
 * Operations of a stream up to a call, which are ordered before all work after a point in
 * orders.full by a wait that is needed anyway.  By stream and by the submitter of that work.
 */
struct needs_kept {
	int64_t call;
	struct order_epoch point;
	size_t wait; /* number of that wait, of the host; 0: not known which, or a stream's */
};

void needs_keep(struct id_map *kept, int64_t who, const struct touch *earlier,
	struct order_epoch point, size_t wait);

/*
 * Returns the point that the later operation of the reported pair, submitted by who, is after;
 * NULL: none.
 */
const struct needs_kept *needs_kept_by(const struct id_map *kept, struct orders *orders,
	int64_t who, const struct touch *earlier);

/* --- waits of the host --- */

/*
 * Number of recent waits that a missing order can be attributed to; otherwise all since the earlier
 * operation may be it.
 */
#define LIVE_WAITS 4096

/* The purpose of a wait, as long as missing orders can be attributed to it. */
struct live_wait {
	size_t number;            /* in orders.found.host, from 1 */
	struct order_cover cover; /* without the results of other waits */
	struct order_epoch point; /* of its thread, in orders.full */
	struct touch behind;      /* call 0: not kept */
	/* The pairs that it keeps in order, numbers in orders.fence. */
	size_t fence[NEEDS_BESIDE], fences;
};

/*
 * Sets known->has_host, unless all waits together take too little time for a finding about them,
 * which saves as much time as the rest of the analysis takes.
 */
void needs_host_known(struct needs_known *known);

void needs_host_close(struct orders *orders);

/*
 * Processes a call, in all orders but that without waits of the host if it is one that could be
 * removed.  Returns 0, or -1 after a message.
 */
int needs_host_call(struct orders *orders, const struct walk_call *call);

/* Notes that a wait, by number, keeps a pair in order: needs_fences.c. */
void needs_note_fence(struct orders *orders, size_t number, const struct walk_call *later,
	const struct touch *earlier);

/* earlier NULL: any operation. */
void needs_host_lost_pair(struct orders *orders, const struct walk_call *later,
	const struct touch *earlier);
void needs_host_finish(struct orders *orders);

/* --- results that several waits are for: needs_again.c --- */

/* Is it the work of another thread than the call's, which goes on with a wait for it? */
int needs_again_left(const struct orders *orders, const struct walk_call *call,
	const struct touch *result);

/* The wait is the first one of its thread for a result; it gets the next number. */
void needs_again_first(struct orders *orders, struct host_wait *wait, const struct touch *result);

/* Nobody else waits for what the wait completes. */
void needs_again_once(struct host_wait *wait, const struct touch *result);

/*
 * Finds complete results that the wait covers, which others waited for before it.  Waits of its own
 * thread from number row on are in one row with it (end_row()).
 */
void needs_again_later(struct orders *orders, const struct walk_call *call, struct host_wait *wait,
	const struct order_cover *cover, size_t row);

/* Settles what waits are needed for. */
void needs_again_finish(struct orders *orders);

/* --- waits of streams for events --- */

/* Finds waits that delayed work of their stream: needs.events, by call; sets known->has_events. */
void needs_events_known(struct needs_known *known, struct id_map *waits);

/* Closes a part; afterwards needs_events_settle() is for the waits of all parts. */
void needs_events_settle(const struct id_map *waits);
void needs_events_close(struct orders *orders);

/* Processes a wait for an event at one of the sites.  Returns 0, or -1 after a message. */
int needs_events_wait(struct orders *orders, const struct walk_call *call);

/* Processes any other call after orders_all(): the host may observe waits complete by it. */
void needs_events_after(struct orders *orders, const struct walk_call *call);

void needs_events_lost_pair(struct orders *orders, const struct walk_call *later,
	const struct touch *earlier);

#endif
