/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads traces into the raw tables: recorded data, with handles resolved to the streams, events,
 * allocations and kernels that they meant at the time, and all times on one scale.
 */
#ifndef CUFENCE_LOAD_H
#define CUFENCE_LOAD_H

#include <stddef.h>

#include "db.h"

/*
 * Fills an empty database from count traces in one transaction and creates its indexes. command is
 * the command that was run, or NULL. Damaged or missing parts of a trace become rows of table loss;
 * the rest is loaded.  last_window: of a process that "cufence start" was used with, only what was
 * recorded since the last time; 2: or the last sample.  A process given twice is loaded once, after
 * a message.  Returns 0, or -1 after a message naming a file that is not a trace.
 */
int load_traces(struct db *db, char *const *path, size_t count, const char *command,
	int last_window);

#endif
