/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the loop of a process: the part of its run in which one of its threads repeats the same
 * calls, such as a training step or a frame per turn.
 *
 * A turn begins where the thread's path of calls (path_node) arrives at a place: from outside of
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

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "map.h"
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

/* --- loop_paths.c, private to loop*.c --- */

/*
 * The call paths of a process as a tree: a node is a place in a function, reached from the place
 * of its parent.  The program's own frames come first, the outermost one at the top, then those of
 * libraries: a trace keeps all frames of the program's, but only the innermost ones of packages.
 * A trace keeps a limited number of frames of scripts: a path that has as many may lack its
 * outermost ones and is continued by another path through its outermost function.  A leaf is a
 * site.
 */
struct path_node {
	uint32_t parent;      /* 0: the root */
	uint32_t level;       /* of the root: 0 */
	uint32_t site;        /* a site that has this frame, or the leaf's */
	int32_t depth;        /* of the frame in that site; -1: it has none */
	uint8_t is_leaf;      /* a site: its calls */
	uint8_t is_own;       /* a frame of the program's script */
	uint8_t is_below_own; /* it or a node above it is */
	int32_t loop;         /* line of the loop statement around its line; 0: none is known */
};

struct loop_paths {
	struct path_node *node; /* [0]: the root; parents come before children */
	size_t count;
	uint32_t *leaf; /* by site, 0: none */
	size_t leaf_end;
	struct map children;  /* hash of parent and address -> node */
	struct map functions; /* code of a script -> its first node */
};

/* Returns 0, or -1 after a message.  loop_paths_release() follows in both cases. */
int loop_paths_read(struct loop_paths *paths, struct db *db, uint32_t process);
/* Returns the leaf of a site, which is made if it is new. */
uint32_t loop_paths_leaf(struct loop_paths *paths, uint32_t site);
void loop_paths_release(struct loop_paths *paths);

/* Whether the path of a node leads through another one. */
static inline int loop_paths_is_below(const struct loop_paths *paths, uint32_t node, uint32_t other)
{
	while (paths->node[node].level > paths->node[other].level)
		node = paths->node[node].parent;
	return node == other;
}

/*
 * The frame whose line stands for turns that begin at a node, 0: none.  In a script, and below
 * another node: the innermost one at or above the node whose line is in a loop of its function;
 * else the innermost one of the program's.
 */
uint32_t loop_paths_find_line(const struct loop_paths *paths, uint32_t node, uint32_t below);

/* Writes that line; node 0: the text of the site.  Returns 0, or -1 after a message. */
int loop_paths_name(const struct loop_paths *paths, struct db *db, uint32_t node, uint32_t site,
	char *text, size_t size);

/* --- loop_turns.c, likewise --- */

/*
 * The calls of a process that submit or wait, by thread, and how much of them the turns cover that
 * begin at some place.
 */
/* A call that submits or waits; calls that add to a graph do not count. */
struct token {
	int64_t enter; /* ns */
	uint32_t site, call;
	float weight; /* of all tokens together: 2, for their number and for their time */
};

struct token_thread {
	uint32_t thread;
	uint32_t script; /* tokens below the program's script */
	struct token *token;
	size_t count;
	double weight;
};

/* What a site does in the turns of a thread. */
struct tally {
	uint32_t turns, last; /* number of turns with it; the last one + 1 */
	double weight;
};

struct turns {
	const struct token_thread *own; /* the thread that makes them */
	struct run_loop run;    /* without process; end is not set, pauses once they are trimmed */
	size_t warm;            /* removed as warm-up */
	size_t first, end;      /* own tokens: the first one, and the one after the last */
	int64_t bound;          /* ns: all calls of the last one are entered before */
	double covered, around; /* weight: covered, and of all tokens meanwhile, without set-up */
	double own_covered, own_around; /* of the own thread: and of all it does, without set-up */
};

struct tokens {
	const struct run *run;
	struct loop_paths *paths;
	struct token_thread *thread; /* those with tokens, sorted by what they say about loops */
	size_t count;
	double each;         /* weight of each token for their number */
	struct tally *tally; /* by site; only of those listed */
	uint32_t *listed;
	size_t listed_count;
	uint8_t *inside;  /* by site: below the node */
	uint8_t *typical; /* by site: typical of the turns of the thread that makes them */
	uint32_t site_end;
};

/* tokens_release() follows. */
void tokens_read(struct tokens *tokens, const uint32_t *threads, size_t count);
void tokens_release(struct tokens *tokens);

/*
 * Splits the run at a place of a thread's, and measures.  branches: sites in some turns are typical
 * together if nearly all turns have one of them.  Other threads are not looked at if the turns are
 * too small a part of their own (LOOP_OWN_PART).  turns->run.begin is the caller's.
 */
void turns_measure(struct turns *turns, struct tokens *tokens, const struct token_thread *own,
	uint32_t node, int branches);

/*
 * Removes turns that are not typical, or warm-up, at both ends, and finds the pauses.  line: of
 * loop_paths_find_line().
 */
void turns_trim(struct turns *turns, struct tokens *tokens, uint32_t line);

#endif
