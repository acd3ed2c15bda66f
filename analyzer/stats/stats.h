/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of a run: how often things of one name occurred and how long they took.  A section is
 * a row of stats_sections[], whose SQL has a row for each thing, such as a launch or a wait;
 * everything else is the same for all sections.
 *
 * Filters (filter.h) keep a thing if it has what they ask for.
 */
#ifndef CUFENCE_STATS_H
#define CUFENCE_STATS_H

#include <stdint.h>
#include <stdio.h>

#include "db.h"
#include "filter.h"

struct stats_section {
	const char *name;
	const char *noun;  /* "launches": what count counts */
	const char *unit;  /* of total, median and worst: "ns" or "bytes" */
	const char *title; /* of the names in a text */
	/* A row per thing: process, thread, stream, kernel, time (ns), name, detail, value in unit
	 * (NULL: unknown), number of things it stands for, bytes, peak.  The first five may be
	 * NULL. */
	const char *sql;
};

/* Ends with name NULL. */
extern const struct stats_section stats_sections[];

struct stats_filter {
	struct filter only;
	const char *section; /* NULL: all */
	/* Only what the loop's turns contain, divided by their number; turns are not divided. */
	int by_loop;
};

/*
 * Fills temp.stats: section, name, detail, count, unit, total, percent (of the section's total),
 * median, worst, bytes, gb_per_s (copies), peak (memory: the most at once in a process).  Returns
 * 0, or -1 after a message.
 */
int stats_read(struct db *db, const struct stats_filter *filter);

/* Reads temp.stats in order: at most ?1 rows of a section (0: all), the largest total first. */
extern const char stats_rows_sql[];

/* Writes temp.stats for people.  0, or -1 after a message. */
int stats_text(struct db *db, const struct stats_filter *filter, int top, FILE *out);

#endif
