/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report that have their own file.  Each that returns: 0, or -1 after a message. */
#ifndef CUFENCE_REPORT_PARTS_H
#define CUFENCE_REPORT_PARTS_H

#include <stdio.h>

#include "db.h"

/* Prints text with lines of at most width columns (0: as they are), broken at blanks; what goes on
 * stands below the text of a finding's line.  Says nothing. */
void report_wrap(const char *text, int width, FILE *out);

/* The environment, and what explains a result that looks odd. */
int report_settings(struct db *db, FILE *out);

/* Calls in which a process ended. */
int report_hung(struct db *db, FILE *out);

/* What is known to be missing. */
int report_losses(struct db *db, FILE *out);

#endif
