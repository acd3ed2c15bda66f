/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of a process: the part of its run in which one of its threads does the same again and
 * again, a training step or a frame a turn.
 *
 * A turn begins at a site, the loop's first, and ends where the next one begins; what follows the
 * last one is no turn.  Turns are alike when they submit and wait at the same sites, however often
 * at each: inner loops of any length do not tell them apart.  Of the sites that come as often as
 * each other the first is tried.  A site's score is the part of the thread's submissions and waits
 * that its alike turns hold, times the part of the sites that come again and again which are in
 * them, times the part of all turns from there that are alike.  Of the sites with more than half of
 * the best score that one begins the loop which has the most turns: steps, rather than epochs of
 * steps.  Without a site whose turns hold half of the submissions and waits there is no loop.  Of
 * several threads with a loop the one that submits and waits the most makes the turns.
 *
 * Turns at the beginning that take more than LOOP_WARM_TIMES the median warm up and are left out,
 * as is what comes before the first of those that are alike.
 */
#ifndef CUFENCE_LOOP_H
#define CUFENCE_LOOP_H

#include "run_columns.h"

struct loop {
	uint32_t thread;
	uint32_t site;  /* at which a turn begins */
	size_t turns;   /* 0: there is no loop */
	int64_t *begin; /* ns, of each turn; [turns] is where the last one ends */
};

/* Of the threads of a process; 0, or -1 after a message.  loop_release() in both cases. */
int loop_find(struct loop *loop, const struct run *run, const uint32_t *threads, size_t count);
void loop_release(struct loop *loop);

#endif
