/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads of code for a first use: by a launch, a question about a kernel, or a runtime that loads a
 * module for one (callers.h).  "Loading a kernel may require context synchronization" (CUDA
 * programming guide, "Lazy Loading"); measured on an H200: cuLibraryLoadData waits for the device,
 * after other loads the next kernel of every stream starts when earlier work has ended.  The next
 * launch loads nothing, so they order nothing; but they tell why two operations kept their order.
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

/* Adds a call that loads code. */
void loads_process_call(struct loads *loads, const struct run *run, const struct walk_call *call);

/*
 * Return the first load after some work on its device, NULL: none; and the time from the end of the
 * work, its exit, to a later point at which no code was loaded, ns.
 */
const struct code_load *loads_after(const struct loads *loads, const struct code_load *work);
int64_t loads_time_apart(const struct loads *loads, const struct code_load *work, int64_t until);

#endif
