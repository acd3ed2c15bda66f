/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings that a project accepts for a reason, a file that is kept with it.  Blocks of lines, with
 * an empty line or more between them:
 *
 *	# the tile cache is freed once a step, measured in March
 *	rule: blocking-free
 *	function: free_*
 *	reason: the device is idle then
 *	until: 2027-01-31
 *
 * function is a pattern (* ? [...]) for the function of the place "at"; in place of rule and
 * function stands a fingerprint where only one place is meant.  A reason there must be, a last day
 * there may be.
 */
#ifndef CUFENCE_SUPPRESSIONS_H
#define CUFENCE_SUPPRESSIONS_H

#include <stdio.h>

#include "db.h"

/* Into temp.suppression.  0, or -1 after a message, which names the line. */
int suppressions_read(struct db *db, const char *path);

/* Warns of those that accept nothing, and of those that are past their day.  temp.verdict must be
 * filled.  0, or -1 after a message. */
int suppressions_warn(struct db *db, const char *path, FILE *out);

#endif
