/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides whether operations can run at the same time, as far as it is recorded.
 */
#ifndef CUFENCE_CONCURRENCY_H
#define CUFENCE_CONCURRENCY_H

#include "run_columns.h"

struct shape {
	char kind; /* k: kernel, c: copy, s: set, o: other */
	int64_t copy_kind;
	double part; /* of the device that a kernel takes at least, 1 and more: all of it.  By
			   * its threads and blocks: registers may let in fewer. */
};

/* Of an operation; of one that is not there "other". */
struct shape shape_of(const struct run *run, int64_t op);

/* Not: kernels of which one fills the device, copies in one direction. */
int shape_can_overlap(const struct shape *a, const struct shape *b);

#endif
