/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One more run of a program, in a private folder with its traces, its plan for the library that
 * holds streams, its stdout and its database.  The folder is removed when the run is closed.
 */
#ifndef CUFENCE_RERUN_H
#define CUFENCE_RERUN_H

#include "db.h"
#include "hold_plan.h"
#include "run.h"
#include "run_folder.h"

struct rerun {
	struct run_folder folder;
	char *plan, *output; /* files in the folder */
	int descriptor;      /* of the file output */
	int status;          /* as run_program() returns it */
	uint64_t wrote;      /* hash of its stdout, its output file and its exit status */
};

struct rerun_request {
	char **command;
	const char *output;    /* a file that the program writes, or NULL */
	const char *sanitizer; /* as in run_environment */
	int simulated, hold, guard;
	unsigned most; /* seconds, as in run_environment */
	const struct run_setting *setting;
};

/* Each: 0, or -1 after a message.  Close it in any case. */

/* database: the folder is made beside it. */
int rerun_open(struct rerun *rerun, const char *database);
/* The traces are listed after that. */
int rerun_run(struct rerun *rerun, const struct rerun_request *request);
/* Loads the traces into a database in the folder, and opens it. */
int rerun_load(struct rerun *rerun, struct db *db);
void rerun_close(struct rerun *rerun);

/* Writes the plan's file and maps it: for munmap(), or NULL after a message. */
struct hold_plan *rerun_plan(const struct rerun *rerun, const struct hold_plan *plan);

#endif
