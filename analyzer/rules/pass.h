/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass finds the instances of one rule.  It reads the run and its evidence, which are complete
 * (run_columns.h, run_evidence.h), hands over what it finds and says it in words; counting,
 * thresholds, severity and storing are findings.c's.  doc/ADDING-A-PASS.md.
 */
#ifndef CUFENCE_PASS_H
#define CUFENCE_PASS_H

#include <stdio.h>

#include "db.h"
#include "findings.h"
#include "loads_late.h"
#include "needs.h"
#include "run_columns.h"
#include "stretches.h"
#include "words.h"

/* What every pass is given. */
struct pass_input {
	const struct run *run; /* with its evidence */
	struct loads_late late;
	struct stretches stretches;
	struct needs needs;
	struct db *db; /* for what asks the order again, and for the tables of others */
};

struct pass {
	/* Calls findings_add() for each instance.  0, or -1 after a message. */
	int (*run)(const struct pass_input *input, struct findings *findings);

	/* Writes a finding's first line about its worst instance.  0, or -1 after a message. */
	int (*say)(struct words *words, const struct instance *worst, FILE *out);

	/* Writes how to fix it in the program's own terms, or nothing; NULL: the rule's advice is
	 * all there is to say.  Likewise. */
	int (*fix)(struct words *words, const struct instance *worst, FILE *out);
};

#endif
