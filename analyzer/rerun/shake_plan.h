/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a seed does to a program: holds of streams before some of the calls of a recorded run, and
 * queries that are told that work is not complete.  Each place has random numbers of its own, made
 * of the seed and of the place, so that a call more or less elsewhere changes nothing.
 */
#ifndef CUFENCE_SHAKE_PLAN_H
#define CUFENCE_SHAKE_PLAN_H

#include "db.h"
#include "hold_plan.h"

/* Calls of one function from one call path, before which a stream can be held; or queries. */
struct shake_call {
	struct hold_place place;
	uint32_t count; /* the most that a thread made there; of queries those that succeeded */
	int is_query;
	char *text; /* "kernel 'fill' on stream 13 (app.cu:15)" */
};

struct shake_calls {
	struct shake_call *call;
	size_t count;
};

/*
 * Reads them from the database of a run.  Streams that run collectives or wait for values in memory
 * are left out: others wait for them.  0, or -1 after a message; release it in any case.
 */
int shake_calls_read(struct shake_calls *calls, struct db *db);
void shake_calls_release(struct shake_calls *calls);

/* budget: maximum of all holds together, ns. */
void shake_plan_make(struct hold_plan *plan, const struct shake_calls *calls, uint64_t seed,
	uint64_t budget);

/* What the action does, in words; to be freed. */
char *shake_action_text(const struct shake_action *action, const struct shake_calls *calls);

#endif
