/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What findings of a process save together, and each of them after others; and with all other waits
 * that the source can do without.
 */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "findings_internal.h"
#include "rows.h"
#include "run_columns.h"

/* At most two findings for each rule: the first ones are shown. */
struct together {
	struct replay *replay;
	struct finding *finding[2 * RULE_COUNT];
	size_t count;
};

static struct together shown_together(struct findings *findings, int64_t process)
{
	struct together shown = { .replay = savings_of(findings->savings, process) };

	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = findings->finding[i];

		if (finding->process == process && finding->replayed && finding_is_shown(finding))
			shown.finding[shown.count++] = finding;
	}
	return shown;
}

/* Changes the first ones, and another one (NULL: none), for the next estimate. */
static void change_first(const struct together *together, size_t count, const struct finding *also)
{
	for (size_t i = 0; i < count; i++)
		finding_change(together->replay, together->finding[i]);
	if (also)
		finding_change(together->replay, also);
}

/* Returns what they save. */
static int64_t saved_together(const struct together *together, size_t count,
	const struct finding *also)
{
	int64_t best = 0;

	change_first(together, count, also);
	savings_estimate_best(together->replay, SEARCH_ORDER, &best);
	return best;
}

/* Sets what a finding saves beyond the first ones.  Returns whether it is shown. */
enum { REPLAYS_BEYOND = REPLAYS_OF_BEST + REPLAYS_OF_ESTIMATE };
static int set_beyond(const struct findings *findings, struct finding *finding,
	const struct together *together, size_t count)
{
	int64_t others = saved_together(together, count, NULL);
	struct saving *saving = &finding->saving;

	change_first(together, count, finding);
	if (savings_estimate(together->replay, saving)) {
		*saving = (struct saving){ at_least(saving->best - others, 0),
			at_least(saving->low - others, 0), at_least(saving->high - others, 0) };
		finding->replayed = 1;
		finding_weigh(findings, finding);
	}
	return finding->replayed && finding_is_shown(finding);
}

/*
 * A finding of waits that others may hide becomes one of its process, in place of one of its rule
 * that is not shown.  It says that others hide it if alone it saves much less.
 */
static void unmask(struct findings *findings, struct finding *finding,
	const struct together *together)
{
	int64_t alone = saved_together(together, 0, finding);

	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == finding->process &&
			findings->finding[i]->rule == finding->rule)
			findings->finding[i]->masked = 1;
	finding->masked = 0;
	for (size_t i = 0; i < finding->count; i++)
		finding->place[i]->worst.masked = JOINED_FACTOR * alone < finding->saving.best;
	finding_replay_lines(together->replay, finding);
}

/*
 * Finds the order in which to fix the findings: next is the one that saves most once those before
 * it are fixed.  If that is less than its own saving can be, its first place says so.
 *
 * Waits may cost little by themselves because something else blocks the work after them: a copy
 * that waits for a kernel, and the next kernel waits for the legacy default stream.  Fixing one of
 * the two saves little.  The waits of each rule are collected a second time.  If the rule has no
 * finding that is shown, they become one if they save enough once all others are fixed.
 */
static void order_fixes(struct findings *findings, int64_t process)
{
	struct together all = shown_together(findings, process);
	size_t shown = all.count, at, fixed = 0;
	int64_t before = 0, most;
	uint64_t after = 0;

	for (size_t i = 0; i < findings->count; i++) {
		struct finding *masked = findings->finding[i];

		for (at = 0; at < shown && all.finding[at]->rule != masked->rule;)
			at++;
		if (masked->process == process && masked->masked && at == shown &&
			masked->cost.count >= FINDING_MIN_COUNT)
			all.finding[all.count++] = masked;
	}
	/* A single one has no order. */
	for (; fixed < all.count && (all.count > 1 || !shown); fixed++) {
		size_t count = fixed < shown ? shown : all.count, best = fixed;
		struct finding *next;

		if (!savings_has_room(all.replay, SEARCH_ORDER,
			    count - fixed + (fixed < shown ? 0 : REPLAYS_OF_BEST + REPLAYS_BEYOND)))
			break;
		most = -1;
		for (size_t i = fixed; i < count; i++) {
			int64_t saved = saved_together(&all, fixed, all.finding[i]);

			if (saved <= most)
				continue;
			most = saved;
			best = i;
		}
		next = all.finding[best];
		all.finding[best] = all.finding[fixed];
		all.finding[fixed] = next;
		if (fixed >= shown) {
			if (most - before < SHOWN_MIN_NS ||
				!set_beyond(findings, next, &all, fixed))
				break;
			unmask(findings, next, &all);
		}
		next->place[0]->then = at_least(most - before, 0);
		if (next->place[0]->then < next->saving.low && fixed < shown)
			next->place[0]->after = after;
		after |= (uint64_t)1 << next->rule;
		before = at_least(most, before);
	}
}

/*
 * Computes the saving of the host's own speed once all other shown findings are fixed: calls that
 * are not made need not be faster.  It is advice, unless it is a large part of a turn.
 */
static void replay_pace(struct findings *findings, struct finding *finding)
{
	struct together shown = shown_together(findings, finding->process);

	if (savings_has_room(shown.replay, SEARCH_FINDING, REPLAYS_BEYOND))
		set_beyond(findings, finding, &shown, shown.count);
	if (!finding->replayed || finding->part.share < LAUNCH_BOUND_PERCENT / 100.0)
		for (size_t i = 0; i < finding->count; i++)
			finding->place[i]->worst.confidence = CONFIDENCE_POSSIBLE;
	if (finding->replayed)
		finding_replay_lines(shown.replay, finding);
}

/* --- all of a process --- */

/* Is it shown, of that process? */
static int is_summed(const struct finding *finding, int64_t process)
{
	return finding->process == process && !finding->masked && finding_is_shown(finding);
}

/*
 * Sets the saving of all shown findings together.  The savings of those that were not replayed are
 * bounded, of a rank also by a replay in which the other ranks come as they did.
 */
static void replay_shown(struct findings *findings, int64_t process, const struct run_length *run)
{
	struct replay *bounded = savings_bound_of(findings->savings, process);
	struct replay_row *row = savings_row(findings->savings, process);
	struct together shown = shown_together(findings, process);
	struct cost cost = { 0 }, others = { 0 };
	struct saving saving = { 0 };
	struct part part;
	int64_t bound, most;
	int replayed, are_bounded = 1;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		if (!is_summed(finding, process))
			continue;
		cost_add(&cost, &finding->cost);
		if (!finding->replayed)
			cost_add(&others, &finding->cost);
		if (rule_is_fence(finding->rule))
			continue;
		are_bounded &= finding->is_bounded;
		finding_change(bounded, finding);
	}
	bound = cost_bound(&others, run);
	if (savings_estimate_best(bounded, SEARCH_FINDING, &most) && are_bounded)
		bound = at_most(bound, most);
	change_first(&shown, shown.count, NULL);
	replayed = savings_estimate(shown.replay, &saving);
	if (!row)
		return;
	row->has_findings = 1;
	if (!replayed && !bound)
		return;
	row->saving = replayed ? saving.best : bound;
	row->low = replayed ? saving.low : DB_NULL;
	row->high = replayed ? saving.high + bound : DB_NULL;
	part = findings_part(findings, process, row->saving, &cost);
	row->share = part.share;
	row->turn_saving = part.turns ? part.turn : DB_NULL;
}

/*
 * The ceiling of a loop: what a turn would take without any wait that the source can do without,
 * whether its own saving is worth a finding or not, and if the host waited for no result at all.
 * It says how much of a turn waits account for, and so whether the shown findings are all there is.
 */
static void replay_ceiling(struct findings *findings, const struct run_loop *loop)
{
	struct replay *replay = savings_of(findings->savings, loop->process);
	struct replay_row *row = savings_row(findings->savings, loop->process);
	struct ceiling ceiling[2];

	for (int unread = 0; unread < 2; unread++) {
		for (size_t i = 0; i < findings->count; i++) {
			const struct finding *finding = findings->finding[i];

			/* How calls could do without their waits must be more than a guess. */
			if (finding->process != loop->process || rule_is_fence(finding->rule) ||
				rules[finding->rule].group == GROUP_pace ||
				finding_confidence(finding) < CONFIDENCE_LIKELY)
				continue;
			for (size_t k = 0; k < finding->count; k++)
				if (unread || !finding->place[k]->worst.reads)
					savings_change(replay, finding->place[k]->changed,
						finding->place[k]->changed_count);
		}
		if (!savings_estimate_ceiling(replay, unread, loop, &ceiling[unread]))
			return;
	}
	/* A replay with more changes may take a little longer. */
	if (ceiling[1].saving < ceiling[0].saving)
		ceiling[1] = ceiling[0];
	for (int unread = 0; unread < 2; unread++) {
		row->ceiling[unread] = ceiling[unread].saving / (int64_t)loop->turns;
		row->blocked[unread] = ceiling[unread].blocked / (int64_t)loop->turns;
	}
}

void findings_replay_together(struct findings *findings, int64_t process)
{
	const struct run_length *run = id_map_get(&findings->runs, process);
	const struct run_loop *loop = run_loop_of(&findings->db->run->evidence, process);

	if (run)
		order_fixes(findings, process);
	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == process &&
			rules[findings->finding[i]->rule].group == GROUP_pace &&
			finding_is_wanted(findings, findings->finding[i]))
			replay_pace(findings, findings->finding[i]);
	if (run)
		replay_shown(findings, process, run);
	if (loop)
		replay_ceiling(findings, loop);
}

/*
 * Savings of ranks are bounds as long as the others are not known (savings_bound_of()).  "cufence
 * merge" replays all of them together, and needs the steps of each, and how a fix of each place
 * changes them.
 */
int findings_pack_ranks(struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(findings->db, "SELECT id FROM process");
	int step = q ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, 0);
		struct replay *replay = savings_bound_of(findings->savings, process);
		struct packed packed = replay ? joint_pack(replay) : (struct packed){ NULL, 0 };

		step = 0;
		if (!packed.data)
			continue;
		step = db_add(findings->db,
			ROW(rank_replay, process, cell_bytes(packed.data, packed.size)));
		free(packed.data);
		for (size_t i = 0; i < findings->count && !step; i++) {
			const struct finding *finding = findings->finding[i];

			if (!is_summed(finding, process) || rule_is_fence(finding->rule))
				continue;
			for (size_t k = 0; k < finding->count; k++) {
				struct finding_place *place = finding->place[k];

				savings_change(replay, place->changed, place->changed_count);
				place->changes = joint_pack_changes(replay);
			}
		}
	}
	sqlite3_finalize(q);
	return step;
}
