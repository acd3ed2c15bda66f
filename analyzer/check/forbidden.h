/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the program's own code that policies forbid (policy.h), as table temp.forbidden: a row
 * for each place, stack, function of CUDA and set of policies, after those that suppressions allow
 * have been taken out:
 *
 *	name      "cudaFree", as the program wrote it
 *	policies  "free, device-wide"
 *	count     calls
 *	file, line, function, place  of the innermost own frame; NULL: not known, but place
 *	stack     the own frames around it, a line each, or NULL
 *
 * A frame is the program's own if it lies outside of the system's files, CUDA's code and installed
 * packages, or where the caller says.  A call without such a frame is nobody's, and only counted.
 */
#ifndef CUFENCE_FORBIDDEN_H
#define CUFENCE_FORBIDDEN_H

#include <stdio.h>

#include "db.h"

struct forbidden_request {
	const char *policies; /* their names, separated by commas */
	/* Patterns for the files and modules that are the program's own, separated by commas; a
	 * relative one matches the end of a path.  NULL: as said above. */
	const char *own;
	int captured; /* calls that became nodes of a graph count, too */
};

/* Checks that a list names known policies: 0, or -1 after a message. */
int forbidden_check_list(const char *list);

/* Each: 0, or -1 after a message. */

/* Fills temp.forbidden, after verdict_begin() and suppressions_read(); db->run must be open. */
int forbidden_read(struct db *db, const struct forbidden_request *request);

/* The calls, a line each with the callers below it. */
int forbidden_text(struct db *db, FILE *out);

/* Counts, and why calls are allowed. */
int forbidden_summary(struct db *db, FILE *out);

#endif
