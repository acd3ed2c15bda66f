/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the passes about lazy loading share: until its context's first explicit wait a program warms
 * up, on purpose or not, and code that is loaded then is no finding.
 */
#ifndef CUFENCE_LOADS_LATE_H
#define CUFENCE_LOADS_LATE_H

#include "run_columns.h"

/* Of struct run; one for all passes. */
struct loads_late {
	const struct run *run;
	struct map first;    /* process and context -> its first explicit wait */
	struct map loads;    /* by site, of calls that loaded code late */
	struct map launches; /* likewise, of all launches there */
};

/* 0, or -1 after a message; loads_late_release() in both cases. */
int loads_late_find(struct loads_late *late, const struct run *run);
void loads_late_release(struct loads_late *late);

/* The call came after an explicit wait for its context. */
int is_warmed_up(const struct loads_late *late, uint32_t call);

/* It loaded code, and came after that. */
int loads_late(const struct loads_late *late, uint32_t call);

/* Launches of the call's place load code in many of their rounds. */
int is_loading_place(const struct loads_late *late, uint32_t call);

#endif
