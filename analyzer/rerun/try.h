/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of "cufence try".  A set of trials is applied together: of one finding, or of several.
 */
#ifndef CUFENCE_TRY_H
#define CUFENCE_TRY_H

#include "command.h"
#include "run.h"
#include "trial.h"

enum { TRY_MOST_PAIRS = 100 };

struct try_request {
	const struct arguments *arguments;
	const char *database;
	const char *findings; /* "1,2"; NULL: all */
	char **command;
	struct program program;
	int simulated, pairs;
};

/*
 * Judges the set in a run of its own, and refuses the last one of it if something needs what the
 * set leaves out: 0, or -1 after a message.  db: of the findings.
 */
int try_judge(const struct try_request *request, struct trial *const *set, size_t count,
	struct db *db);

/*
 * Runs without and with the set, in turn.  What became of each fix is in the trials; differs: the
 * output is another one, and that is not so by itself.  0, or -1 after a message.
 */
int try_measure(const struct try_request *request, struct trial *const *set, size_t count,
	struct trial_saving *saving, int *differs);

#endif
