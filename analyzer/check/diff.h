/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares runs of a program before a change with runs after it.  A value is the median of a side's
 * runs.  The spread of a side is its largest value minus its least, 0 of a single run.  A
 * difference is a change if it exceeds both spreads together and DIFF_WORSE_PERCENT of the earlier
 * value; three runs of each side (DIFF_MIN_RUNS) measure the noise, so that FINDING_MIN_PERCENT is
 * enough.  All else is within the spread, or the same.
 *
 * Places with the same fingerprint are the same place.  Their costs are compared per turn of the
 * loop if all runs have the same loop, else per run; a difference below FINDING_MIN_PERCENT of that
 * is none.  A run without the place counts as one that it costs nothing.
 *
 * Worse are: a place that every run after the change shows and no run before it has, a cost that
 * grew, and a missing fence with a higher confidence than before.
 */
#ifndef CUFENCE_DIFF_H
#define CUFENCE_DIFF_H

#include <stdio.h>

#include "db.h"

/* Each: 0, or -1 after a message. */

/* Opens an empty comparison in memory; db_close() ends it. */
int diff_open(struct db *diff);

/* Adds a run: what it is, its totals and its places. */
int diff_add(struct db *diff, struct db *run, int after);

/* After all runs: fills temp.other, temp.total_change and temp.change. */
int diff_compare(struct db *diff);

int diff_print(struct db *diff, FILE *out);
int diff_json(struct db *diff, FILE *out);

#endif
