/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by passes about lazy loading.  Until its context's first explicit wait a program warms up,
 * intentionally or not, and code loaded by then is no finding.
 */
#ifndef CUFENCE_LOADS_LATE_H
#define CUFENCE_LOADS_LATE_H

#include "run_columns.h"

/* For a struct run; shared by all passes. */
struct loads_late {
	const struct run *run;
	struct map first;    /* process and context -> its first explicit wait */
	struct map loads;    /* site -> number of calls that loaded code late */
	struct map launches; /* site -> number of all launches there */
};

/* loads_late_release() follows. */
void loads_late_find(struct loads_late *late, const struct run *run);
void loads_late_release(struct loads_late *late);

/* Was the call made after an explicit wait for its context? */
int is_warmed_up(const struct loads_late *late, uint32_t call);

/* Did it load code, after such a wait? */
int loads_late(const struct loads_late *late, uint32_t call);

/* Do launches of the call's place load code in many of their rounds? */
int is_loading_place(const struct loads_late *late, uint32_t call);

#endif
