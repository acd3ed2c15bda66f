/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the launches with all accesses known: if they are few, a run without missing fences proves
 * little.
 */
#ifndef CUFENCE_ACCESS_COVERAGE_H
#define CUFENCE_ACCESS_COVERAGE_H

#include "db.h"

/* Fills table kernel_use, which must be empty, from db->run.  Returns 0, or -1 after a message. */
int access_coverage_count(struct db *db);

#endif
