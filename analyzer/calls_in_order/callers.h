/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds calls that are made on the account of other code than the program's: CUDA's libraries
 * (cuBLAS, cuDNN and similar), runtimes that load code for a first launch, and allocators that ask
 * events about their memory (callers.def).  It decides by the innermost frames of a call's site
 * outside of the CUDA runtime, and for loads by the runtime call that made them.
 */
#ifndef CUFENCE_CALLERS_H
#define CUFENCE_CALLERS_H

#include "db.h"
#include "map.h"
#include "run_columns.h"

struct callers {
	const struct run *run;
	struct db *db;
	sqlite3_stmt *frames, *api;
	struct map sites; /* site -> 1 + what is known of it */
};

/* Returns 0, or -1 after a message; callers_release() in both cases. */
int callers_init(struct callers *callers, struct db *db, const struct run *run);
void callers_release(struct callers *callers);

/*
 * Returns 1 if a library of CUDA's made the call; 0 if the program did, or if unknown; -1 after a
 * message.
 */
int callers_is_library(struct callers *callers, int64_t call);

/*
 * Returns 1 if the call, which loads a module, was made for the first use of a kernel or variable,
 * 0 if the program asked for it, -1 after a message.  "Lazy Loading delays loading of CUDA modules
 * and kernels from program initialization closer to kernels execution" (CUDA programming guide).
 */
int callers_is_lazy_load(struct callers *callers, int64_t call);

/* Returns the number of the allocator that made the call, 0: none did; -1 after a message. */
int callers_find_allocator(struct callers *callers, int64_t call);

#endif
