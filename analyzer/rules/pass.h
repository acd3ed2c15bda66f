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
#include "needs.h"
#include "run_columns.h"
#include "stretches.h"
#include "words.h"

/*
 * Shared by passes about lazy loading.  Until its context's first explicit wait a program warms up,
 * intentionally or not, and code loaded by then is no finding.
 */
/* For a struct run; shared by all passes. */
struct loads_late {
	const struct run *run;
	struct map first;    /* process and context -> its first explicit wait */
	struct map loads;    /* site -> number of calls that loaded code late */
	struct map launches; /* site -> number of all launches there */
};

/* loads_late_release() follows. */
void loads_late_find(struct loads_late *late, const struct run *run);
void loads_late_release(struct loads_late *late);

/* Was the call made after an explicit wait for its context? */
int is_warmed_up(const struct loads_late *late, uint32_t call);

/* Did it load code, after such a wait? */
int loads_late(const struct loads_late *late, uint32_t call);

/* Do launches of the call's place load code in many of their rounds? */
int is_loading_place(const struct loads_late *late, uint32_t call);

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

	/* 1: the fix leaves a wait out. */
	int leaves_out;
};

#endif
