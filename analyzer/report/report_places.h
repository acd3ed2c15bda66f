/* SPDX-License-Identifier: Apache-2.0 */
/* The places of a finding as text: where, for what, with their lines of the source. */
#ifndef CUFENCE_REPORT_PLACES_H
#define CUFENCE_REPORT_PLACES_H

#include <stdio.h>

#include "db.h"
#include "report.h"

/* The line that place p at site s is printed under. */
#define REPORT_LINE_OF_PLACE "coalesce(s.function || ' ' || s.text, s.text, -p.id)"

/* Printed of a finding; the database has all, and --finding prints all. */
#define REPORT_PLACES 3

struct report_places {
	int64_t finding;
	int lines, places; /* it has */
};

/*
 * Prints the worst ones; all of them if one finding or all places were requested.  A line of the
 * source stands below its place where it is readable and not newer than the run, unless a page
 * shows sources by itself (undrawn).  Each: 0, or -1 after a message.
 */
int report_print_places(struct db *db, const struct report_places *places,
	const struct report_options *options, FILE *out);
int report_print_also(struct db *db, int64_t finding, FILE *out);

#endif
