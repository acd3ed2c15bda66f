/* SPDX-License-Identifier: Apache-2.0 */
/* The length of a process's run, to compute shares of it, and bounds of what can be saved. */
#ifndef CUFENCE_RUN_LENGTH_H
#define CUFENCE_RUN_LENGTH_H

#include "db.h"

/*
 * In ns.  No fix changes that operations of the busiest stream follow each other (in a legacy
 * stream: those of one thread).  Only the rest of the time with pending work can be saved, and only
 * the rest of the device's busy time can overlap.
 */
struct run_length {
	int64_t whole;  /* first submission to last end; at least 1 */
	int64_t idle;   /* first operation to last, minus the busiest stream */
	int64_t serial; /* device busy, minus the busiest stream */
};

/* Measures what was recorded, before unknown_since().  Returns 0, or -1 after a message. */
int run_length(struct db *db, int64_t process, struct run_length *length);

#endif
