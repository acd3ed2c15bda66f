/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the result of a check for people, from table temp.verdict. */
#ifndef CUFENCE_SUMMARY_H
#define CUFENCE_SUMMARY_H

#include <stdio.h>

#include "db.h"

/* A line for each finding that fails, in the form that editors jump to: "path:line: rule #1 in
 * function: message: cost [severity]".  0, or -1 after a message. */
int summary_findings(struct db *db, FILE *out);

/* At most a screen: how many fail, what is suppressed and why, what is gone since the baseline. */
int summary_print(struct db *db, FILE *out);

#endif
