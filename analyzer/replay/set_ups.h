/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Set-up that a line of the program repeats: it loads code, as cuFFT does for a plan, and unloads
 * it again before it loads the same code the next time.  A set-up is a row of a thread's calls from
 * one line without work in between, in which code is loaded or unloaded: with the memory that is
 * allocated and freed there, with the tables that are copied into that memory or into variables of
 * a module, and with the time between these calls, which the library or the runtime compiler
 * spends.  Kept, it happens once.
 *
 * A set-up is the same as the one before if the sizes of its memory and tables are, and the first
 * kernel that the thread launches after it has the same name and image.  Which load an unload
 * belongs to is not recorded: the thread's last one without.
 */
#ifndef CUFENCE_SET_UPS_H
#define CUFENCE_SET_UPS_H

#include "db.h"
#include "run_columns.h"

struct set_up {
	uint32_t thread;
	uint32_t line;       /* number of the line that loads the code */
	int64_t from, until; /* entry of its first call, return of its last one, ns */
	uint64_t code;       /* a hash of what it sets up; 0: unknown */
	uint32_t loaded;     /* modules that it loaded and that are not unloaded yet */
	uint32_t ended_by;   /* the set-up that unloaded the last one, 0: none */
	int loads, unloads;
	int is_repeated; /* nothing of it is needed if the set-up before it is kept */
};

/* Zero-initialized is empty. */
struct set_ups {
	struct set_up *list; /* by thread, then in order of time; the first one is no set-up */
	size_t count, lines;
};

/* Returns 0, or -1 after a message; call set_ups_release() in any case. */
int set_ups_find(struct set_ups *set_ups, const struct run *run, struct db *db);

/* Returns the first one of a thread that ends after a time; NULL: none. */
const struct set_up *set_ups_first(const struct set_ups *set_ups, uint32_t thread, int64_t after);

void set_ups_release(struct set_ups *set_ups);

#endif
