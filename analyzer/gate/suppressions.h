/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suppressions: findings that a project accepts for a reason, in a file that is kept with it.  The
 * file has blocks of lines, separated by empty lines:
 *
 *	# the tile cache is freed once a step, measured in March
 *	rule: blocking-free
 *	function: free_*
 *	reason: the device is idle then
 *	until: 2027-01-31
 *
 * function is a pattern (* ? [...]) for the function of the place "at".  A line "fingerprint:" may
 * replace rule and function to accept one place only.  reason is required, until (the last day) is
 * optional.
 */
#ifndef CUFENCE_SUPPRESSIONS_H
#define CUFENCE_SUPPRESSIONS_H

#include <stdio.h>

#include "db.h"

/* Reads a file into temp.suppression.  0, or -1 after a message that names the line. */
int suppressions_read(struct db *db, const char *path);

/* Warns of unused and expired suppressions; temp.verdict must be filled.  0, or -1 after a
 * message. */
int suppressions_warn(struct db *db, const char *path, FILE *out);

#endif
