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

/* --- waits of the host --- */

/* A lost order is blamed on waits so far back, else on all. */
#define LIVE_WAITS 4096

/* What a wait is for, as long as it may be blamed. */
struct live_wait {
	size_t number;            /* in needs.host, from 1 on */
	struct order_cover cover; /* without what other waits brought */
	struct touch behind;      /* call 0: not remembered */
};

struct needs_host {
	struct relax *relax;
	struct needs *needs;
	const struct run *run;
	struct owners owners;
	struct polls polls;
	struct map timed; /* events of which times are taken */
	struct map kept;  /* stream -> 1 + the last call of which a needed wait keeps the order */
	struct idmap threads;
	struct live_wait *live; /* a ring of LIVE_WAITS by number */
	int spoiled;            /* some order was lost, and it is not known to which wait */
};

/* 1: there are waits that may be needless or too long, at a look at each call; 0, or -1 after a
 * message.  To follow a run takes as long as its analysis. */
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
int needs_host_finish(struct needs_host *host);

/* --- waits of streams for events --- */

struct needs_events {
	struct relax *relax;
	struct needs *needs;
	struct map sites;  /* whose waits are left out */
	struct idmap open; /* stream -> struct open_waits */
};

/* Likewise: whether some held work of their stream. */
int needs_events_open(struct needs_events *events, struct relax *relax, struct needs *needs,
	const struct run *run);
void needs_events_close(struct needs_events *events);

/* A wait for an event at one of the sites. */
int needs_events_has(const struct needs_events *events, const struct walk_call *call);
int needs_events_wait(struct needs_events *events, const struct walk_call *call);

/* Any other call, which all orders have seen: the host may have learned that waits are over. */
int needs_events_after(struct needs_events *events, const struct walk_call *call);

int needs_events_lost(struct needs_events *events, const struct touch *earlier);

/* The row of the site of a call, or of the call around it; 0: unknown. */
uint32_t needs_site(const struct run *run, int64_t call);

#endif
