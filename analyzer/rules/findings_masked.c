/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits that cost little by themselves, because something else blocks the work after them: a copy
 * that waits for a kernel, and the next kernel waits for the legacy default stream.  Fixing one of
 * the two saves little.  The waits of each rule are collected a second time.  If the rule has no
 * finding that is shown, they become one, provided that the run saves more without them and the
 * shown findings than without the shown findings alone.  The difference is their saving.
 */
#include "constants.h"
#include "findings_parts.h"

static void change_shown(const struct findings *findings, struct savings *savings, int64_t process)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == process && findings->finding[i]->replayed &&
			finding_is_shown(findings->finding[i]))
			finding_change(savings, findings->finding[i]);
}

static int is_candidate(const struct findings *findings, const struct finding *masked,
	int64_t process)
{
	if (masked->process != process || masked->cost.count < FINDING_MIN_COUNT)
		return 0;
	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == process &&
			findings->finding[i]->rule == masked->rule &&
			finding_is_shown(findings->finding[i]))
			return 0;
	return 1;
}

/* Changes the calls of all shown findings and candidates except one (NULL: none). */
static void change_all_but(const struct findings *findings, struct savings *savings,
	int64_t process, const struct finding *but)
{
	change_shown(findings, savings, process);
	for (size_t i = 0; i < findings->masked_count; i++)
		if (findings->masked[i] != but &&
			is_candidate(findings, findings->masked[i], process))
			finding_change(savings, findings->masked[i]);
}

/* Sets its saving: the saving of all findings together minus that without it. */
static int set_saving(struct findings *findings, struct savings *savings, struct finding *masked,
	const struct saving *all)
{
	int64_t without = 0;
	int replayed;

	change_all_but(findings, savings, masked->process, masked);
	replayed = savings_estimate_best(savings, masked->process, &without);
	if (replayed < 0)
		return -1;
	masked->saving = (struct saving){ all->best - without,
		all->low > without ? all->low - without : 0, all->high - without };
	masked->replayed = 1;
	for (size_t i = 0; i < masked->count; i++)
		masked->place[i]->worst.masked = 1;
	return finding_weigh(findings, masked);
}

static int unmask_process(struct findings *findings, struct savings *savings, int64_t process)
{
	struct finding *first = NULL;
	struct saving all;
	int64_t shown = 0;
	int rc;

	for (size_t i = 0; i < findings->masked_count && !first; i++)
		if (is_candidate(findings, findings->masked[i], process))
			first = findings->masked[i];
	if (!first)
		return 0;
	change_shown(findings, savings, process);
	rc = savings_estimate_best(savings, process, &shown);
	if (rc <= 0)
		return rc;
	change_all_but(findings, savings, process, NULL);
	if (finding_add_takers(savings, first))
		return -1;
	change_all_but(findings, savings, process, NULL);
	rc = savings_estimate(savings, process, &all);
	if (rc <= 0 || all.best - shown < SHOWN_MIN_NS)
		return rc < 0 ? -1 : 0;
	for (size_t i = 0; i < findings->masked_count; i++)
		if (is_candidate(findings, findings->masked[i], process) &&
			set_saving(findings, savings, findings->masked[i], &all))
			return -1;
	return 0;
}

/* Replaces the finding of its rule that is not shown. */
static int add_masked(struct findings *findings, struct finding *masked)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == masked->process &&
			findings->finding[i]->rule == masked->rule) {
			findings->finding[i] = masked;
			return 0;
		}
	return finding_list_add(&findings->finding, &findings->count, masked);
}

static int add_shown(struct findings *findings)
{
	for (size_t i = 0; i < findings->masked_count; i++)
		if (findings->masked[i]->replayed && finding_is_shown(findings->masked[i]) &&
			add_masked(findings, findings->masked[i]))
			return -1;
	return 0;
}

int findings_unmask(struct findings *findings, struct savings *savings)
{
	for (size_t i = 0; i < findings->masked_count; i++)
		finding_collect_lines(findings->masked[i]);
	for (size_t i = 0; i < findings->runs.size; i++)
		if (findings->runs.slot[i].object &&
			unmask_process(findings, savings, findings->runs.slot[i].id))
			return -1;
	return add_shown(findings);
}
