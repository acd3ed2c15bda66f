/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds calls of two threads that overlap in time on one stream or event: which of them took effect
 * first is unknown.  This runs before the walk over a run, because the walk reaches the first of
 * two calls before the second one.
 */
#ifndef CUFENCE_WALK_CONTESTED_H
#define CUFENCE_WALK_CONTESTED_H

#include <stddef.h>

#include "run_columns.h"
#include "walk.h"

struct contested {
	struct contested_call {
		int64_t call;
		unsigned by; /* mask of CONTESTED_ */
	} * list;            /* sorted by call, each once */
	size_t count;
	size_t at; /* position of contested_of() */
};

/* Returns 0, or -1 after a message; call contested_release() in both cases. */
int contested_find(const struct run *run, struct contested *contested);

/* Returns how a call is contested, a mask of CONTESTED_.  Ask in order of calls. */
unsigned contested_of(struct contested *contested, int64_t call);

void contested_release(struct contested *contested);

#endif
