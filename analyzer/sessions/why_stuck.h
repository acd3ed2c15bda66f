/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the threads of a run were when its traces were read: the CUDA call that each was in, what
 * that waits for, and why this has not ended (unended.h).
 */
#ifndef CUFENCE_WHY_STUCK_H
#define CUFENCE_WHY_STUCK_H

#include <stdio.h>

#include "db.h"
#include "traced.h"

/*
 * Writes it for each process of an analyzed run.  list: the processes, if they are alive: times
 * then count up to now, else up to the end of the trace.  Returns 0, or -1 after a message.
 */
int why_stuck(struct db *db, const struct traced_list *list, FILE *out);

#endif
