/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polling loops: a thread that queries a stream or an event repeatedly, without other device calls
 * in between, waits for it.
 */
#ifndef CUFENCE_POLLS_H
#define CUFENCE_POLLS_H

#include "db.h"
#include "run_columns.h"

/* Finds the loops of a run.  Returns 0, or -1 after a message. */
int polls_find(struct run *run, struct db *db);

/* Returns the start of the wait that this call ended, ns; INT64_MIN: it ended none. */
int64_t polls_since(const struct run *run, int64_t call);

#endif
