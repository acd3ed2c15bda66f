/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the loop of a process: the part of its run in which one of its threads repeats the same
 * calls, such as a training step or a frame per turn.
 *
 * A turn begins at a site, the loop's first, and ends where the next one begins; calls after the
 * last beginning are not part of a turn.  Turns are similar if they submit and wait at the same
 * sites, however often at each: inner loops of any length make no difference.  If several sites
 * occur equally often, the first one is tried.  A site's score is the part of the thread's
 * submissions and waits in its similar turns, times the part of the frequent sites in them, times
 * the part of all turns from that site that are similar.  Among the sites with more than half of
 * the best score, the one with the most turns begins the loop: steps, rather than epochs of steps.
 * Without a site whose turns contain half of the submissions and waits there is no loop.  If
 * several threads have a loop, the one that submits and waits the most makes the turns.
 *
 * Turns at the beginning that take more than LOOP_WARM_TIMES the median are warm-up and excluded,
 * as are calls before the first similar turn, and calls from unknown_since() on.
 */
#ifndef CUFENCE_LOOP_H
#define CUFENCE_LOOP_H

#include "run_columns.h"

struct loop {
	uint32_t thread;
	uint32_t site;  /* at which a turn begins */
	size_t turns;   /* 0: there is no loop */
	int64_t *begin; /* start of each turn, ns; [turns] is the end of the last one */
};

/*
 * Searches the threads of a process.  Returns 0, or -1 after a message; call loop_release() in both
 * cases.
 */
int loop_find(struct loop *loop, const struct run *run, const uint32_t *threads, size_t count);
void loop_release(struct loop *loop);

#endif
