/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private folder in which the processes of a "cufence run" leave their traces: NAME.db.traces-
 * and six letters.  It goes when the run ends, with all that is in it, unless somebody may still
 * want it: then it is named, with the command that loads it.
 */
#ifndef CUFENCE_RUN_FOLDER_H
#define CUFENCE_RUN_FOLDER_H

#include <stddef.h>

struct run_folder {
	char *path; /* absolute */
	char *load; /* the command that loads what is in it into the database */
	char *note; /* a line that says so, should this end sooner */
	char **trace;
	size_t count;
	size_t running;   /* processes that may still write there */
	long running_pid; /* one of them */
};

/* For a run that makes this database: 0, or -1 after a message. */
int run_folder_create(struct run_folder *folder, const char *database);

/* Finds the traces, and who may still write some: 0 or -1. */
int run_folder_list(struct run_folder *folder);

/* Removes it, unless keep, or unless processes are still running; says so then. */
void run_folder_release(struct run_folder *folder, int keep);

#endif
