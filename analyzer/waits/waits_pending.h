/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the operation that a call waits for: the work pending when it was entered. */
#ifndef CUFENCE_WAITS_PENDING_H
#define CUFENCE_WAITS_PENDING_H

#include "order.h"
#include "scope.h"
#include "walk.h"

/*
 * Pending work of each context, updated along the walk.  Submissions count once they have returned:
 * a call entered while another thread was still submitting need not wait for that.
 */
struct pending;
struct pending *pending_new(void);
void pending_free(struct pending *pending);

/* Adds the operations of a call. */
void pending_add(struct pending *pending, const struct walk_call *call);

/*
 * Returns the operation in the call's scope that ended last, of those submitted before the call was
 * entered; its end shows whether it was pending.  Its op is ORDER_OP_UNKNOWN if one of those is
 * unknown.  Sets *scope to SCOPE_NONE for memory of a pool.
 */
struct order_state pending_find(struct pending *pending, const struct order *order,
	const struct walk_call *call, enum scope *scope);

/*
 * After the return of a call that waited for all work in its scope: if some of that is unknown, it
 * has ended now.
 */
void pending_end_unknown(struct pending *pending, const struct walk_call *call, enum scope scope);

#endif
