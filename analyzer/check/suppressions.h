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
 * function is a pattern (* ? [...]) for the function of the place "at", file one for its file, from
 * any folder of the path on; one of them is required.  A line "fingerprint:" may replace them and
 * rule to accept one place only.  rule may also be a policy (policy.h), whose calls are then
 * allowed there.  reason is required, until (the last day) is optional.
 */
#ifndef CUFENCE_SUPPRESSIONS_H
#define CUFENCE_SUPPRESSIONS_H

#include <stdio.h>

#include "db.h"

/* Whether suppression u is for that function and file. */
#define SUPPRESSES(u, name, path) \
	"((" u ".function IS NULL OR coalesce(" name ", '') GLOB " u \
	".function)" \
	" AND (" u ".file IS NULL OR coalesce(" path ", '') GLOB " u ".file OR " path \
	" GLOB '*/' || " u ".file))"

/* Reads a file into temp.suppression.  0, or -1 after a message that names the line. */
int suppressions_read(struct db *db, const char *path);

/* Marks those of findings that accept a place.  0, or -1 after a message. */
int suppressions_use(struct db *db);

/* Warns of expired suppressions, and of those whose column used is 0; NULL: another gate's.  0, or
 * -1 after a message. */
int suppressions_warn(struct db *db, const char *path, FILE *out);

#endif
