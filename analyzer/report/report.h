/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of a database, for people (text) and programs (JSON): first the run as a whole and what
 * the trace lacks, then the findings, worst first.
 */
#ifndef CUFENCE_REPORT_H
#define CUFENCE_REPORT_H

#include <stdio.h>

#include "db.h"

/* The least confidence of the findings shown; "possible" also ignores the threshold. */
enum report_level { REPORT_LIKELY, REPORT_CERTAIN, REPORT_POSSIBLE };

#define REPORT_TOP 10 /* unless another number is asked for */

struct report_options {
	enum report_level level;
	int top;            /* at most so many findings, 0: all */
	int64_t finding;    /* only this one, 0: all */
	int all;            /* also the places that are hidden by default */
	int color;          /* escape sequences for a terminal */
	int width;          /* columns of the terminal, 0: lines as long as they are */
	int undrawn;        /* no timeline of a single finding and no source lines */
	const char *filter; /* "only findings on stream 14: 2 of 5"; NULL: none is filtered out */
};

/* Each: 0, or -1 after a message. */
int report_text(struct db *db, const struct report_options *options, FILE *out);
int report_json(struct db *db, const struct report_options *options, FILE *out);

/* The lines above the findings. */
int report_summary(struct db *db, FILE *out);

/* Whether out is a terminal that shows colors, and NO_COLOR is not set (https://no-color.org). */
int report_color(FILE *out);

/* Columns of the terminal that out writes to; 0: out is no terminal. */
int report_width(FILE *out);

/* The SQL condition under which finding f is shown. */
const char *report_condition(enum report_level level);

#endif
