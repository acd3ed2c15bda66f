/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns recorded facts into findings.  analyze() empties the derived tables and fills them again
 * from the raw tables: order (edge), waits (wait), then every pass of passes[] (finding).  It is
 * all of "cufence analyze", and the last step of "run" and "load".
 */
#ifndef CUFENCE_ANALYZE_H
#define CUFENCE_ANALYZE_H

#include "db.h"

/* Runs in one transaction.  Returns 0, or -1 after a message with the database unchanged. */
int analyze(struct db *db);

/* Seconds spent in each part; parts may alternate. */
struct analysis_times {
	double columns;  /* reading the run */
	double order;    /* walking over the run and ordering its calls */
	double evidence; /* finding waits and their causes */
	double fences;   /* finding unordered uses of the same memory */
	double rules;    /* passes, and turning instances into findings */
	double write;    /* writing edges, and committing the transaction */
};

/* The same, adding to times, which may be NULL. */
int analyze_timed(struct db *db, struct analysis_times *times);

#endif
