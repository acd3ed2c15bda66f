/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the parts of needs.h work together, private to needs*.c: needs.c walks over the run,
 * needs_host.c looks at waits of the host, needs_events.c at those of streams for events.
 */
#ifndef CUFENCE_NEEDS_PARTS_H
#define CUFENCE_NEEDS_PARTS_H

#include "needs.h"
#include "owners.h"
#include "polls.h"
#include "relax.h"
#include "timed_events.h"

/*
 * Operations of a stream, up to a call, come before all that is after a point in relax.full, by a
 * wait that is needed for that anyway.  By stream and by who submits what is after it.
 */
struct needs_kept {
	int64_t call;
	struct order_epoch point;
};

int needs_keep(struct idmap *kept, int64_t who, const struct touch *earlier,
	struct order_epoch point);

/* While a pair is reported: its later operation, submitted by who, is after such a point. */
int needs_is_kept(const struct idmap *kept, struct relax *relax, int64_t who,
	const struct touch *earlier);

/* --- waits of the host --- */

/* A missing order is blamed on waits so far back, else on all since the earlier operation. */
#define LIVE_WAITS 4096

/* What a wait is for, as long as it may be blamed. */
struct live_wait {
	size_t number;            /* in needs.host, from 1 on */
	struct order_cover cover; /* without what other waits brought */
	struct order_epoch point; /* of its thread in relax.full */
	struct touch behind;      /* call 0: not remembered */
};

struct needs_host {
	struct relax *relax;
	struct needs *needs;
	const struct run *run;
	struct owners owners;
	struct polls polls;
	struct map timed;  /* events whose elapsed times are read */
	struct idmap kept; /* struct needs_kept, by thread */
	struct idmap threads;
	struct live_wait *live; /* a ring of LIVE_WAITS by number */
	/* Up to this number all waits since this call are needed, as far as is known. */
	size_t unknown_until;
	uint32_t unknown_since;
};

/* 1: a look at each call found waits that may be needless or too long; 0, or -1 after a message.
 * To follow a run takes as long as its analysis. */
int needs_host_is_worth_it(const struct run *run, const struct polls *polls);

/* Likewise. */
int needs_host_open(struct needs_host *host, struct relax *relax, struct needs *needs,
	struct db *db);
void needs_host_close(struct needs_host *host);

/* When the wait that is this call began, INT64_MIN: it is none that is left out. */
int64_t needs_host_since(const struct needs_host *host, const struct walk_call *call);

/* Such a wait, which full steps here. */
int needs_host_wait(struct needs_host *host, const struct walk_call *call, int64_t since);

/* Any other call, around relax_all(). */
int needs_host_before(struct needs_host *host, const struct walk_call *call);
int needs_host_after(struct needs_host *host, const struct walk_call *call);

int needs_host_lost(struct needs_host *host, const struct walk_call *later,
	const struct touch *earlier);
void needs_host_finish(struct needs_host *host);

/* --- waits of streams for events --- */

struct needs_events {
	struct relax *relax;
	struct needs *needs;
	struct map sites;  /* whose waits are left out */
	struct idmap open; /* stream -> struct open_waits */
	struct idmap kept; /* struct needs_kept, by stream */
};

/* Likewise: whether some delayed work of their stream. */
int needs_events_open(struct needs_events *events, struct relax *relax, struct needs *needs,
	const struct run *run);
void needs_events_close(struct needs_events *events);

/* A wait for an event at one of the sites. */
int needs_events_has(const struct needs_events *events, const struct walk_call *call);
int needs_events_wait(struct needs_events *events, const struct walk_call *call);

/* Any other call, which all orders have seen: the host may have learned that waits are over. */
int needs_events_after(struct needs_events *events, const struct walk_call *call);

int needs_events_lost(struct needs_events *events, const struct walk_call *later,
	const struct touch *earlier);

/* The row of the site of a call, or of the call around it; 0: unknown. */
uint32_t needs_site(const struct run *run, int64_t call);

#endif
