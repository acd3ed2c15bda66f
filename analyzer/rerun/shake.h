/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runs of "cufence shake".  The plain one is recorded as "cufence run" does.  In those that
 * follow the plan of a seed holds streams and answers queries (shake_plan.h); they are recorded in
 * host mode, which finds races and nothing else.
 *
 * A race that the plain run has not is kept with the first seed that shows it, and that seed's plan
 * is shortened while the race still shows.  The database is made from the traces of the plain run
 * and of these seeds.
 */
#ifndef CUFENCE_SHAKE_H
#define CUFENCE_SHAKE_H

#include "rerun.h"
#include "shake_plan.h"

struct shake_request {
	char **command;
	const char *database; /* to write */
	const char *check;    /* a shell command that judges the program's stdout, or NULL */
	int simulated, guard;
	uint64_t seed; /* of the first run */
	uint32_t runs;
};

/* A run with a seed. */
struct shaken {
	struct rerun rerun; /* closed, unless is_kept */
	uint64_t seed;
	uint64_t ns;           /* how long it ran */
	struct hold_plan plan; /* with what became of it */
	int is_kept;           /* the first one that shows a race */
	int is_ended;          /* it took too long */
	int is_wrong;          /* its output is not the plain run's */
	size_t *shown;         /* the races that it shows */
	size_t shows;
};

struct shake_race {
	char *fingerprint, *rule, *level, *message, *place;
	int is_plain;  /* the plain run has it */
	uint32_t runs; /* with a seed that show it */
	size_t first;  /* of these the first; valid if runs */
	int count;     /* holds and answers that it needs; -1: not tried with fewer */
	struct shake_action needs[SHAKE_ACTIONS];
};

struct shake {
	const struct shake_request *request;
	char *sanitizer;
	struct shake_calls calls;
	struct rerun plain;
	uint64_t plain_ns; /* how long it ran */
	uint64_t budget;   /* of all holds of a run together, ns */
	uint64_t checked;  /* hash of its output */
	struct shaken *run;
	size_t runs;
	struct shake_race *race;
	size_t races;
};

/* Makes all runs, and the database.  0, or -1 after a message; release it in any case. */
int shake_make(struct shake *shake, const struct shake_request *request);
void shake_release(struct shake *shake);

/* Tries fewer holds and answers, for each race that the plain run has not. */
int shake_shorten(struct shake *shake);

/*
 * Runs the program with a plan; seed 0: without any, as "cufence run" does.  plan: returned with
 * what became of it.  Adds what the run shows to the races, as run number "at"; db: opened.
 */
int shake_run(struct shake *shake, struct rerun *rerun, struct hold_plan *plan, uint64_t seed);

/* Whether a run that was made with shake_run() shows the race: -1 after a message. */
int shake_shows(struct rerun *rerun, const char *fingerprint);

/* "the stream held ...; ...", to be freed: what a race needs. */
char *shake_needs_text(const struct shake *shake, const struct shake_race *race);

void shake_print(const struct shake *shake, FILE *out);

#endif
