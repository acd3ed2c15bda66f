/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What turns recorded facts into findings.  analyze() drops the derived tables' rows and fills
 * them again from the raw tables: order (edge), waits (wait), then every pass of passes[]
 * (finding).  It is all that "cufence analyze" does, and the last step of "run" and "load".
 */
#ifndef CUFENCE_ANALYZE_H
#define CUFENCE_ANALYZE_H

#include "db.h"

/* In one transaction; 0, or -1 after a message with the database as it was. */
int analyze(struct db *db);

/* Seconds that its parts took, one after the other or in turn. */
struct analysis_times {
	double columns;  /* reading what they need */
	double order;    /* following the run, and what is ordered after what */
	double evidence; /* what blocked what */
	double fences;   /* what uses the same memory in no order */
	double rules;    /* the passes, and what becomes of instances */
	double write;    /* edges, and the end of the transaction */
};

/* The same, adding to times; NULL: they are not taken. */
int analyze_timed(struct db *db, struct analysis_times *times);

#endif
