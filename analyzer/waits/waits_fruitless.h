/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds explicit waits that probably brought the host no results, to decide whether an exact
 * analysis is worthwhile.  One pass over the calls.
 */
#ifndef CUFENCE_WAITS_FRUITLESS_H
#define CUFENCE_WAITS_FRUITLESS_H

#include "polls.h"
#include "run_columns.h"

struct glance {
	/*
	 * Called for each explicit wait and loop of queries.  fruitless: there was no copy to the
	 * host and no host function since the last wait.  ns: duration of the wait.  Returns -1 to
	 * stop.
	 */
	int (*wait)(void *arg, int64_t call, int fruitless, int64_t ns);
	void *arg;
	/* The members below start zero. */
	const struct run *run;
	struct map events;    /* event -> the stream that recorded it */
	struct map results;   /* streams with results that no wait has covered yet */
	uint64_t last_result; /* call of the last result of any stream */
	uint64_t last_wait;   /* of the last wait for a context */
};

/* Returns 0, or -1 after a message. */
int glance_scan(struct glance *glance, const struct run *run, const struct polls *polls);

#endif
