/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding as text.  All its numbers are columns of its row in table finding, or of the rows of
 * its places in finding_place, as those of the JSON and of "check" are.
 */
#ifndef CUFENCE_REPORT_FINDING_H
#define CUFENCE_REPORT_FINDING_H

#include <stdio.h>

#include "db.h"
#include "merge.h"
#include "report.h"

/* Columns of finding f, in the order in which report_print_cost() takes them. */
#define REPORT_COST_COLUMNS \
	"f.count, f.waited, f.delayed, f.saving, f.saving_low, f.saving_high, f.share, " \
	"f.turn_saving, " MERGED_SPREAD("f")
#define REPORT_COST_SIZE 9

/* "12 times, 3.0 ms host wait, 20 ms device delay" of a count and both sums, from a column on. */
void report_print_times(sqlite3_stmt *row, int column, FILE *out);

/*
 * "29 times, 86 ms host wait; " and what would be saved, of the columns from one on.  In a run of
 * several processes (merge.h) "in 4 of 4 processes, each ..." stands in front.
 */
void report_print_cost(sqlite3_stmt *row, int column, FILE *out);

/*
 * "about 96 ms (80 ms to 110 ms, 11 %) of the run would be saved" of a saving, its ends, its share
 * and what a turn of the loop saves; "at most 96 ms (11 %) ..." where the ends are NULL; where the
 * last is not, "... (80 ms to 110 ms) would be saved, 3.2 ms or 12 % of each turn".
 */
void report_print_saving(sqlite3_stmt *row, int column, FILE *out);

/*
 * Prints the findings of the level in their order.  If one finding alone was requested, also its
 * callers, streams and timeline.  Returns how many were printed, -1 after a message.
 */
int64_t report_print_findings(struct db *db, const struct report_options *options, FILE *out);

#endif
