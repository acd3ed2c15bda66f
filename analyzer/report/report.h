/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a database says, for people (text) and programs (JSON): the run as a whole and what is
 * missing of it, then the findings, worst first.
 */
#ifndef CUFENCE_REPORT_H
#define CUFENCE_REPORT_H

#include <stdio.h>

#include "db.h"

/* The findings shown: at least as confident as asked for; "possible" ignores the threshold too. */
enum report_level { REPORT_LIKELY, REPORT_CERTAIN, REPORT_POSSIBLE };

#define REPORT_TOP 10 /* unless another number is asked for */

struct report_options {
	enum report_level level;
	int top;         /* at most so many findings, 0: all */
	int64_t finding; /* only this one, 0: all */
	int all;         /* places that are left out otherwise, too */
	int color;       /* escape sequences for a terminal */
	int width;       /* columns of the terminal, 0: lines as long as they are */
	int undrawn;     /* one finding alone comes without its timeline */
};

/* Each: 0, or -1 after a message. */
int report_text(struct db *db, const struct report_options *options, FILE *out);
int report_json(struct db *db, const struct report_options *options, FILE *out);

/* The lines above the findings. */
int report_summary(struct db *db, FILE *out);

/* Whether out is a terminal that shows colors, and nobody asked for none (https://no-color.org). */
int report_color(FILE *out);

/* Columns of the terminal that out is, 0: it is none. */
int report_width(FILE *out);

/* A condition on finding f that says whether it is shown; for SQL put together here and there. */
const char *report_condition(enum report_level level);

#endif
