/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups instances into findings: one row per process and rule, that is per unintended behaviour of
 * CUDA, with its total cost and its places, which are pairs of lines.  So a finding is the same
 * whether one line makes the mistake or 200 do.
 *
 * A finding needs 3 instances or 1 ms.  Its share is the predicted saving over the process's run,
 * from its first work to the last end before code and contexts are unloaded.  If the run cannot be
 * replayed, the saving is a bound: time of waits that the host could have used, and delays of work,
 * neither more than the device's time beyond the work of its busiest stream, which would remain.
 *
 * Findings of group "fences" cost no time: one instance suffices, nothing is replayed, and they
 * rank before all others, shown if they are likely or certain.
 */
#ifndef CUFENCE_FINDINGS_H
#define CUFENCE_FINDINGS_H

#include <stdint.h>

#include "confidence.h"
#include "db.h"
#include "rules.h"
#include "savings.h"

struct words;

#define FINDING_ALSO 8

/* One occurrence of a rule. */
struct instance {
	enum rule rule;
	int64_t process;
	int64_t call;       /* driver call at fault: "at" */
	int64_t site;       /* where that is, if not at the call; 0: at the call */
	int64_t other_call; /* the call that submitted the affected work: "for"; 0: none */
	int64_t cost;       /* ns that the host waited, or that work on the device was delayed */
	int64_t saving;  /* ns of a wait that the run would save at most; FINDING_DELAY: a delay */
	int64_t shorter; /* part of saving by shorter operations, ns */
	unsigned change; /* bits of enum change for call */
	int64_t also[FINDING_ALSO]; /* calls fixed with it by the same change, 0: end */
	int joined; /* set by findings: other work that delays streams is changed with it */
	enum confidence confidence;   /* 0: the rule's */
	int64_t least;                /* with fewer instances at two lines it is only possible */
	int64_t count;                /* number of occurrences; 0: one */
	int64_t hazard, launch, via;  /* row of table hazard, its launch and via; 0: none */
	int64_t wait, record;         /* calls of the fence of that row; 0: none */
	int64_t a_turn, host, device; /* such calls per turn, ns of each, and of its work; or 0 */
	const char *kind, *why;       /* of table hazard; they outlive findings; NULL: none */
	int overlapped;               /* the two operations ran at the same time */
	int64_t alike, total;         /* set by findings: those with this why, of so many there */
	int64_t still_needs;          /* with CHANGE_WAIT: a call it must still wait for, 0: none */
	int own;                      /* that is its own thread's last work, needed or not */
	/*
	 * What a wait of the host keeps in order, and a stream's wait could: the calls of two
	 * operations, and the number of such pairs; 0: none.
	 */
	int64_t earlier, later, pairs;
	/*
	 * It may save time only once others are fixed, whatever it costs by itself: added besides
	 * what costs time by itself (findings_replay.c).
	 */
	int masked;
	int reads;       /* a script's line reads a result: other reads may wait in its place */
	int only_replay; /* saving bounds nothing: only a replay tells what it saves */
};
#define FINDING_DELAY (-1)

struct findings;

/* Returns NULL after a message.  words remains the caller's. */
struct findings *findings_new(struct db *db, struct words *words);
void findings_free(struct findings *findings);

int findings_add(struct findings *findings, const struct instance *instance);

/* Returns the place of a call as used in findings: 0 if unknown, -1 after a message. */
int64_t findings_place(struct findings *findings, int64_t call);

/*
 * The same of one type of call: a line may make two, of which one is to be changed.  Macros that
 * make two of one type count as one.
 */
int64_t findings_place_of_type(struct findings *findings, int64_t call);

/* Returns the printed line of a call, without its callers: 0 if unknown, -1 after a message. */
int64_t findings_line(struct findings *findings, int64_t call);

/*
 * Fills the tables finding, finding_place, finding_also and replay.  Returns 0, or -1 after a
 * message.
 */
int findings_store(struct findings *findings);

/* Returns 1 if the rule is about order rather than time. */
static inline int rule_is_fence(enum rule rule)
{
	return rules[rule].group == GROUP_fences;
}

#endif
