/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces into the raw tables: what was recorded, with handles resolved to the streams, events,
 * allocations and kernels that they meant at the time, and times on one scale.
 */
#ifndef CUFENCE_LOAD_H
#define CUFENCE_LOAD_H

#include <stddef.h>

#include "db.h"

/*
 * Fills an empty database from count traces in one transaction and indexes it.  command is what
 * was run, or NULL.  What is damaged or missing of a trace is a loss (table loss); the rest is
 * loaded.  A process given twice is loaded once, after a message.  0, or -1 after a message naming
 * the trace: it is none.
 */
int load_traces(struct db *db, char *const *path, size_t count, const char *command);

#endif
