/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One more run of a program, with a library below the recorder that changes it: the program's
 * output is kept, hashed and not shown.
 */
#ifndef CUFENCE_RERUN_H
#define CUFENCE_RERUN_H

#include <stdint.h>

#include "db.h"
#include "run.h"
#include "run_folder.h"

/* How to run it. */
struct rerun_request {
	char **command;
	const char *sanitizer; /* struct program */
	int simulated, guarded;
	const char *library; /* beside the recorder, or NULL */
	const char *needs;   /* who needs the library, for a message */
	const char *output;  /* a file that the program writes, compared too; or NULL */
	const char
		*check; /* a shell's command, run after it: its output and status count; or NULL */
	unsigned most;  /* seconds after which it is killed, 0: never */
	const struct run_setting *setting; /* added to the recorder's environment */
};

struct rerun {
	struct run_folder folder;
	char *plan, *stdout_file; /* files in the folder */
	int descriptor;           /* of the latter */
	int status;
	uint64_t wrote; /* hash of its stdout, its output file, its exit status and the check */
};

/* Makes the files of a run, beside the database: 0, or -1 after a message. */
int rerun_open(struct rerun *rerun, const char *database);
void rerun_close(struct rerun *rerun);

/* Writes the plan of the library and maps it: to be unmapped.  NULL after a message. */
void *rerun_plan(const struct rerun *rerun, const void *plan, size_t bytes);

/*
 * Runs the program to its end, and lists its traces: 0, or -1 after a message if it could not be
 * started.
 */
int rerun_program(struct rerun *rerun, const struct rerun_request *request);

/* Loads and analyzes its traces into a database in its folder, opened for access; as db_open(). */
int rerun_load(struct rerun *rerun, struct db *db, enum db_access access);

#endif
