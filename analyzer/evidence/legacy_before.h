/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads submitted to a legacy stream and to its blocking streams at the same time: the
 * order of the calls' entries does not say which came first, and the device does.  Work of a legacy
 * stream and of a blocking one of its context never overlap and keep the order of submission
 * (order_legacy.c), so that what ran first was submitted first.
 *
 * Found for all calls at once; asked for call by call, in their order.  Of processes with one
 * thread nothing is kept.
 */
#ifndef CUFENCE_LEGACY_BEFORE_H
#define CUFENCE_LEGACY_BEFORE_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"

struct legacy_before {
	struct legacy_pair {
		int64_t call;           /* its operation started when ... */
		int64_t by_call, by_op; /* ... that one ended: one is legacy work, the other not */
		int64_t by_end;         /* ns */
		int64_t own_end;        /* of what came before it in its stream, in a legacy stream
					 * of its thread's; INT64_MIN: nothing */
	} * pair;
	size_t count, at;
};

/* 0, or -1 after a message; legacy_before_release() in both cases. */
int legacy_before_find(struct db *db, struct legacy_before *before);
void legacy_before_release(struct legacy_before *before);

/* The pair of a call; NULL: it has none. */
const struct legacy_pair *legacy_before_of(struct legacy_before *before, int64_t call);

#endif
