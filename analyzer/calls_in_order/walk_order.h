/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a walk's calls for order only: objects that a call names besides its stream and event,
 * captured or contested calls, threads created and joined, memory freed, waited for or visible to
 * the host.
 */
#ifndef CUFENCE_WALK_ORDER_H
#define CUFENCE_WALK_ORDER_H

#include "callers.h"
#include "run_columns.h"
#include "walk_contested.h"

/* What is found before the walk, and then only read. */
struct walk_known {
	const struct run *run;
	struct contested contested;
	struct map lazy_loads; /* calls, as walk_call.is_lazy_load */
	struct map allocators; /* site of a query -> walk_call.allocator */
};

/* Returns 0, or -1 after a message; call walk_known_release() in both cases. */
int walk_known_find(struct walk_known *known, struct db *db, const struct run *run);
void walk_known_release(struct walk_known *known);

/* Where a part of a walk is. */
struct walk_order {
	const struct walk_known *known;
	struct run_cursor objects, freed, operands, threads, launches, host_runs;
	struct contested contested; /* known's */
};

void walk_order_begin(struct walk_order *order, const struct walk_known *known);
/* Fills in those members of a call.  Ask in order of calls. */
void walk_order_fill(struct walk_order *order, struct walk_call *call);

#endif
