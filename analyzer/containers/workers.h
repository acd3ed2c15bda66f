/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same work for several things that share nothing, as processes of a run, on as many threads as
 * the command has processors.  With one thing or one processor the caller does all of it.
 *
 *	int replay_one(void *arg, size_t number);
 *	rc = workers_run(count, replay_one, arg);
 *
 * The work of two numbers may be done at the same time, and in any order: it must not write what
 * the other one reads, and a database is used by one thread at a time (db.h).
 */
#ifndef CUFENCE_WORKERS_H
#define CUFENCE_WORKERS_H

#include <stddef.h>

/* Returns the processors that this process may use, from 1 to most. */
size_t workers_processors(size_t most);

/*
 * Calls work() for each number below count, and returns once all have returned.  After one that
 * failed no further one begins.  Returns 0, or -1 if one returned something else.
 */
int workers_run(size_t count, int (*work)(void *arg, size_t number), void *arg);

#endif
