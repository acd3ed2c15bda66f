/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Savings of findings, by replays of the run: each finding with all its places changed, each line
 * of findings with several lines, and all shown findings together (findings_together.c).
 * savings_has_room() limits them: the findings of the highest bounds come first, then lines of the
 * highest cost, then the order of fixes.
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

void finding_change(struct replay *replay, const struct finding *finding)
{
	for (size_t i = 0; i < finding->count; i++)
		savings_change(replay, finding->place[i]->changed,
			finding->place[i]->changed_count);
}

/*
 * Findings that cost no time are not replayed.  Of some only a replay tells what they save: a read
 * may save enough once other reads, which would wait in its place, are left out, too.
 */
int finding_is_wanted(const struct findings *findings, const struct finding *finding)
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

/* Returns what the finding (NULL: none) and those calls save together. */
static int64_t saved_with(struct replay *replay, const struct finding *finding,
	const struct changed_call *taker, size_t count)
{
	int64_t best = 0;

	if (finding)
		finding_change(replay, finding);
	savings_change(replay, taker, count);
	savings_estimate_best(replay, SEARCH_FINDING, &best);
	return best;
}

/*
 * Adds what would wait or delay instead to the finding: the smallest set.  What the others save
 * about as much without is no part of it; if that is the finding, they are no part of the finding.
 * Returns 0, or -1 after a message.
 */
static int add_takers(struct findings *findings, struct replay *replay, struct finding *finding)
{
	struct finding_place *place = finding->place[0];
	struct changed_call taker[2 * TAKER_ROUNDS];
	size_t count = savings_find_takers(replay, taker, 2 * TAKER_ROUNDS);
	int64_t together = count ? saved_with(replay, finding, taker, count) : 0;

	for (size_t i = count; count > 1 && i-- > 0 &&
		savings_has_room(replay, SEARCH_ORDER, REPLAYS_OF_BEST + REPLAYS_OF_ESTIMATE);) {
		struct changed_call last = taker[count - 1], one = taker[i];

		taker[i] = last;
		if (saved_with(replay, finding, taker, count - 1) + savings_least(replay) >
			together)
			count--;
		else
			taker[i] = one;
	}
	if (count && together - saved_with(replay, NULL, taker, count) < savings_least(replay))
		count = 0;
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

	if (!finding_is_wanted(findings, finding) || rules[finding->rule].group == GROUP_pace ||
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
	finding_change(replay, finding);
	if (add_takers(findings, replay, finding))
		return -1;
	finding_change(replay, finding);
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

void finding_replay_lines(struct replay *replay, struct finding *finding)
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
			savings_change(replay, line.place[i]->changed,
				line.place[i]->changed_count);
		replayed = savings_estimate_best(replay, SEARCH_LINE, &saving);
		for (size_t i = 0; i < line.count; i++) {
			line.place[i]->alone = saving;
			line.place[i]->replayed = replayed;
		}
		sum += saving;
	}
	for (size_t i = 0; i < finding->count && JOINED_FACTOR * sum < finding->saving.best; i++)
		finding->place[i]->worst.joined |= finding->place[i]->replayed &&
			!finding->place[i]->worst.masked &&
			finding->place[i]->worst.change == CHANGE_ORDER;
	finding_sort_by_saving(finding);
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

/*
 * Replays a process's findings, and then lines of them, and then findings together.  Writes only to
 * the process's own findings and replay.
 */
static int replay_process(void *arg, size_t number)
{
	const struct crew *crew = arg;
	struct findings *findings = crew->findings;
	int64_t process = crew->process[number];

	for (size_t i = 0; i < findings->count; i++)
		if (crew->by_bound[i]->process == process &&
			replay_finding(findings, crew->by_bound[i]))
			return -1;
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = crew->by_bound[i];

		if (finding->process == process && finding->replayed &&
			finding_is_worth_it(finding))
			finding_replay_lines(savings_of(findings->savings, process), finding);
	}
	findings_replay_together(findings, process);
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
 * Is a looping thread blocked by the device for a part of its time, while the device also idles for
 * a part?  Then waits may be why it idles.  Or does a process call for collectives with others?
 */
static const char wanted_sql[] =
	"SELECT EXISTS (SELECT 1 FROM loop l WHERE (SELECT sum(time) FROM account h "
	"  WHERE h.process = l.process AND h.device IS NULL AND h.cause = 'held') * 100 >= "
	"   ?1 * (l.end - l.start - l.paused) AND EXISTS (SELECT 1 FROM account d "
	"  WHERE d.process = l.process AND d.device NOT NULL GROUP BY d.device "
	"  HAVING sum(CASE WHEN d.cause IN ('kernels', 'copies', 'both') THEN 0 "
	"   ELSE d.time END) * 100 >= ?1 * (l.end - l.start - l.paused)))"
	" OR EXISTS (SELECT 1 FROM collective l JOIN communicator m ON m.id = l.communicator"
	"  WHERE m.ranks > 1)";

/*
 * Preparing a replay takes as long as walking over the run, so it is done only for findings whose
 * bounds are large enough, where waits may be why the device idles, and of ranks.
 */
int findings_replay(struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(findings->db, wanted_sql);
	int wanted = q && !db_bind(q, "i", (int64_t)HIGH_PERCENT) && db_step(q) > 0
		? sqlite3_column_int(q, 0)
		: -1;
	int rc;

	sqlite3_finalize(q);
	for (size_t i = 0; i < findings->count && wanted >= 0; i++)
		wanted |= finding_is_wanted(findings, findings->finding[i]);
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
