/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of two threads that overlap in time on one stream or event: which of them took effect first
 * is not known.  Found before the walk over a run, because the walk reaches the first of two before
 * the second one.
 */
#ifndef CUFENCE_WALK_CONTESTED_H
#define CUFENCE_WALK_CONTESTED_H

#include <stddef.h>

#include "run_columns.h"
#include "walk.h"

struct contested {
	struct contested_call {
		int64_t call;
		unsigned by; /* CONTESTED_ */
	} * list;            /* in order of call, each once */
	size_t count;
	size_t at; /* for contested_of() */
};

/* 0, or -1 after a message; contested_release() even then. */
int contested_find(const struct run *run, struct contested *contested);

/* How a call is contested; calls are asked for in order. */
unsigned contested_of(struct contested *contested, int64_t call);

void contested_release(struct contested *contested);

#endif
