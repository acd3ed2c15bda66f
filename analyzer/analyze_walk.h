/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a run: each call goes once, in order of entry, to what collects evidence from it.
 * Internal to analyze.c.
 */
#ifndef CUFENCE_ANALYZE_WALK_H
#define CUFENCE_ANALYZE_WALK_H

#include "analyze.h"

/* Charges time to the parts of the analysis; times NULL: nothing is timed. */
struct stopwatch {
	struct analysis_times *times;
	struct analysis_times *into; /* times or samples, NULL: currently not timed */
	struct analysis_times samples;
	double since; /* time up to here is charged */
};

double stopwatch_now(void); /* seconds */

/* Charges the time since the last charge to a part, a member of watch->into. */
void stopwatch_charge(struct stopwatch *watch, double *part);

/* Fills the tables of order, waits and hazards.  Returns 0, or -1 after a message. */
int analyze_walk(struct db *db, struct stopwatch *watch);

#endif
