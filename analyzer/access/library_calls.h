/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds calls made by CUDA's libraries (cuBLAS, cuDNN and similar): by the innermost frame of a
 * call's site outside of the CUDA runtime.
 */
#ifndef CUFENCE_LIBRARY_CALLS_H
#define CUFENCE_LIBRARY_CALLS_H

#include "db.h"
#include "map.h"
#include "run_columns.h"

struct library_calls {
	const struct run *run;
	sqlite3_stmt *frames;
	struct map sites; /* site -> 1: a library's, 2: the program's */
};

/* Returns 0, or -1 after a message; library_calls_release() in both cases. */
int library_calls_init(struct library_calls *calls, struct db *db);
void library_calls_release(struct library_calls *calls);

/* Returns 1 if a library made the call; 0 if the program did, or if unknown; -1 after a message. */
int library_calls_has(struct library_calls *calls, int64_t call);

#endif
