/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The databases of many ranks in one, which has aggregates only: who the ranks are, their settings,
 * where the time of a turn went in each, and the places of their findings.  Calls and operations
 * stay in the ranks' own databases, which are named for details.
 *
 * Times are compared per turn of the loop; if a rank has no loop, those of the whole run are.  A
 * rank deviates if its time differs from the median of all by more than RANK_DEVIATION_PERCENT of a
 * turn and by more than RANK_DEVIATION_SPREADS median absolute deviations.  The median is the lower
 * one of two in the middle, so that of two ranks the slower one deviates.
 *
 * A rank that is late in a collective makes the others wait for it in their kernels, and all have
 * the same turn: then its other times deviate, and it has the least time in collectives.
 */
#ifndef CUFENCE_RANKS_H
#define CUFENCE_RANKS_H

#include <stdio.h>

#include "db.h"

/* Each: 0, or -1 after a message. */

/*
 * Adds the ranks of all sources to a new database.  open opens or analyzes one of them and calls
 * ranks_add(), in a child process, as many at a time as there are processors.  Their databases are
 * files in the folder of the merged one, with its name and a number.
 */
typedef int ranks_open(struct db *merged, const char *source);
int ranks_add_all(struct db *merged, char *const *source, size_t count, ranks_open *open);

/* Adds the ranks of a run.  path: the run's database or trace. */
int ranks_add(struct db *merged, struct db *run, const char *path);

/* After all: fills tables merged_finding and deviation. */
int ranks_compare(struct db *merged);

/* Whether a database is a merged one. */
int ranks_is_merged(struct db *db);

/* The report of a merged database: at most top findings, 0: all. */
int ranks_print(struct db *merged, int top, FILE *out);
int ranks_json(struct db *merged, FILE *out);

#endif
