/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From traces to findings: the stages of the analysis, one after the other (analyze.c has them as a
 * table).  "run" and "load" pass through all of them.  "analyze" leaves out those that need traces:
 * it empties the derived tables and fills them again from the raw ones.
 */
#ifndef CUFENCE_ANALYZE_H
#define CUFENCE_ANALYZE_H

#include "db.h"

struct annotations;
struct watch;

/* What a database is made from. */
struct analyze_input {
	char *const *trace; /* paths */
	size_t count;
	const char *command;                   /* the traced command line, or NULL */
	const struct watch *watch;             /* others' use of the GPUs, as seen, or NULL */
	const struct annotations *annotations; /* the user's declarations about kernels, or NULL */
	int keeps_traces;                      /* in the database, if they are small */
	int last_window; /* only the last window that was asked for; 2: or that was a sample */
};

/* All stages, into a new database.  Returns 0, or -1 after a message. */
int analyze_traces(struct db *db, const struct analyze_input *input);

/*
 * Those that need no traces.  The derived tables are filled in one transaction.  Returns 0, or -1
 * after a message with these tables unchanged.
 */
int analyze(struct db *db);
int analyze_annotated(struct db *db, const struct annotations *annotations);

/* Seconds spent in each part; parts may alternate. */
struct analysis_times {
	double columns;  /* reading the run */
	double order;    /* walking over the run and ordering its calls */
	double evidence; /* finding waits and their causes */
	double fences;   /* finding unordered uses of the same memory */
	double rules;    /* passes, and turning instances into findings */
	double write;    /* writing edges, and committing the transaction */
};

/* The same as analyze(), adding to times. */
int analyze_timed(struct db *db, struct analysis_times *times);

#endif
