/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of queries: who asks a stream or an event again and again, and does nothing else with the
 * device meanwhile, waits for it.
 */
#ifndef CUFENCE_POLLS_H
#define CUFENCE_POLLS_H

#include "db.h"
#include "map.h"
#include "run_columns.h"

/* Zero-initialized is empty. */
struct polls {
	struct map since; /* the query that came through -> when the first one was entered, ns */
};

/* 0, or -1 after a message; polls_release() in both cases. */
int polls_find(struct polls *polls, const struct run *run, struct db *db);
void polls_release(struct polls *polls);

/* When the wait began that a call ended, INT64_MIN: it is no such query. */
int64_t polls_since(const struct polls *polls, int64_t call);

#endif
