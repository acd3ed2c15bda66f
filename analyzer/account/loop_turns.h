/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a process that submit or wait, by thread, and how much of them the turns cover that
 * begin at some place (loop.h).
 */
#ifndef CUFENCE_LOOP_TURNS_H
#define CUFENCE_LOOP_TURNS_H

#include "loop_paths.h"
#include "run_columns.h"

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
	int64_t *begin;                 /* [count]: the end of the last one */
	size_t count;
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
 * too small a part of their own (LOOP_OWN_PART).  turns->begin is the caller's.
 */
void turns_measure(struct turns *turns, struct tokens *tokens, const struct token_thread *own,
	uint32_t node, int branches);

/* Removes turns that are not typical, or warm-up, at both ends. */
void turns_trim(struct turns *turns, struct tokens *tokens);

#endif
