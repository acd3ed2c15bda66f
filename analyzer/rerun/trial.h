/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trial of a finding's fix: which calls are made how, what forbids it, and what it saved.
 * trial.c reads the finding and says what came of it, treatable.c finds its calls, movable.c those
 * that are apart from them, judge.c judges a run in which the fix was applied.
 */
#ifndef CUFENCE_TRIAL_H
#define CUFENCE_TRIAL_H

#include "db.h"
#include "fix_plan.h"

/* The treated calls keep nothing in order any more: a run has to show that nothing needs it. */
#define TREATMENT_UNORDERS(treatment) \
	((treatment) == FIX_LEAVE_OUT || (treatment) == FIX_PUT_OFF || (treatment) == FIX_ONCE || \
		(treatment) == FIX_REMEMBER || (treatment) == FIX_STAGE || \
		(treatment) == FIX_MOVE)

/* What came of it; trial_results[] has the names of table trial. */
enum trial_result { TRIAL_TRIED, TRIAL_REFUSED, TRIAL_NOT_APPLIED, TRIAL_OUTPUT, TRIAL_RESULTS };
extern const char *const trial_results[TRIAL_RESULTS];

/* Times of a fix: ns, the median of the differences and their range. */
struct trial_saving {
	int64_t saved, least, most;
	int runs; /* pairs of runs; 0: not measured */
};

struct trial {
	int64_t finding;
	char *rule, *fingerprint;
	int64_t predicted, low, high; /* ns; low and high DB_NULL: at most predicted */
	struct fix_finding fix;       /* with what became of it in the last run */
	struct trial_place {
		struct fix_place place;
		int64_t site;
	} * place;
	size_t places;
	uint64_t image[FIX_IMAGES]; /* FIX_REMEMBER: fix_plan.images */
	unsigned images;
	int pairs, timed,
		ordered; /* FIX_FENCE: of a run with it; of the timed pairs those in order */
	enum trial_result result;
	char *refusal;         /* TRIAL_REFUSED: why; else NULL */
	const char *untreated; /* a function of the finding's that is called as before, or NULL */
	const char *why;       /* why it is */
	struct trial_saving saving;
	int differs; /* the output is another one with the fix, and is not so by itself */
};

/*
 * Reads a finding and lists its calls, or refuses: 0, or -1 after a message.  Release it in either
 * case.
 */
int trial_of_finding(struct trial *trial, struct db *db, int64_t finding);
void trial_release(struct trial *trial);

/* Refuses for the reason that a query answers; not if that is NULL, or no row. */
int trial_refuse_by(struct trial *trial, struct db *db, const char *sql);

/* Refuses with a reason: 0, or -1 out of memory. */
int trial_refuse(struct trial *trial, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* treatable.c: lists the finding's calls, or refuses: 0, or -1 after a message. */
int trial_find_calls(struct trial *trial, struct db *db);

/* Adds calls of that function at a site, or refuses: 0, or -1 after a message. */
int trial_add_place(struct trial *trial, struct db *db, int64_t site, const char *name,
	enum fix_side side);

/*
 * movable.c: the places have calls that are to be moved.  Adds those that are apart from them, or
 * refuses: 0, or -1 after a message.
 */
int trial_find_apart(struct trial *trial, struct db *db);

/* 1: findings of the rule can be treated, though they save no time. */
int trial_adds_order(const char *rule);

/* The plan that applies several of them.  Returns 0, or -1: they have too many calls. */
int trial_plan(struct fix_plan *plan, struct trial *const *trials, size_t count);

/*
 * Looks in a run in which the fixes were applied, under the guard of host memory, for what the
 * treated calls kept in order, and refuses the trial if there is something.  run is changed: to be
 * deleted.  0, or -1 after a message.
 */
int trial_judge(struct trial *trial, const struct fix_plan *plan, struct db *run);

/*
 * Counts in a run in which a fence was added, and whose operations were timed, how often the two
 * operations of the finding were in order, and refuses the trial if they were not each time.
 * 0, or -1 after a message.
 */
int trial_judge_order(struct trial *trial, struct db *run, struct db *db);

/* The result of its runs: FIX_EAGER counts no calls. */
void trial_conclude(struct trial *trial);

/* One line, and the row of table trial. */
void trial_print(const struct trial *trial, FILE *out);
int trial_store(const struct trial *trial, struct db *db);

/* "saved 46 ms (...)", with what was predicted; NULL: nothing was, "costs 2 us (...)", too. */
void trial_say_saving(const struct trial_saving *saving, const struct trial *predicts, FILE *out);

/*
 * Writes a file of these fixes (trace/fix_file.h) from the database of their findings.  0, or -1
 * after a message.
 */
int trial_keep(const char *path, struct trial *const *trials, size_t count, struct db *db);

#endif
