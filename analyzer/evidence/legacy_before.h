/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order of work that several threads submit to a legacy stream and to its blocking streams at the
 * same time: the order of the calls' entries does not determine which came first, but the device
 * does.  Work of a legacy stream, and work of it and of a blocking stream of its context, never
 * overlaps and keeps the order of submission (order_legacy.c), so work that ran first was submitted
 * first.  Threads that share a legacy stream are ordered by it as blocking streams are.
 *
 * All calls are computed at once and then queried in order of call.  Processes with one thread are
 * skipped.
 */
#ifndef CUFENCE_LEGACY_BEFORE_H
#define CUFENCE_LEGACY_BEFORE_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

struct legacy_before {
	struct legacy_pair {
		int64_t call;           /* its operation started after ... */
		int64_t by_call, by_op; /* ... the end of this one: one of the two is legacy work,
					 * or both are, of two threads */
		int64_t by_end;         /* ns */
		int64_t own_end; /* of the work before it in its stream, in a legacy stream of its
				  * thread; INT64_MIN: none */
	} * pair;
	size_t count, at;
};

/* Returns 0, or -1 after a message; call legacy_before_release() in both cases. */
int legacy_before_find(struct db *db, struct legacy_before *before);
void legacy_before_release(struct legacy_before *before);

/* Returns the pair of a call; NULL if it has none. */
const struct legacy_pair *legacy_before_of(struct legacy_before *before, int64_t call);

#endif
