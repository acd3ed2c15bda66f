/* SPDX-License-Identifier: Apache-2.0 */
/* What a check found, for people: of table temp.verdict. */
#ifndef CUFENCE_SUMMARY_H
#define CUFENCE_SUMMARY_H

#include <stdio.h>

#include "db.h"

/* A line for each finding that fails: "path:line: rule #1 in function: message: cost [severity]";
 * editors jump to such.  0, or -1 after a message. */
int summary_findings(struct db *db, FILE *out);

/* A screen at most: what failed, what is accepted and why, and what went since the baseline. */
int summary_print(struct db *db, FILE *out);

#endif
