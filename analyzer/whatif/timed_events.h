/* SPDX-License-Identifier: Apache-2.0 */
/* Events whose elapsed times the program reads: cudaEventElapsedTime(). */
#ifndef CUFENCE_TIMED_EVENTS_H
#define CUFENCE_TIMED_EVENTS_H

#include "map.h"
#include "run_columns.h"

/* Adds the events of a run.  Returns 0, or -1 when out of memory. */
int timed_events_find(struct map *timed, const struct run *run);

int timed_events_has(const struct map *timed, int64_t event);

#endif
