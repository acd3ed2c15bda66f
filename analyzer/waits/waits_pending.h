/* SPDX-License-Identifier: Apache-2.0 */
/* Which operation a call waits for: what is pending when it is entered. */
#ifndef CUFENCE_WAITS_PENDING_H
#define CUFENCE_WAITS_PENDING_H

#include "order.h"
#include "scope.h"
#include "walk.h"

/*
 * What is pending in each context, kept along the walk.  Submissions count once they returned:
 * a call entered while another thread was still submitting need not wait for that.
 */
struct pending;
/* NULL after a message. */
struct pending *pending_new(void);
void pending_free(struct pending *pending);

/* Notes the operations of a call. */
int pending_add(struct pending *pending, const struct walk_call *call);

/* The operation in the call's scope that ended last, of those submitted before it was entered;
 * its end shows whether it was pending.  *scope becomes SCOPE_NONE for memory of a pool. */
struct order_state pending_find(struct pending *pending, const struct order *order,
	const struct walk_call *call, enum scope *scope);

#endif
