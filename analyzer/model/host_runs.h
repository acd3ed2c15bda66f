/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of host functions: of cuLaunchHostFunc, cuStreamAddCallback and host nodes of graphs
 * (table host_run).  They are rows of run->host_runs in order of exit; those that had not returned
 * when the trace ended come last.
 */
#ifndef CUFENCE_HOST_RUNS_H
#define CUFENCE_HOST_RUNS_H

#include "run_columns.h"

struct host_run {
	int64_t enter, exit;      /* ns; exit RUN_NEVER: it did not return */
	uint32_t process, thread; /* that ran it */
	/*
	 * The call that submitted it.  For a node the launch of its graph, by the time at which its
	 * operations ran.  0: unknown, as if graphs of several streams ran at that time.
	 */
	uint32_t call;
	uint32_t stream; /* of that call; 0: unknown */
};

static inline uint64_t host_run_count(const struct run *run)
{
	return run->host_runs.count;
}

static inline const struct host_run *host_run_at(const struct run *run, uint64_t number)
{
	return (const struct host_run *)run->host_runs.rows + number;
}

/* Returns the number of the first run whose exit is at that time or later, ns. */
uint64_t host_runs_find(const struct run *run, int64_t at);

/*
 * Returns the numbers of the runs that a call submitted, in order of exit: what of the rows up to
 * *end.
 */
const struct run_ended *host_runs_of(const struct run *run, int64_t call,
	const struct run_ended **end);

/* For run_complete(). */
int host_runs_read(struct run *run, struct db *db);

#endif
