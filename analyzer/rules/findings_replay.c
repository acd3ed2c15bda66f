/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Savings of findings, by replays of the run: each finding with all its places changed, each line
 * of findings with several lines, and all shown findings together.  savings_has_room() limits them:
 * the findings of the highest bounds come first, then lines of the highest cost, then the order of
 * fixes.
 */
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "compare.h"
#include "constants.h"
#include "findings_internal.h"
#include "memory.h"
#include "places.h"
#include "run_columns.h"
#include "words.h"
#include "workers.h"

static void change_place(struct replay *replay, const struct finding_place *place)
{
	savings_change(replay, place->changed, place->changed_count);
}

/* Changes its calls for the next estimate. */
static void change_finding(struct replay *replay, const struct finding *finding)
{
	for (size_t i = 0; i < finding->count; i++)
		change_place(replay, finding->place[i]);
}

/*
 * Findings that cost no time are not replayed.  Of some only a replay tells what they save: a read
 * may save enough once other reads, which would wait in its place, are left out, too.
 */
static int is_wanted(const struct findings *findings, const struct finding *finding)
{
	const struct cost *cost = &finding->cost;

	if (rule_is_fence(finding->rule) || finding->masked)
		return 0;
	return finding_is_worth_it(finding) ||
		(finding->place[0]->worst.only_replay && cost->waited >= SHOWN_MIN_NS &&
			findings_part(findings, finding->process, cost->waited, cost).share >=
				FINDING_MIN_PERCENT / 100.0);
}

/*
 * --- sets ---
 *
 * What saves time only together is one finding: with the calls that would wait, or delay streams,
 * instead of its own.
 */

/*
 * Waits that nothing is known to need may be left out with others, however little each costs; so
 * may streams' waits for events that cover too much.  Other rules leave out waits for results,
 * which are needed.
 */
static void admit(struct replay *replay, const struct finding *finding)
{
	int orders = finding->rule == RULE_false_dependency;

	if (finding->rule != RULE_needless_wait && finding->rule != RULE_redundant_sync && !orders)
		return;
	for (size_t i = 0; i < finding->count; i++) {
		const struct finding_place *place = finding->place[i];

		for (size_t k = 0; k < place->changed_count; k++)
			if (place->changed[k].change & (CHANGE_CALL | CHANGE_ORDER))
				savings_admit(replay, place->changed[k].call,
					orders ? CHANGE_ORDER : CHANGE_WAIT);
	}
}

/*
 * Returns 1 if another finding of the process takes the call out of the order of streams, at that
 * line; -1 after a message.
 */
static int has_own_finding(struct findings *findings, const struct finding *finding,
	const struct changed_call *taker)
{
	int64_t line;

	db_lock(findings->db);
	line = places_line(findings->places, taker->call);
	db_unlock(findings->db);
	for (size_t i = 0; i < findings->count && taker->change == CHANGE_ORDER; i++) {
		const struct finding *other = findings->finding[i];

		for (size_t k = 0; k < other->count && other != finding &&
			other->process == finding->process && !other->masked;
			k++)
			if (other->place[k]->worst.change == CHANGE_ORDER &&
				other->place[k]->site == line)
				return 1;
	}
	return line < 0 ? -1 : 0;
}

/* Adds what would wait or delay instead to the finding.  Returns 0, or -1 after a message. */
static int add_takers(struct findings *findings, struct replay *replay, struct finding *finding)
{
	struct finding_place *place = finding->place[0];
	struct changed_call taker[2 * TAKER_ROUNDS];
	size_t count = savings_find_takers(replay, taker, 2 * TAKER_ROUNDS);
	int64_t together = 0, without;

	change_finding(replay, finding);
	savings_change(replay, taker, count);
	savings_estimate_best(replay, SEARCH_FINDING, &together);
	/* The smallest set: what the others save as much without is no part of it. */
	for (size_t i = count; count > 1 && i-- > 0 &&
		savings_has_room(replay, SEARCH_ORDER, REPLAYS_OF_BEST + REPLAYS_OF_ESTIMATE);) {
		struct changed_call last = taker[count - 1], one = taker[i];

		taker[i] = last;
		change_finding(replay, finding);
		savings_change(replay, taker, count - 1);
		without = 0;
		savings_estimate_best(replay, SEARCH_FINDING, &without);
		if (without >= together)
			count--;
		else
			taker[i] = one;
	}
	for (size_t i = 0; i < count; i++) {
		int owned = has_own_finding(findings, finding, &taker[i]);

		if (owned < 0)
			return -1;
		if (!owned)
			*array_push(place->changed, place->changed_count) = taker[i];
		if (!owned && taker[i].change == CHANGE_ORDER)
			place->worst.joined = 1;
	}
	return 0;
}

static int replay_finding(struct findings *findings, struct finding *finding)
{
	struct replay *replay = savings_bound_of(findings->savings, finding->process);
	struct finding_line line = { NULL, 0 };
	struct code_frames *frames = words_frames(findings->words);

	if (!is_wanted(findings, finding) || rules[finding->rule].group == GROUP_pace ||
		!savings_has_room(replay, SEARCH_FINDING,
			2 * REPLAYS_OF_BEST + REPLAYS_OF_ESTIMATE))
		return 0;
	/* A fix may do without the copy of a result, too. */
	for (size_t i = 0; i < finding->count; i++) {
		struct finding_place *place = finding->place[i];
		struct advice advice;
		int rc;

		db_lock(findings->db);
		rc = advice_find(findings->db, frames, place->worst.call, place->worst.reads,
			&advice);
		db_unlock(findings->db);
		if (rc)
			return -1;
		for (size_t k = 0; k < place->changed_count && advice.is_unfetched; k++)
			if (place->changed[k].change & CHANGE_WAIT)
				place->changed[k].change |= CHANGE_FETCH;
	}
	change_finding(replay, finding);
	if (add_takers(findings, replay, finding))
		return -1;
	change_finding(replay, finding);
	if (replay != savings_of(findings->savings, finding->process)) {
		finding->is_bounded = savings_estimate_best(replay, SEARCH_FINDING, &finding->most);
		finding_weigh(findings, finding);
		return 0;
	}
	finding->replayed = savings_estimate(replay, &finding->saving);
	finding_next_line(finding, &line);
	for (size_t i = 0; i < line.count && line.count == finding->count; i++) {
		line.place[i]->alone = finding->saving.best;
		line.place[i]->replayed = finding->replayed;
	}
	finding_weigh(findings, finding);
	return 0;
}

/*
 * Replays each line of a finding with several lines.  Where lines take work out of an order of
 * streams, and save most only together, each of them says so.
 */
static void replay_lines(struct replay *replay, struct finding *finding)
{
	struct finding_line line = { NULL, 0 };
	int64_t sum = 0;

	while (finding_next_line(finding, &line) &&
		savings_has_room(replay, SEARCH_LINE, REPLAYS_OF_BEST)) {
		int64_t saving = 0;
		int replayed;

		if (line.place[0]->replayed) {
			sum += line.place[0]->alone;
			continue;
		}
		for (size_t i = 0; i < line.count; i++)
			change_place(replay, line.place[i]);
		replayed = savings_estimate_best(replay, SEARCH_LINE, &saving);
		for (size_t i = 0; i < line.count; i++) {
			line.place[i]->alone = saving;
			line.place[i]->replayed = replayed;
		}
		sum += saving;
	}
	for (size_t i = 0; i < finding->count && JOINED_FACTOR * sum < finding->saving.best; i++)
		finding->place[i]->worst.joined |= finding->place[i]->replayed &&
			finding->place[i]->worst.change == CHANGE_ORDER;
	finding_sort_by_saving(finding);
}

/*
 * --- findings together ---
 *
 * What findings of a process save together, and each of them after others.
 */

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

/* Returns what the first ones save, with another one (NULL: none). */
static int64_t saved_together(const struct together *together, size_t count,
	const struct finding *also)
{
	int64_t best = 0;

	for (size_t i = 0; i < count; i++)
		change_finding(together->replay, together->finding[i]);
	if (also)
		change_finding(together->replay, also);
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

	for (size_t i = 0; i < count; i++)
		change_finding(together->replay, together->finding[i]);
	change_finding(together->replay, finding);
	if (savings_estimate(together->replay, saving)) {
		*saving = (struct saving){ at_least(saving->best - others, 0),
			at_least(saving->low - others, 0), at_least(saving->high - others, 0) };
		finding->replayed = 1;
		finding_weigh(findings, finding);
	}
	return finding->replayed && finding_is_shown(finding);
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
			    count - fixed + (fixed < shown ? 0 : REPLAYS_BEYOND)))
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
			/* It is shown in place of one of its rule that is not. */
			for (size_t i = 0; i < findings->count; i++)
				if (findings->finding[i]->process == process &&
					findings->finding[i]->rule == next->rule)
					findings->finding[i]->masked = 1;
			next->masked = 0;
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
		replay_lines(shown.replay, finding);
}

/* --- all findings of a process --- */

/*
 * Sets the saving of all shown findings together.  The savings of those that were not replayed are
 * bounded.
 */
static void replay_together(struct findings *findings, int64_t process,
	const struct run_length *run)
{
	struct replay_row *row = savings_row(findings->savings, process);
	struct together shown = shown_together(findings, process);
	struct cost cost = { 0 }, others = { 0 };
	struct saving saving = { 0 };
	struct part part;
	int64_t bound;
	int replayed;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		if (finding->process != process || finding->masked || !finding_is_shown(finding))
			continue;
		cost_add(&cost, &finding->cost);
		if (!finding->replayed)
			cost_add(&others, &finding->cost);
	}
	bound = at_most(cost_bound(&others, run), findings_bound_together(findings, process));
	for (size_t i = 0; i < shown.count; i++)
		change_finding(shown.replay, shown.finding[i]);
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

/* --- all processes --- */

/* The highest bound first. */
static int by_bound(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;

	return by_number(y->saving.best, x->saving.best) ?: by_number(x->rule, y->rule)
		?: by_number(x->process, y->process);
}

/* What a worker needs to replay a process. */
struct crew {
	struct findings *findings;
	struct finding **by_bound; /* all findings */
	int64_t *process;
	size_t count;
};

/* Replays a process's findings, and then lines of them.  Returns 0, or -1 after a message. */
static int replay_findings(const struct crew *crew, int64_t process)
{
	struct findings *findings = crew->findings;
	int rc = 0;

	for (size_t i = 0; i < findings->count && !rc; i++)
		if (crew->by_bound[i]->process == process)
			rc = replay_finding(findings, crew->by_bound[i]);
	for (size_t i = 0; i < findings->count && !rc; i++) {
		struct finding *finding = crew->by_bound[i];

		if (finding->process == process && finding->replayed &&
			finding_is_worth_it(finding))
			replay_lines(savings_of(findings->savings, process), finding);
	}
	return rc;
}

/* Writes only to the process's own findings and replay. */
static int replay_process(void *arg, size_t number)
{
	const struct crew *crew = arg;
	struct findings *findings = crew->findings;
	int64_t process = crew->process[number];
	const struct run_evidence *evidence = &findings->db->run->evidence;
	const struct run_length *run = id_map_get(&findings->runs, process);
	const struct run_loop *loop = run_loop_of(evidence, process);

	if (replay_findings(crew, process))
		return -1;
	if (run)
		order_fixes(findings, process);
	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == process &&
			rules[findings->finding[i]->rule].group == GROUP_pace &&
			is_wanted(findings, findings->finding[i]))
			replay_pace(findings, findings->finding[i]);
	if (run)
		replay_together(findings, process, run);
	if (loop)
		findings_replay_ceiling(findings, loop);
	return 0;
}

/* Each process by itself.  Returns 0, or -1 after a message. */
static int replay_processes(struct findings *findings)
{
	const struct run_evidence *evidence = &findings->db->run->evidence;
	struct crew crew = { .findings = findings,
		.by_bound = xcalloc(findings->count, sizeof(struct finding *)) };
	int rc;

	for (size_t i = 0; i < findings->count; i++)
		crew.by_bound[i] = findings->finding[i];
	if (findings->count)
		qsort(crew.by_bound, findings->count, sizeof(struct finding *), by_bound);
	for (struct id_map_slot *at = NULL; (at = id_map_next(&findings->runs, at));)
		*array_push(crew.process, crew.count) = at->id;
	/* A loop may have a ceiling without findings. */
	for (size_t i = 0; i < evidence->loop_count; i++)
		if (!id_map_get(&findings->runs, evidence->loop[i].process))
			*array_push(crew.process, crew.count) = evidence->loop[i].process;
	rc = workers_run(crew.count, replay_process, &crew);
	free(crew.by_bound);
	free(crew.process);
	return rc;
}

/*
 * Preparing a replay takes as long as walking over the run, so it is done only for findings whose
 * bounds are large enough, where waits may be why the device idles, and of ranks.
 */
int findings_replay(struct findings *findings)
{
	int wanted = findings_want_ceiling(findings->db) | findings_are_of_ranks(findings->db), rc;

	for (size_t i = 0; i < findings->count && wanted >= 0; i++)
		wanted |= is_wanted(findings, findings->finding[i]);
	if (wanted <= 0)
		return wanted;
	findings->savings = savings_open(findings->db);
	rc = findings->savings ? 0 : -1;
	for (size_t i = 0; i < findings->count && !rc; i++)
		admit(savings_of(findings->savings, findings->finding[i]->process),
			findings->finding[i]);
	if (!rc)
		rc = replay_processes(findings);
	rc = rc || savings_store(findings->savings) || findings_pack_ranks(findings) ? -1 : 0;
	savings_close(findings->savings);
	return rc;
}
