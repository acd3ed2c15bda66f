/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface between the parts of needs.h, private to needs*.c: needs.c walks over the run,
 * needs_host.c handles waits of the host, needs_events.c those of streams for events.
 */
#ifndef CUFENCE_NEEDS_INTERNAL_H
#define CUFENCE_NEEDS_INTERNAL_H

#include "needs.h"
#include "id_map.h"
#include "orders_without_waits.h"

/* --- both --- */

/* Returns the site of a call, or of the outer call that made it; 0: unknown. */
uint32_t needs_site(const struct run *run, int64_t call);

/*
 * Operations of a stream up to a call, which are ordered before all work after a point in
 * orders.full by a wait that is needed anyway.  By stream and by the submitter of that work.
 */
struct needs_kept {
	int64_t call;
	struct order_epoch point;
};

void needs_keep(struct id_map *kept, int64_t who, const struct touch *earlier,
	struct order_epoch point);

/*
 * Returns 1 if the later operation of the reported pair, submitted by who, is after such a point.
 */
int needs_is_kept(const struct id_map *kept, struct orders *orders, int64_t who,
	const struct touch *earlier);

/* Processes a call that submits work. */
void needs_process_note(struct needs *needs, struct orders *orders, const struct walk_call *call);

/* --- waits of the host --- */

/*
 * Number of recent waits that a missing order can be attributed to; otherwise all since the earlier
 * operation may be it.
 */
#define LIVE_WAITS 4096

/* The purpose of a wait, as long as missing orders can be attributed to it. */
struct live_wait {
	size_t number;            /* in needs.host, from 1 */
	struct order_cover cover; /* without the results of other waits */
	struct order_epoch point; /* of its thread, in orders.full */
	struct touch behind;      /* call 0: not kept */
};

struct needs_host {
	struct orders *orders;
	struct needs *needs;
	const struct run *run;
	struct map timed;   /* events whose elapsed times are read */
	struct id_map kept; /* struct needs_kept, by thread */
	struct id_map threads;
	struct live_wait *live; /* a ring of LIVE_WAITS, by number */
	/* All waits up to this number that were made since this call may be needed. */
	size_t unknown_until;
	uint32_t unknown_since;
};

/*
 * Returns 0 if all waits together take too little time for a finding about them, which saves as
 * much time as the rest of the analysis takes; else 1.
 */
int needs_host_open(struct needs_host *host, struct orders *orders, struct needs *needs,
	const struct run *run);
void needs_host_close(struct needs_host *host);

/*
 * Returns the entry of the wait that ends with this call, INT64_MIN: the call is no removable wait.
 */
int64_t needs_host_since(const struct needs_host *host, const struct walk_call *call);

/* Processes such a wait, and steps orders.full.  Returns 0, or -1 after a message. */
int needs_host_wait(struct needs_host *host, const struct walk_call *call, int64_t since);

/* Process any other call, before and after orders_all(). */
void needs_host_before(struct needs_host *host, const struct walk_call *call);
void needs_host_after(struct needs_host *host, const struct walk_call *call);

/* earlier NULL: any operation. */
void needs_host_lost_pair(struct needs_host *host, const struct walk_call *later,
	const struct touch *earlier);
void needs_host_finish(struct needs_host *host);

/* --- waits of streams for events --- */

struct needs_events {
	struct orders *orders;
	struct needs *needs;
	struct map sites;   /* sites of the removed waits */
	struct id_map open; /* stream -> struct open_waits */
	struct id_map kept; /* struct needs_kept, by stream */
};

/* Returns 1 if some waits delayed work of their stream, else 0. */
int needs_events_open(struct needs_events *events, struct orders *orders, struct needs *needs,
	const struct run *run);
void needs_events_close(struct needs_events *events);

/* Is the call a wait for an event at one of the sites? */
int needs_events_has(const struct needs_events *events, const struct walk_call *call);

/* Processes such a wait.  Returns 0, or -1 after a message. */
int needs_events_wait(struct needs_events *events, const struct walk_call *call);

/* Processes any other call after orders_all(): the host may observe waits complete by it. */
void needs_events_after(struct needs_events *events, const struct walk_call *call);

void needs_events_lost_pair(struct needs_events *events, const struct walk_call *later,
	const struct touch *earlier);

#endif
