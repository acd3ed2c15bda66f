/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What turns recorded facts into findings.  analyze() drops the derived tables' rows and fills
 * them again from the raw tables: order (dependency), waits (wait), then every pass of passes[]
 * (finding).  It is all that "cufence analyze" does, and the last step of "run" and "load".
 */
#ifndef CUFENCE_ANALYZE_H
#define CUFENCE_ANALYZE_H

#include "db.h"

/* In one transaction; 0, or -1 after a message with the database as it was. */
int analyze(struct db *db);

#endif
