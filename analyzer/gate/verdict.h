/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be said of each place of a finding, as table temp.verdict:
 *
 *	place     finding_place.id
 *	state     fails, passes, baseline (it is known), suppressed; hidden: it passes, and a report
 *	          leaves it out
 *	severity  high, medium or low
 *	reason    why it is suppressed, else NULL
 *
 * and what else is wrong, as temp.trouble: name, message, failure (1: the check could not be done).
 */
#ifndef CUFENCE_VERDICT_H
#define CUFENCE_VERDICT_H

#include <stdio.h>

#include "db.h"
#include "report.h"

/* What makes a check fail: lists of severities ("high": and above) and rules, separated by commas,
 * or "none"; fences: of findings about order, which cost no time. */
struct verdict_rules {
	const char *list, *fences;
	int64_t most; /* ns that all findings of a process may cost, DB_NULL: any time */
};

/* Whether list names severities and rules only: 0, or -1 after a message. */
int verdict_check_list(const char *list);

/* Each: 0, or -1 after a message. */

/* Makes the tables, empty; all that follows needs them. */
int verdict_begin(struct db *db);

/* As a report does: places of the findings it shows fail. */
int verdict_of_report(struct db *db, const struct report_options *options);

/* As a check does, with what baseline_read() and suppressions_read() accept. */
int verdict_of_check(struct db *db, const struct verdict_rules *wanted);

/* Adds to temp.trouble. */
int verdict_add_trouble(struct db *db, const char *name, const char *message, int failure);

#endif
