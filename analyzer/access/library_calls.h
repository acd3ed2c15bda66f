/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls CUDA's libraries make: cuBLAS, cuDNN and their like, by the innermost frame of a
 * call's site that is not the runtime's.
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

/* 0, or -1 after a message; library_calls_release() in both cases. */
int library_calls_init(struct library_calls *calls, struct db *db);
void library_calls_release(struct library_calls *calls);

/* 1: a library made that call, 0: the program did, or it is not known; -1 after a message. */
int library_calls_has(struct library_calls *calls, int64_t call);

#endif
