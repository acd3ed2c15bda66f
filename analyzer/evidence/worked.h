/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time during which a process had an operation running.  Between two of its operations a device may
 * run another process: "work from the processes is time-sliced" (CUDA, without MPS).  An operation
 * without a known end counts as zero time.
 */
#ifndef CUFENCE_WORKED_H
#define CUFENCE_WORKED_H

#include "run_columns.h"

/* Zero-initialized is empty. */
struct worked {
	struct worked_span {
		int64_t start, end; /* ns; spans of a process are sorted and disjoint */
		int64_t before;     /* ns in earlier spans */
		uint32_t process;
	} * span;
	size_t count;
};

/* Returns 0, or -1 after a message; call worked_release() in both cases. */
int worked_list(struct worked *worked, const struct run *run);

/* Returns the time worked between two times, ns. */
int64_t worked_between(const struct worked *worked, uint32_t process, int64_t from, int64_t until);

void worked_release(struct worked *worked);

#endif
