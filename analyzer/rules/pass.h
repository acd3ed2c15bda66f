/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pass finds the instances of one rule.  It reads the run and its evidence, which are complete
 * (run_columns.h, run_evidence.h), adds the instances that it finds and describes them; findings.c
 * counts them, applies thresholds, sets the severity and stores them.  See doc/ADDING-A-PASS.md.
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

/* The input of every pass. */
struct pass_input {
	const struct run *run; /* with its evidence */
	struct loads_late late;
	struct stretches stretches;
	struct needs needs;
	struct db *db; /* for queries about order, and for other tables */
};

struct pass {
	/* Calls findings_add() for each instance.  0, or -1 after a message. */
	int (*run)(const struct pass_input *input, struct findings *findings);

	/* Writes a finding's first line about its worst instance.  0, or -1 after a message. */
	int (*say)(struct words *words, const struct instance *worst, FILE *out);

	/*
	 * Writes how to fix it in the program's own terms, or nothing; NULL: the rule's advice
	 * suffices. Returns 0, or -1 after a message.
	 */
	int (*fix)(struct words *words, const struct instance *worst, FILE *out);

	/* 1: the other call of an instance is the one to change; its line is the place's. */
	int changes_other;
};

#endif
