/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What findings.c and findings_join.c share: findings while they are collected.
 */
#ifndef CUFENCE_FINDINGS_PARTS_H
#define CUFENCE_FINDINGS_PARTS_H

#include <stddef.h>

#include "findings.h"
#include "idmap.h"
#include "savings.h"

struct finding {
	int64_t site, other_site;      /* that stand for the lines; 0: unknown */
	int64_t count, cost, saving;   /* in sum; saving of the instances with an estimate */
	int64_t estimates;             /* instances with one */
	int64_t overlap;               /* cost of those without: overlap lost */
	struct changes {
		struct changed_call *call;
		size_t count;
	} changed;                     /* by its instances; none: they do not say */
	struct changes with;           /* by theirs, too, if that alone saves too little */
	int replayed;                  /* replay is its saving */
	int joined;                    /* ... with the changes of with */
	struct saving replay;
	struct instance worst;
	double share;
};

struct findings {
	struct db *db;
	struct words *words;
	struct places *places;
	struct finding **finding;
	size_t count;
	struct idmap by_key, runs; /* run_length.h: of a process */
};

int findings_add_change(struct changes *changes, const struct changed_call *changed);

/* Makes one of findings that one change mends.  0, or -1 after a message. */
int findings_join(struct findings *findings);

/* Likewise, once replays have said which lines are to be mended together; before weigh(). */
int findings_join_mended(struct findings *findings);

#endif
