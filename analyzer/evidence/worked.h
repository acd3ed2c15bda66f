/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a process had the devices work: some operation of it ran.  Between two of its operations
 * a device may be another process's: "work from the processes is time-sliced" (CUDA, without MPS).
 * An operation that is not known to have ended ran for no time.
 */
#ifndef CUFENCE_WORKED_H
#define CUFENCE_WORKED_H

#include "run_columns.h"

/* Zero-initialized is empty. */
struct worked {
	struct worked_span {
		int64_t start, end; /* ns; those of a process are in order and apart */
		int64_t before;     /* ns in earlier spans */
		uint32_t process;
	} * span;
	size_t count;
};

/* 0, or -1 after a message; worked_release() in both cases. */
int worked_list(struct worked *worked, const struct run *run);

/* ns between two times. */
int64_t worked_between(const struct worked *worked, uint32_t process, int64_t from, int64_t until);

void worked_release(struct worked *worked);

#endif
