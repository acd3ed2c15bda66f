/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by loop*.c: the call paths of a process, and its turns. */
#ifndef CUFENCE_LOOP_INTERNAL_H
#define CUFENCE_LOOP_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "map.h"
#include "run_columns.h"

/* --- loop_paths.c --- */

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

/* --- loop_turns.c --- */

/*
 * The calls of a process that submit or wait, by thread, and how much of them the turns cover that
 * begin at some place (loop.h).
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
	uint32_t node;                  /* at which they begin */
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
