/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the loop of a process: the part of its run in which one of its threads repeats the same
 * calls, such as a training step or a frame per turn.
 *
 * A turn begins where the thread's path of calls (loop_parts.h) arrives at a place: from outside of
 * it, or for a site with every call.  It ends where the next one begins, the last one before the
 * first call that no earlier turn made.  A turn's typical sites are those in most of all turns
 * (LOOP_TYPICAL_PERCENT), however often in each: inner loops of any length make no difference, and
 * a turn may do more now and then.  Places of one function may be branches that exclude each other:
 * then the sites of all branches are typical together.
 *
 * The turns of a place cover the submissions and waits at typical sites, of all threads, by number
 * and time of the device; threads that run the same loop need not keep step.  They are a loop if
 * they cover half of what all threads do meanwhile and a good part of what their own thread does,
 * however many calls it makes until the first turn ends and never again.  So the turns of a layer
 * are no loop, nor are those of a thread that works for a part of each step.
 *
 * Of the loops that cover nearly as much as the best one, the outermost is chosen: that of the
 * outermost function, in a thread that runs the program's script if there is one.  Of the places in
 * its statement, that with the most turns; the statement is known from a script's source.  If it
 * has few turns with many turns of a nested loop in each, and that covers nearly as much, these are
 * epochs of steps, and the nested loop is chosen.
 *
 * In a turn of more than LOOP_WARM_TIMES the median, the thread may have left the loop: it makes
 * calls outside of its body, and neither submits nor waits in the body after that.  The turn ends
 * with the last call before these, and a pause (run_evidence.h) follows.
 *
 * Turns at the beginning that take more than LOOP_WARM_TIMES the median are warm-up and excluded,
 * as are turns at either end without most of the typical sites, and calls from unknown_since() on.
 */
#ifndef CUFENCE_LOOP_H
#define CUFENCE_LOOP_H

#include "db.h"
#include "run_columns.h"

#define LOOP_PLACE_SIZE 256
#define LOOP_INNER_MOST 3

/* A loop within the turns. */
struct loop_inner {
	uint32_t site; /* of the first call */
	size_t turns;  /* of all turns together */
	char place[LOOP_PLACE_SIZE];
};

struct loop {
	struct run_loop run; /* turns 0: there is no loop; the caller sets process and end */
	uint32_t site;       /* of the first call of the first turn */
	size_t warm;         /* turns before them, for warm-up */
	char place[LOOP_PLACE_SIZE]; /* the program's line, for printing */
	struct loop_inner inner[LOOP_INNER_MOST];
	size_t inner_count;
};

/*
 * Searches the threads of a process.  Returns 0, or -1 after a message; call loop_release() in both
 * cases.
 */
int loop_find(struct loop *loop, const struct run *run, struct db *db, const uint32_t *threads,
	size_t count);
void loop_release(struct loop *loop);

#endif
