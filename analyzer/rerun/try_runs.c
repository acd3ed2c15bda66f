/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "print.h"
#include "rerun.h"
#include "try.h"

/* A run of the program. */
struct measured {
	int64_t time; /* ns, from its first CUDA call until all is done */
	uint64_t wrote;
};

static const struct fix_plan bare = { .magic = FIX_MAGIC };

static int has_treatment(const struct fix_plan *plan, enum fix_treatment treatment)
{
	for (uint32_t i = 0; i < plan->findings_count; i++)
		if (plan->findings[i].treatment == treatment)
			return 1;
	return 0;
}

/* mode: CUFENCE_MODE, NULL: operations are timed.  plan: with what became of it. */
static int run_once(const struct try_request *request, struct fix_plan *plan, const char *mode,
	int guarded, struct rerun *rerun, struct measured *measured)
{
	int is_eager = has_treatment(plan, FIX_EAGER);
	const struct run_setting settings[] = { { "CUFENCE_FIX", rerun->plan },
		{ "CUFENCE_MODE", mode }, { "CUFENCE_GUARD_HOST", guarded ? "1" : NULL },
		{ "CUDA_MODULE_LOADING", is_eager ? "EAGER" : NULL }, { 0 } };
	const struct rerun_request again = { .command = request->command,
		.sanitizer = request->program.sanitizer,
		.simulated = request->simulated,
		.guarded = guarded,
		.library = "libcufence-try.so",
		.needs = "\"try\"",
		.output = option(request->arguments, "--output"),
		.check = option(request->arguments, "--check"),
		.setting = settings };
	struct fix_plan *mapped = rerun_plan(rerun, plan, sizeof(*plan));
	int rc = !mapped || rerun_program(rerun, &again);

	if (!rc) {
		measured->wrote = rerun->wrote;
		memcpy(plan, mapped, sizeof(*plan));
		measured->time = (int64_t)(plan->ended - plan->began);
		if (!plan->began || plan->ended < plan->began) {
			print(stderr,
				"cufence try: the fix was not loaded: the program makes no CUDA "
				"call, or its driver is too old\n");
			rc = -1;
		}
	}
	if (mapped)
		munmap(mapped, sizeof(*mapped));
	return rc ? -1 : 0;
}

static int measure(const struct try_request *request, struct fix_plan *plan,
	struct measured *measured)
{
	struct rerun rerun;
	int rc = rerun_open(&rerun, request->database) ||
		run_once(request, plan, "host", 0, &rerun, measured);

	rerun_close(&rerun);
	return rc ? -1 : 0;
}

static int make_plan(struct fix_plan *plan, struct trial *const *set, size_t count)
{
	if (!trial_plan(plan, set, count))
		return 0;
	print(stderr, "cufence try: these findings have too many calls together\n");
	return -1;
}

/* In a run under the guard, or for a fence in one whose operations are timed. */
static int judge(const struct try_request *request, struct fix_plan *plan, struct trial *trial,
	int is_fence, struct db *db)
{
	struct measured measured;
	struct rerun rerun;
	struct db run;
	int rc = rerun_open(&rerun, request->database) ||
		run_once(request, plan, is_fence ? NULL : "host", !is_fence, &rerun, &measured) ||
		rerun_load(&rerun, &run, DB_WRITE);

	if (!rc) {
		rc = is_fence ? trial_judge_order(trial, &run, db) : trial_judge(trial, plan, &run);
		db_close(&run);
	}
	rerun_close(&rerun);
	return rc ? -1 : 0;
}

int try_judge(const struct try_request *request, struct trial *const *set, size_t count,
	struct db *db)
{
	struct trial *last = set[count - 1];
	struct fix_plan plan;
	int unorders = 0;

	if (make_plan(&plan, set, count))
		return -1;
	for (size_t i = 0; i < count; i++)
		unorders |= TREATMENT_UNORDERS(set[i]->fix.treatment);
	if (unorders && judge(request, &plan, last, 0, db))
		return -1;
	if (last->result != TRIAL_TRIED || last->fix.treatment != FIX_FENCE)
		return 0;
	last->pairs = last->timed = last->ordered = 0;
	return make_plan(&plan, set, count) || judge(request, &plan, last, 1, db);
}

static int compare(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;

	return (a > b) - (a < b);
}

int try_measure(const struct try_request *request, struct trial *const *set, size_t count,
	struct trial_saving *saving, int *differs)
{
	int64_t saved[TRY_MOST_PAIRS];
	uint64_t wrote = 0;
	int is_steady = 1;

	*differs = 0;
	for (int i = 0; i < request->pairs; i++) {
		struct measured without, with;
		struct fix_plan none = bare, plan;

		if (make_plan(&plan, set, count) || measure(request, &none, &without) ||
			measure(request, &plan, &with))
			return -1;
		is_steady = is_steady && (!i || wrote == without.wrote);
		wrote = without.wrote;
		*differs |= with.wrote != without.wrote;
		saved[i] = without.time - with.time;
		for (size_t k = 0; k < count; k++)
			set[k]->fix = plan.findings[k];
	}
	/* An output that differs by itself says nothing. */
	*differs = *differs && is_steady;
	qsort(saved, (size_t)request->pairs, sizeof(*saved), compare);
	*saving = (struct trial_saving){ saved[request->pairs / 2], saved[0],
		saved[request->pairs - 1], request->pairs };
	return 0;
}
