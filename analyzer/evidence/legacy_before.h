/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order of work that several threads submit to a legacy stream and to its blocking streams at the
 * same time: the order of the calls' entries does not determine which came first, but the device
 * does.  Work of a legacy stream, and work of it and of a blocking stream of its context, never
 * overlaps and keeps the order of submission (order_legacy.c), so work that ran first was submitted
 * first.  Threads that share a legacy stream are ordered by it as blocking streams are.
 *
 * Processes with one thread are skipped.
 */
#ifndef CUFENCE_LEGACY_BEFORE_H
#define CUFENCE_LEGACY_BEFORE_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"
#include "order.h"
#include "run_columns.h"

/*
 * A call's operation started after the end of another one.  One of the two is legacy work, or both
 * are, of two threads.
 */
struct legacy_pair {
	struct order_state by; /* that one; without its clock */
	int64_t own_end; /* of the work before it in its stream, in a legacy stream of its thread;
			  * INT64_MIN: none */
};

struct legacy_before {
	struct legacy_pair *pair;
	size_t count;
	struct map of; /* call -> index + 1 */
};

void legacy_before_find(struct legacy_before *before, const struct run *run);
void legacy_before_release(struct legacy_before *before);

/* Returns the pair of a call; NULL if it has none. */
const struct legacy_pair *legacy_before_of(const struct legacy_before *before, int64_t call);

#endif
