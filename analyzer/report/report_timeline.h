/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finding's worst instance in time, as text: the threads and streams it is about and those that
 * were busy around it, a line each.
 *
 *	the worst of them, 1.1 ms from 4.8 ms on:
 *	  app               <cudaDeviceSynchronize-------------------->
 *	  stream 13           [touch========================]
 *	  stream 14         <-]                              [touch===]
 *
 * Operations of the finding are drawn with '=', all others with '-'; '<' and '>' mark cut-off ends.
 * A '|' is shorter than a column, a ':' stands for several of them.
 */
#ifndef CUFENCE_REPORT_TIMELINE_H
#define CUFENCE_REPORT_TIMELINE_H

#include <stdio.h>

#include "db.h"

/* The time of a finding's worst instance, with some room around it; start == end: there is none.
 * 0, or -1 after a message. */
int report_timeline_span(struct db *db, int64_t finding, int64_t *start, int64_t *end);

/* The operations that it is about: their ids, in rows.  NULL after a message. */
sqlite3_stmt *report_timeline_operations(struct db *db, int64_t finding);

/* Prints that of a finding: nothing if there is no such time.  0, or -1 after a message. */
int report_timeline(struct db *db, int64_t finding, FILE *out);

#endif
