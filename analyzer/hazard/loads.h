/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads of code for a first use: by a launch, a question about a kernel, or a runtime that loads a
 * module for one (walk/callers.h).  They drain the device: "loading a kernel may require context
 * synchronization" (CUDA programming guide, "Lazy Loading"); measured on an H200, for cuLibraryLoadData
 * as well.  The next launch loads nothing, so they order nothing; but they tell why two operations
 * kept their order in this run.
 */
#ifndef CUFENCE_LOADS_H
#define CUFENCE_LOADS_H

#include "run_columns.h"
#include "walk.h"

/* Empty when zero-initialised. */
struct loads {
	struct code_load {
		int64_t call, process;
		int64_t enter, exit; /* ns */
		int device;          /* -1: unknown */
	} * load;                    /* in order of call */
	size_t count;
};

void loads_release(struct loads *loads);

/* Adds a call that loads code.  Returns 0, or -1 after a message. */
int loads_process_call(struct loads *loads, const struct run *run, const struct walk_call *call);

/*
 * Return the first load that came after some work and returned only when that had ended, NULL: none;
 * and the time from there to a later point at which no code was loaded, ns.  exit is the work's end.
 */
const struct code_load *loads_between(const struct loads *loads, const struct code_load *work);
int64_t loads_time_apart(const struct loads *loads, const struct code_load *work, int64_t until);

#endif
