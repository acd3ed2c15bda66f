/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict about each place of a finding, as table temp.verdict:
 *
 *	place     finding_place.id
 *	state     fails, passes, baseline (accepted), suppressed; hidden: it passes, and reports
 *	          leave it out
 *	severity  high, medium or low
 *	reason    of the suppression, else NULL
 *
 * and other problems, as temp.trouble: name, message, failure (1: the run cannot be judged).
 */
#ifndef CUFENCE_VERDICT_H
#define CUFENCE_VERDICT_H

#include <stdio.h>

#include "db.h"
#include "report.h"

/*
 * The findings that make a check fail: lists of severities ("medium": and above) and rules,
 * separated by commas, or "none".  fences is the list for findings about order, which have no cost.
 */
struct verdict_rules {
	const char *list, *fences, *reads;
	int64_t most; /* ns that all findings of a process may cost; DB_NULL: no limit */
};

/* Checks that list names known severities and rules: 0, or -1 after a message. */
int verdict_check_list(const char *list);

/* Each: 0, or -1 after a message. */

/* Creates the empty tables, which all other functions need. */
int verdict_begin(struct db *db);

/* As for a report: the places that it shows fail. */
int verdict_of_report(struct db *db, const struct report_options *options);

/* As for a check, after baseline_read() and suppressions_read(). */
int verdict_of_check(struct db *db, const struct verdict_rules *wanted);

/*
 * After verdict_of_check(): findings of several processes become one (merge.h), which fails if that
 * of any process does.
 */
int verdict_merge(struct db *db);

/* Adds to temp.trouble. */
int verdict_add_trouble(struct db *db, const char *name, const char *message, int failure);

#endif
