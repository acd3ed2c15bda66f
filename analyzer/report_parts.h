/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report's summary that have their own file.  Each: 0, or -1 after a message. */
#ifndef CUFENCE_REPORT_PARTS_H
#define CUFENCE_REPORT_PARTS_H

#include <stdio.h>

#include "db.h"

/* The environment, and what explains a result that looks odd. */
int report_settings(struct db *db, FILE *out);

/* Calls in which a process ended. */
int report_hung(struct db *db, FILE *out);

/* What is known to be missing. */
int report_losses(struct db *db, FILE *out);

#endif
