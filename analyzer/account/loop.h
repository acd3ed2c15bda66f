/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the loop of a process: the part of its run in which one of its threads repeats the same
 * calls, such as a training step or a frame per turn.
 *
 * A turn begins where the thread's path of calls (loop_paths.h) arrives at a place: from outside of
 * it, or for a site with every call.  It ends where the next one begins, the last one before the
 * first call that no earlier turn made.  A turn's typical sites are those that occur in two thirds
 * of all turns, however often in each: inner loops of any length make no difference, and a turn may
 * do more now and then.  The calls of all threads count, each thread's sites by themselves.
 *
 * A place's turns cover the submissions and waits at typical sites, in numbers and in time of the
 * device.  They are a loop if they cover half of what happens meanwhile, and a quarter of what their
 * thread does.  Of those that cover nearly as much as the best (LOOP_NEARLY_PERCENT), the one with
 * the most turns is the loop: a step rather than an epoch of steps, which cover the same, but a
 * step rather than a layer of it, since layers leave out the rest of the step.  A thread with
 * frames of the program's script goes before one without, such as one of PyTorch's backward pass.
 * Places of the same function may be branches that exclude each other: their sites are typical
 * together.
 *
 * Turns at the beginning that take more than LOOP_WARM_TIMES the median are warm-up and excluded,
 * as are turns at either end without two thirds of the typical sites.
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
	uint32_t thread;
	uint32_t site;  /* of the first call of the first turn */
	size_t turns;   /* 0: there is no loop */
	size_t warm;    /* turns before them, for warm-up */
	int64_t *begin; /* start of each turn, ns; [turns] is the end of the last one */
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
