/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From instances to findings: one row per process and rule, that is per behaviour of CUDA that the
 * program did not mean, with what it costs in sum, and its places: pairs of lines, as many as there
 * are.  So a finding is the same whether one line makes the mistake or 200 do.
 *
 * A finding needs 3 instances or 1 ms.  Its share is the predicted saving over the process's run,
 * from its first work to the last end before it gives its code and contexts back.  Where the run
 * cannot be replayed the saving is a bound: what the host could have used of its waits, and what
 * work was delayed, neither more than the device's time beyond the work of its busiest stream,
 * which would remain.
 *
 * Findings of group "fences" cost no time: once is enough, nothing is replayed, and they stand
 * before all others, shown if they are likely or certain.
 */
#ifndef CUFENCE_FINDINGS_H
#define CUFENCE_FINDINGS_H

#include <stdint.h>

#include "change.h"
#include "db.h"
#include "rules.h"

struct words;

#define FINDING_ALSO 8

enum confidence { CONFIDENCE_OF_RULE, CONFIDENCE_POSSIBLE, CONFIDENCE_LIKELY, CONFIDENCE_CERTAIN };
extern const char *const confidence_names[];
/* Of a name, which must be one. */
enum confidence confidence_find(const char *name);

/* One occurrence of a rule. */
struct instance {
	enum rule rule;
	int64_t process;
	int64_t call;       /* driver call at fault: "at" */
	int64_t other_call; /* the one that submitted what it is about: "for"; 0: none */
	int64_t cost;       /* ns that the host waited, or that work on the device was delayed */
	int64_t saving;     /* of a wait, ns of it that the run would save at most;
	                      * FINDING_DELAY: it is a delay */
	int64_t shorter;    /* of saving, ns that operations take less */
	unsigned change;    /* enum change, of call */
	int64_t also[FINDING_ALSO]; /* calls to fix with it in the same way, 0: no more */
	int64_t with[FINDING_ALSO]; /* likewise, but only if that saves much more: others with the
				     * same effect; or the call itself, if change fixes a part of
				     * its effects */
	unsigned with_change;       /* of those; 0: as change */
	int joined;                 /* findings set it: with was needed */
	enum confidence confidence; /* 0: that of its rule */
	int64_t least; /* instances at two lines, fewer of which are only possible; 0: any number */
	int64_t count; /* so often; 0: once */
	int64_t hazard, launch, via;  /* row of table hazard, its launch and via; 0: none */
	int64_t a_turn, host, device; /* such calls a turn, ns that one takes, and its work; or 0 */
	const char *kind, *why;       /* of table hazard, which outlive findings; NULL: none */
	int64_t still_needs; /* with CHANGE_WAIT: the call it must wait for all the same, 0: none */
	int masked;          /* findings set it: it saves something only if others are fixed as
			      * well */
};
#define FINDING_DELAY (-1)

struct findings;

/* NULL after a message; words stay the caller's. */
struct findings *findings_new(struct db *db, struct words *words);
void findings_free(struct findings *findings);

int findings_add(struct findings *findings, const struct instance *instance);

/* A wait that others may hide (findings_masked.c), whatever it costs by itself. */
int findings_add_masked(struct findings *findings, const struct instance *instance);

/* The place of a call as findings see it: 0 if it is not known, -1 after a message. */
int64_t findings_place(struct findings *findings, int64_t call);

/* The line as it is printed, whoever called it, likewise. */
int64_t findings_line(struct findings *findings, int64_t call);

/* Fills the tables finding, finding_place, finding_also and replay. */
int findings_store(struct findings *findings);

/* 1: it is about order, and not about time. */
int rule_is_fence(enum rule rule);

/* 1: it is about how fast the host is by itself, and not about a wait. */
int rule_is_pace(enum rule rule);

/* "high", "medium" or "low", by a share of the run. */
const char *finding_severity(double share);

#endif
