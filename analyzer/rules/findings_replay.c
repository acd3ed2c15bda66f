/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Savings of findings, by replays of the run: each finding with all its places changed, each line
 * of findings with several lines, and all shown findings together.  Every finding is replayed.
 * Single lines are replayed as long as savings_has_room() allows, those of the highest cost first.
 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "findings_internal.h"
#include "memory.h"
#include "places.h"

/* Findings, and replays of their processes. */
struct replaying {
	struct findings *findings;
	struct savings *savings;
};

/* Change calls for the next estimate. */
static void change_places(struct savings *savings, int64_t process,
	struct finding_place *const *place, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct changes *changed = &place[i]->changed, *with = &place[i]->with;

		savings_change(savings, process, changed->call, changed->count);
		if (place[i]->worst.joined)
			savings_change(savings, process, with->call, with->count);
	}
}

static void change_finding(struct savings *savings, const struct finding *finding)
{
	change_places(savings, finding->process, finding->place, finding->count);
}

static void change_shown(const struct replaying *replaying, int64_t process)
{
	const struct findings *findings = replaying->findings;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == process && findings->finding[i]->replayed &&
			finding_is_shown(findings->finding[i]))
			change_finding(replaying->savings, findings->finding[i]);
}

/* --- lines --- */

static void replay_line(struct savings *savings, int64_t process, const struct finding_line *line)
{
	int64_t saving;

	change_places(savings, process, line->place, line->count);
	if (!savings_estimate_best(savings, process, &saving))
		return;
	for (size_t i = 0; i < line->count; i++) {
		line->place[i]->alone = saving;
		line->place[i]->replayed = 1;
	}
}

/* Returns 1 if the place is that of a call listed under `with`, -1 after a message. */
static int is_changed_with(struct findings *findings, const struct finding_place *other,
	const struct instance *worst)
{
	for (int i = 0; i < FINDING_ALSO && worst->with[i]; i++) {
		int64_t line = places_line(findings->places, worst->with[i]);

		if (line < 0 || line == other->site)
			return line < 0 ? -1 : 1;
	}
	return 0;
}

/*
 * Computes the saving when the calls listed under `with` change too, in the way that other findings
 * of the process change them.  Returns 0, or -1 after a message.
 */
static int replay_extra(const struct replaying *replaying, int64_t process,
	const struct instance *worst, int64_t *saving)
{
	struct findings *findings = replaying->findings;
	struct savings *savings = replaying->savings;
	unsigned more = worst->with_change & ~worst->change;

	for (size_t i = 0; i < findings->count && more; i++) {
		const struct finding *other = findings->finding[i];

		if (other->process != process || other->place[0]->worst.change != more)
			continue;
		for (size_t k = 0; k < other->count; k++) {
			const struct finding_place *place = other->place[k];
			int is_with = is_changed_with(findings, place, worst);

			if (is_with < 0)
				return -1;
			if (!is_with)
				continue;
			savings_change(savings, process, place->changed.call, place->changed.count);
			savings_change(savings, process, place->with.call, place->with.count);
		}
	}
	savings_estimate_best(savings, process, saving);
	return 0;
}

static void set_joined(const struct finding_line *line, int joined, int64_t saving)
{
	for (size_t i = 0; i < line->count; i++) {
		line->place[i]->worst.joined = joined;
		line->place[i]->alone = saving;
	}
}

/*
 * Other calls may have the same effect: then they are changed too.  Or the call has a second effect
 * to change, if changing the first saves little and the second has its own finding.
 */
static int join_lines(const struct replaying *replaying, struct finding *finding)
{
	const struct run_length *run = id_map_get(&replaying->findings->runs, finding->process);
	double least = FINDING_MIN_PERCENT / 100.0 * (double)run->whole;
	struct savings *savings = replaying->savings;
	struct finding_line line = { NULL, 0 };

	while (finding_next_line(finding, &line) && savings_has_room(savings, finding->process)) {
		int64_t alone, joined, more = 0;
		size_t with = 0;

		for (size_t i = 0; i < line.count; i++)
			with += line.place[i]->with.count;
		if (!with)
			continue;
		replay_line(savings, finding->process, &line);
		if (!line.place[0]->replayed)
			continue;
		alone = line.place[0]->alone;
		set_joined(&line, 1, alone);
		replay_line(savings, finding->process, &line);
		joined = line.place[0]->alone;
		if (replay_extra(replaying, finding->process, &line.place[0]->worst, &more))
			return -1;
		if ((double)joined < least || joined <= JOINED_FACTOR * alone ||
			joined <= JOINED_FACTOR * more)
			set_joined(&line, 0, alone);
	}
	return 0;
}

/* --- findings --- */

/* Adds calls that would wait instead of the changed ones to the finding. */
static void add_takers(struct savings *savings, struct finding *finding)
{
	struct changes *changes = &finding->place[0]->changed;
	struct changed_call taker[FINDING_ALSO];
	size_t count = savings_find_takers(savings, finding->process, taker, FINDING_ALSO);

	for (size_t i = 0; i < count; i++)
		*array_push(changes->call, changes->count) = taker[i];
}

static void replay_lines(struct savings *savings, struct finding *finding)
{
	struct finding_line line = { NULL, 0 };

	while (finding_next_line(finding, &line) && savings_has_room(savings, finding->process))
		if (!line.place[0]->replayed)
			replay_line(savings, finding->process, &line);
	finding_sort_by_saving(finding);
}

/* Is the rule about the host's own speed rather than a wait? */
static int is_pace(const struct finding *finding)
{
	return !strcmp(rules[finding->rule].group, "pace");
}

/*
 * Findings that cost no time are not replayed.  A read may save enough once other reads, which
 * would wait in its place, are left out, too.
 */
static int is_wanted(const struct findings *findings, const struct finding *finding)
{
	const struct cost *cost = &finding->cost;

	if (rule_is_fence(finding->rule))
		return 0;
	return finding_is_worth_it(finding) ||
		(finding->place[0]->worst.reads && cost->waited >= SHOWN_MIN_NS &&
			findings_part(findings, finding->process, cost->waited, cost).share >=
				FINDING_MIN_PERCENT / 100.0);
}

static int replay_finding(const struct replaying *replaying, struct finding *finding)
{
	struct savings *savings = replaying->savings;
	struct finding_line line = { NULL, 0 };

	if (!is_wanted(replaying->findings, finding) || is_pace(finding))
		return 0;
	if (join_lines(replaying, finding))
		return -1;
	change_finding(savings, finding);
	add_takers(savings, finding);
	change_finding(savings, finding);
	finding->replayed = savings_estimate(savings, finding->process, &finding->saving);
	finding_next_line(finding, &line);
	for (size_t i = 0; i < line.count && line.count == finding->count; i++) {
		line.place[i]->alone = finding->saving.best;
		line.place[i]->replayed = finding->replayed;
	}
	finding_weigh(replaying->findings, finding);
	return 0;
}

/*
 * Waits that nothing is known to need may be left out with others, however little each costs. Other
 * rules leave out waits for results, which are needed.
 */
static void admit_waits(struct savings *savings, const struct finding *finding)
{
	if (finding->rule != RULE_needless_wait && finding->rule != RULE_redundant_sync)
		return;
	for (size_t i = 0; i < finding->count; i++) {
		const struct changes *changes = &finding->place[i]->changed;

		for (size_t k = 0; k < changes->count; k++)
			if (changes->call[k].change & CHANGE_CALL)
				savings_admit(savings, finding->process, changes->call[k].call);
	}
}

/*
 * --- masked waits ---
 *
 * Waits that cost little by themselves, because something else blocks the work after them: a copy
 * that waits for a kernel, and the next kernel waits for the legacy default stream.  Fixing one of
 * the two saves little.  The waits of each rule are collected a second time.  If the rule has no
 * finding that is shown, they become one, provided that the run saves more without them and the
 * shown findings than without the shown findings alone.  The difference is their saving.
 */

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
static void change_all_but(const struct replaying *replaying, int64_t process,
	const struct finding *but)
{
	const struct findings *findings = replaying->findings;

	change_shown(replaying, process);
	for (size_t i = 0; i < findings->masked_count; i++)
		if (findings->masked[i] != but &&
			is_candidate(findings, findings->masked[i], process))
			change_finding(replaying->savings, findings->masked[i]);
}

/* The saving of a candidate is that of all together minus that without it. */
static void unmask_process(const struct replaying *replaying, int64_t process)
{
	struct findings *findings = replaying->findings;
	struct savings *savings = replaying->savings;
	struct saving all;
	int64_t shown = 0, without;
	size_t first = 0;

	while (first < findings->masked_count &&
		!is_candidate(findings, findings->masked[first], process))
		first++;
	if (first == findings->masked_count)
		return;
	change_shown(replaying, process);
	if (!savings_estimate_best(savings, process, &shown))
		return;
	change_all_but(replaying, process, NULL);
	add_takers(savings, findings->masked[first]);
	change_all_but(replaying, process, NULL);
	if (!savings_estimate(savings, process, &all) || all.best - shown < SHOWN_MIN_NS)
		return;
	for (size_t i = first; i < findings->masked_count; i++) {
		struct finding *masked = findings->masked[i];

		if (!is_candidate(findings, masked, process))
			continue;
		change_all_but(replaying, process, masked);
		without = 0;
		savings_estimate_best(savings, process, &without);
		masked->saving = (struct saving){ all.best - without,
			all.low > without ? all.low - without : 0, all.high - without };
		masked->replayed = 1;
		for (size_t k = 0; k < masked->count; k++)
			masked->place[k]->worst.masked = 1;
		finding_weigh(findings, masked);
	}
}

/* A masked finding that is shown replaces the one of its rule that is not. */
static void unmask(const struct replaying *replaying)
{
	struct findings *findings = replaying->findings;
	size_t at;

	for (size_t i = 0; i < findings->masked_count; i++)
		finding_collect_lines(findings->masked[i]);
	for (size_t i = 0; i < findings->runs.size; i++)
		if (findings->runs.slot[i].object)
			unmask_process(replaying, findings->runs.slot[i].id);
	for (size_t i = 0; i < findings->masked_count; i++) {
		struct finding *masked = findings->masked[i];

		if (!masked->replayed || !finding_is_shown(masked))
			continue;
		for (at = 0; at < findings->count; at++)
			if (findings->finding[at]->process == masked->process &&
				findings->finding[at]->rule == masked->rule)
				break;
		if (at == findings->count)
			array_push(findings->finding, findings->count);
		findings->finding[at] = masked;
	}
}

/* --- the host's own speed --- */

static int64_t above(int64_t value, int64_t floor)
{
	return value > floor ? value - floor : 0;
}

/*
 * Computes the saving of the host once all other shown findings are fixed: calls that are not made
 * need not be faster.  It is advice, unless it is a large part of a turn.
 */
static void replay_pace(const struct replaying *replaying, struct finding *finding)
{
	struct savings *savings = replaying->savings;
	struct saving *saving = &finding->saving;
	int64_t others = 0;

	change_shown(replaying, finding->process);
	savings_estimate_best(savings, finding->process, &others);
	change_shown(replaying, finding->process);
	change_finding(savings, finding);
	finding->replayed = savings_estimate(savings, finding->process, saving);
	*saving = (struct saving){ above(saving->best, others), above(saving->low, others),
		above(saving->high, others) };
	finding_weigh(replaying->findings, finding);
	if (!finding->replayed || finding->part.share < LAUNCH_BOUND_PERCENT / 100.0)
		for (size_t i = 0; i < finding->count; i++)
			finding->place[i]->worst.confidence = CONFIDENCE_POSSIBLE;
	if (finding->replayed)
		replay_lines(savings, finding);
}

/* --- all findings of a process --- */

/*
 * Writes the saving of all shown findings together.  The savings of those that were not replayed
 * are bounded.
 */
static int replay_together(const struct replaying *replaying, int64_t process,
	const struct run_length *run, sqlite3_stmt *update)
{
	const struct findings *findings = replaying->findings;
	struct cost cost = { 0 }, others = { 0 };
	struct saving saving = { 0 };
	struct part part;
	int64_t bound;
	int replayed;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		if (finding->process != process || !finding_is_shown(finding))
			continue;
		cost.waited += cost_of(&finding->cost);
		cost.count += finding->cost.count;
		cost.in_loop += finding->cost.in_loop;
		if (finding->replayed)
			continue;
		others.avoidable += finding->cost.avoidable;
		others.shorter += finding->cost.shorter;
		others.delayed += finding->cost.delayed;
	}
	bound = cost_bound(&others, run);
	change_shown(replaying, process);
	replayed = savings_estimate(replaying->savings, process, &saving);
	if (!replayed && !bound)
		return 0;
	if (!replayed)
		saving.best = bound;
	part = findings_part(findings, process, saving.best, &cost);
	return db_run(update, "iIIdIi", saving.best, replayed ? saving.low : DB_NULL,
		replayed ? saving.high + bound : DB_NULL, part.share,
		part.turns ? part.turn : DB_NULL, process);
}

/*
 * --- the ceiling of a loop ---
 *
 * What a turn would take without any wait that the source can do without, whether its own saving is
 * worth a finding or not, and if the host waited for no result at all.  It says how much of a turn
 * waits account for, and so whether the shown findings are all there is.
 */

/* It must be known how calls could do without their waits, and that must be more than a guess. */
static void change_possible(struct savings *savings, struct finding *const *finding, size_t count,
	int64_t process)
{
	for (size_t i = 0; i < count; i++)
		if (finding[i]->process == process && !rule_is_fence(finding[i]->rule) &&
			!is_pace(finding[i]) && finding_confidence(finding[i]) >= CONFIDENCE_LIKELY)
			change_finding(savings, finding[i]);
}

static int replay_ceiling(const struct replaying *replaying, int64_t process,
	const struct loop_span *loop, sqlite3_stmt *update)
{
	struct findings *findings = replaying->findings;
	struct savings *savings = replaying->savings;
	struct ceiling ceiling[2];

	for (int unread = 0; unread < 2; unread++) {
		change_possible(savings, findings->masked, findings->masked_count, process);
		change_possible(savings, findings->finding, findings->count, process);
		if (!savings_estimate_ceiling(savings, process, unread, loop, &ceiling[unread]))
			return 0;
	}
	/* A replay with more changes may take a little longer. */
	if (ceiling[1].saving < ceiling[0].saving)
		ceiling[1] = ceiling[0];
	return db_run(update, "iiiii", ceiling[0].saving / loop->turns,
		ceiling[0].blocked / loop->turns, ceiling[1].saving / loop->turns,
		ceiling[1].blocked / loop->turns, process);
}

/*
 * Is a looping thread blocked by the device for a part of its time, while the device also idles for
 * a part?  Then waits may be why it idles.  Returns -1 after a message.
 */
static int is_ceiling_wanted(struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT EXISTS (SELECT 1 FROM loop l WHERE (SELECT sum(time) FROM account h "
		"  WHERE h.process = l.process AND h.device IS NULL AND h.cause = 'held') * 100 >= "
		"   ?1 * (l.end - l.start) AND EXISTS (SELECT 1 FROM account d "
		"  WHERE d.process = l.process AND d.device NOT NULL GROUP BY d.device "
		"  HAVING sum(CASE WHEN d.cause IN ('kernels', 'copies', 'both') THEN 0 "
		"   ELSE d.time END) * 100 >= ?1 * (l.end - l.start)))");
	int rc = q && !db_bind(q, "i", (int64_t)HIGH_PERCENT) && db_step(q) > 0
		? sqlite3_column_int(q, 0)
		: -1;

	sqlite3_finalize(q);
	return rc;
}

static int replay_processes(const struct replaying *replaying)
{
	const struct id_map *runs = &replaying->findings->runs,
			    *loops = &replaying->findings->loops;
	sqlite3_stmt *together = db_prepare(replaying->findings->db,
		"UPDATE replay SET saving = ?, "
		"saving_low = ?, saving_high = ?, share = ?, turn_saving = ? WHERE process = ?");
	sqlite3_stmt *ceiling = db_prepare(replaying->findings->db,
		"UPDATE replay SET ceiling = ?, ceiling_blocked = ?, ceiling_unread = ?, "
		"ceiling_unread_blocked = ? WHERE process = ?");
	int rc = together && ceiling ? 0 : -1;

	for (size_t i = 0; i < runs->size && !rc; i++)
		if (runs->slot[i].object)
			rc = replay_together(replaying, runs->slot[i].id, runs->slot[i].object,
				together);
	for (size_t i = 0; i < loops->size && !rc; i++)
		if (loops->slot[i].object)
			rc = replay_ceiling(replaying, loops->slot[i].id, loops->slot[i].object,
				ceiling);
	sqlite3_finalize(together);
	sqlite3_finalize(ceiling);
	return rc;
}

/*
 * Preparing a replay takes as long as walking over the run, so it is done only for findings whose
 * bounds are large enough, and where waits may be why the device idles.
 */
int findings_replay(struct findings *findings)
{
	struct replaying replaying = { .findings = findings };
	int wanted = is_ceiling_wanted(findings->db), rc;

	for (size_t i = 0; i < findings->count && wanted >= 0; i++)
		wanted |= is_wanted(findings, findings->finding[i]);
	if (wanted <= 0)
		return wanted;
	replaying.savings = savings_open(findings->db);
	rc = replaying.savings && !savings_store(replaying.savings) ? 0 : -1;
	for (size_t i = 0; i < findings->count && !rc; i++)
		admit_waits(replaying.savings, findings->finding[i]);
	for (size_t i = 0; i < findings->count && !rc; i++)
		rc = replay_finding(&replaying, findings->finding[i]);
	for (size_t i = 0; i < findings->count && !rc; i++)
		if (findings->finding[i]->replayed && finding_is_worth_it(findings->finding[i]))
			replay_lines(replaying.savings, findings->finding[i]);
	if (!rc) {
		unmask(&replaying);
		for (size_t i = 0; i < findings->count; i++)
			if (is_pace(findings->finding[i]) &&
				is_wanted(findings, findings->finding[i]))
				replay_pace(&replaying, findings->finding[i]);
		rc = replay_processes(&replaying);
	}
	savings_close(replaying.savings);
	return rc ? -1 : 0;
}
