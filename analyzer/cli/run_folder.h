/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private folder in which the processes of a "cufence run" leave their traces: NAME.db.traces-
 * and six letters.  It is removed when the run ends, unless its traces are still needed: then a
 * message names it and the command that loads it.
 */
#ifndef CUFENCE_RUN_FOLDER_H
#define CUFENCE_RUN_FOLDER_H

#include <stddef.h>

struct run_folder {
	char *path; /* absolute */
	char *load; /* the command that loads the traces into the database */
	char *note; /* the line that names it if cufence is killed */
	char **trace;
	size_t count;
	size_t running;   /* processes that may still write into it */
	long running_pid; /* one of them */
};

/* Creates the folder for a run that makes this database: 0, or -1 after a message. */
int run_folder_create(struct run_folder *folder, const char *database);

/* Finds the traces and the processes that may still write some: 0 or -1. */
int run_folder_list(struct run_folder *folder);

/* Removes the folder.  With keep, or while processes run, it stays and a message says so. */
void run_folder_release(struct run_folder *folder, int keep);

#endif
