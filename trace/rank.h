/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rank of a process among those of a distributed program, as the variables of launchers.def
 * tell it.  The analyzer asks for what a trace has of them, "cufence run" for its own environment.
 */
#ifndef CUFENCE_RANK_H
#define CUFENCE_RANK_H

#include <stdint.h>

struct rank {
	const char *launcher;            /* NULL: none of its variables is set */
	int64_t rank, local_rank, world; /* -1: unknown */
};

/* The value of a variable, NULL: it is not set. */
typedef const char *rank_variable(void *of, const char *name);

/* For rank_find(): of this process's environment. */
const char *rank_of_environment(void *unused, const char *name);

/* Finds the rank.  Unknown: launcher is NULL, and all numbers are -1. */
struct rank rank_find(rank_variable *variable, void *of);

#endif
