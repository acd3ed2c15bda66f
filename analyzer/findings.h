/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From instances to findings: one row per rule and pair of call sites, with what they cost in sum
 * and the worst of them; what is worth showing and how severe it is.  Of one call that blocks,
 * pairs of less than half the costliest one's cost are told with that one.
 *
 * A finding needs 3 instances or 1 ms.  Its share is the predicted saving, and the time itself
 * of instances without a prediction, over the process's run, from its first work to the
 * last end before it gives its code and contexts back.  Neither is more than the device's time
 * beyond the work of its busiest stream: that work would remain.
 */
#ifndef CUFENCE_FINDINGS_H
#define CUFENCE_FINDINGS_H

#include <stdint.h>

#include "db.h"
#include "rules.h"

struct words;

/*
 * What would be different about the call at fault if an instance were mended: bits, by which the
 * run is replayed without the finding (replay.h).  Without one its saving is only bounded.
 */
enum change {
	/* The thread does not wait in it: it goes on after what the call takes otherwise, or once
	 * the operation of still_needs is complete.  A synchronous copy or memset becomes an
	 * asynchronous one, in the stream of what it shares memory with. */
	CHANGE_WAIT = 1 << 0,
	/* Streams do not wait because of it, where they share no memory with it: legacy work is in
	 * a stream of its own, a stream's wait for an event is gone, so are holds via it. */
	CHANGE_ORDER = 1 << 1,
	/* It is not made; for calls that submit nothing. */
	CHANGE_CALL = 1 << 2,
};

#define FINDING_ALSO 8

/* One occurrence of a rule. */
struct instance {
	enum rule rule;
	int64_t process;
	int64_t call;        /* driver call at fault: "at" */
	int64_t other_call;  /* the one that submitted what it is about: "for"; 0: none */
	int64_t cost;        /* ns waited, or of overlap lost */
	int64_t saving;      /* ns of it the run would save at most, FINDING_NO_ESTIMATE: unknown;
	                      * what stands in for a replay that is not possible */
	unsigned change;     /* enum change, of call */
	int64_t also[FINDING_ALSO]; /* calls that are mended with it in the same way, 0: no more */
	int64_t with[FINDING_ALSO]; /* likewise, but only if that saves much more: others that do
				 * the same, so that little is won without them; or the call
				 * itself, that does more than what change mends */
	unsigned with_change;       /* of those; 0: as change */
	int joined;          /* findings set it: with was needed */
	int64_t still_needs; /* with CHANGE_WAIT: the call it must wait for all the same, 0: none */
};
#define FINDING_NO_ESTIMATE (-1)

struct findings;

/* NULL after a message; words stay the caller's. */
struct findings *findings_new(struct db *db, struct words *words);
void findings_free(struct findings *findings);

int findings_add(struct findings *findings, const struct instance *instance);

/* The place of a call as findings see it: 0 if it is not known, -1 after a message. */
int64_t findings_place(struct findings *findings, int64_t call);

/* Fills table finding, by share. */
int findings_store(struct findings *findings);

#endif
