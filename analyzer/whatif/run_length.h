/* SPDX-License-Identifier: Apache-2.0 */
/* How long a process's run is, for shares of it, and how much of it can be saved at most. */
#ifndef CUFENCE_RUN_LENGTH_H
#define CUFENCE_RUN_LENGTH_H

#include "db.h"

/*
 * In ns.  No fix changes that operations of the busiest stream follow each other: of the time with
 * pending work only the rest can be saved, and of the device's busy time only the rest can overlap.
 */
struct run_length {
	int64_t whole;  /* first work to last end; at least 1 */
	int64_t idle;   /* first operation to last, less the busiest stream */
	int64_t serial; /* device at work, less the busiest stream */
};

/* Of what was recorded of it; 0, or -1 after a message. */
int run_length(struct db *db, int64_t process, struct run_length *length);

#endif
