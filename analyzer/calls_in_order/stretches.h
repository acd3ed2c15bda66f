/* SPDX-License-Identifier: Apache-2.0 */
/* The recording windows of a run (table recording), in memory. */
#ifndef CUFENCE_STRETCHES_H
#define CUFENCE_STRETCHES_H

#include <stddef.h>

#include "db.h"

struct stretch {
	int64_t process, start, end; /* ns */
};

struct stretches {
	struct stretch *stretch; /* by process and start */
	size_t count;
	int64_t *limited; /* processes that did not record all the time, sorted */
	size_t limited_count;
};

/* Calls outside of all recording windows of their process. */
#define STRETCH_NONE (-1)

/* Returns 0, or -1 after a message. */
int stretches_load(struct stretches *stretches, struct db *db);

/*
 * Returns the number of a process's recording window at a time, from 1; 0 if it recorded all the
 * time.
 */
int stretches_find(const struct stretches *stretches, int64_t process, int64_t at);

void stretches_release(struct stretches *stretches);

#endif
