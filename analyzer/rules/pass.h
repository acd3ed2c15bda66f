/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass finds the instances of one rule.  It reads the tables (raw ones, and dependency, wait and
 * hold, which are complete), hands over what it finds and says it in words; counting, thresholds,
 * severity and storing are findings.c's.  doc/ADDING-A-PASS.md.
 */
#ifndef CUFENCE_PASS_H
#define CUFENCE_PASS_H

#include <stdio.h>

#include "db.h"
#include "findings.h"
#include "words.h"

struct pass {
	/* Calls findings_add() for each instance.  0, or -1 after a message. */
	int (*run)(struct db *db, struct findings *findings);

	/* Writes a finding's first line about its worst instance.  0, or -1 after a message. */
	int (*say)(struct words *words, const struct instance *worst, FILE *out);
};

#endif
