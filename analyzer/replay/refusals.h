/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are not replayed, for what the database says of them.  Private to this room.  What
 * needs all operations is found once, for all processes.
 */
#ifndef CUFENCE_REFUSALS_H
#define CUFENCE_REFUSALS_H

#include "db.h"
#include "map.h"

struct refusals {
	struct db *db;
	struct map worked; /* processes with an operation of the device */
	struct map shared; /* those that used a device at the same time as another one */
};

/* Reads the run of the database.  Returns 0, or -1 after a message; release it in any case. */
int refusals_find(struct refusals *refusals, struct db *db);
void refusals_release(struct refusals *refusals);

/* Sets the reason, the end of a sentence; NULL: none.  Returns 0, or -1 after a message. */
int refusals_of(const struct refusals *refusals, int64_t process, const char **reason);

#endif
