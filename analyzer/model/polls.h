/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polling loops: a thread that queries a stream or an event repeatedly, without other device calls
 * in between, waits for it.
 */
#ifndef CUFENCE_POLLS_H
#define CUFENCE_POLLS_H

#include "db.h"
#include "map.h"
#include "run_columns.h"

/* Zero-initialized is empty. */
struct polls {
	struct map since; /* the query that succeeded -> entry of the loop's first query, ns */
};

/* Returns 0, or -1 after a message; call polls_release() in both cases. */
int polls_find(struct polls *polls, const struct run *run, struct db *db);
void polls_release(struct polls *polls);

/* Returns the start of the wait that this call ended, ns; INT64_MIN: it ended none. */
int64_t polls_since(const struct polls *polls, int64_t call);

#endif
