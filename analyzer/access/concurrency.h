/* SPDX-License-Identifier: Apache-2.0 */
/* Finds whether operations can run concurrently, as far as recorded. */
#ifndef CUFENCE_CONCURRENCY_H
#define CUFENCE_CONCURRENCY_H

#include "run_columns.h"

struct shape {
	char kind; /* k: kernel, c: copy, s: set, o: other */
	int64_t copy_kind;
	/*
	 * Part of the device that a kernel occupies at least, 1 and more: all of it.  Computed from
	 * threads and blocks; registers may limit it further.
	 */
	double part;
};

/* Returns the shape of an operation; of one that does not exist, "other". */
struct shape shape_of(const struct run *run, int64_t op);

/* Returns 0 for kernels of which one fills the device, and for copies in one direction; else 1. */
int shape_can_overlap(const struct shape *a, const struct shape *b);

#endif
