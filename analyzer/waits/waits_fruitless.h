/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which waits brought the host no results, at a glance: whether it is worth to ask more exactly.
 * Takes one look at each call.
 */
#ifndef CUFENCE_WAITS_FRUITLESS_H
#define CUFENCE_WAITS_FRUITLESS_H

#include "polls.h"
#include "run_columns.h"

struct glance {
	/* Called for each explicit wait and loop of queries: whether no copy to the host and no
	 * host function came before it since the last one, and how long it took, ns.  -1 stops. */
	int (*wait)(void *arg, int64_t call, int fruitless, int64_t ns);
	void *arg;
	/* The rest is zero at first. */
	const struct run *run;
	struct map events;    /* event -> the stream that recorded it */
	struct map results;   /* streams with results that no wait was for yet */
	uint64_t last_result; /* call of any of them */
	uint64_t last_wait;   /* for a context */
};

/* 0, or -1 after a message. */
int glance_at(struct glance *glance, const struct run *run, const struct polls *polls);

#endif
