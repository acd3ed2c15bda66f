/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that are unknown because their process died: CUPTI had not delivered their records.
 * They ran, or may have, so that nothing follows from a missing record: a wait for one of them did
 * not find the device idle.
 *
 * In a process that did not close its trace, a successful call that submits an operation of a kind
 * that CUPTI records is unknown if neither it nor a later call of its stream has a record.  Calls
 * that CUPTI does not record (K_SILENT, empty copies) are never unknown.
 *
 * This is decided here, once.  Waits and orders of single operations ask for the call's flag
 * (walk_call.unknown), times of the whole process for unknown_since().
 */
#ifndef CUFENCE_UNKNOWN_H
#define CUFENCE_UNKNOWN_H

#include "run_columns.h"

/* Sets the flags of a run, when all its rows are there.  Returns 0, or -1 after a message. */
int unknown_find(struct run *run, struct db *db);

static inline int call_is_unknown(const struct run_call *call)
{
	return call->flags & CALL_UNKNOWN;
}

/*
 * The entry of the first unknown call that returned, after all calls of the process that have
 * records, ns: nothing is known of the devices from then on.  RUN_NEVER: none.
 */
int64_t unknown_since(const struct run *run, int64_t process);

#define UNKNOWN_LOSS "unknown"         /* count: the time from then on, ns */
#define UNKNOWN_ALL_LOSS "unknown_all" /* count: unknown operations, if none has a record */

/* Adds a row of table loss for each such process.  Returns 0, or -1 after a message. */
int unknown_store(struct db *db);

#endif
