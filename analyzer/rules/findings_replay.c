/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Savings of findings, by replays of the run: each finding with all its places changed, each line
 * of findings with several lines, and all shown findings together.  Every finding is replayed.
 * Single lines are replayed as long as savings_has_room() allows, those of the highest cost first.
 */
#include <stdlib.h>

#include "constants.h"
#include "findings_parts.h"
#include "places.h"

static void change_place(struct savings *savings, int64_t process,
	const struct finding_place *place)
{
	savings_change(savings, process, place->changed.call, place->changed.count);
	if (place->joined)
		savings_change(savings, process, place->with.call, place->with.count);
}

void finding_change(struct savings *savings, const struct finding *finding)
{
	for (size_t i = 0; i < finding->count; i++)
		change_place(savings, finding->process, finding->place[i]);
}

/* --- lines --- */

static int replay_line(struct savings *savings, int64_t process, const struct finding_line *line)
{
	int64_t saving;
	int replayed;

	for (size_t i = 0; i < line->count; i++)
		change_place(savings, process, line->place[i]);
	replayed = savings_estimate_best(savings, process, &saving);
	for (size_t i = 0; i < line->count && replayed > 0; i++) {
		line->place[i]->alone = saving;
		line->place[i]->replayed = 1;
	}
	return replayed < 0 ? -1 : 0;
}

/* --- changes made with a line --- */

static int is_changed_with(struct findings *findings, const struct finding_place *other,
	const struct instance *worst)
{
	int64_t line;

	for (int i = 0; i < FINDING_ALSO && worst->with[i]; i++) {
		line = places_line(findings->places, worst->with[i]);
		if (line < 0 || line == other->site)
			return line < 0 ? -1 : 1;
	}
	return 0;
}

static int change_more(struct findings *findings, struct savings *savings,
	const struct finding *other, const struct instance *worst)
{
	int rc = 0;

	for (size_t i = 0; i < other->count && rc >= 0; i++) {
		const struct finding_place *place = other->place[i];

		rc = is_changed_with(findings, place, worst);
		if (rc <= 0)
			continue;
		savings_change(savings, other->process, place->changed.call, place->changed.count);
		savings_change(savings, other->process, place->with.call, place->with.count);
	}
	return rc < 0 ? -1 : 0;
}

/*
 * Computes the saving when the calls listed under `with` change too, in the way that other findings
 * of the process change them.
 */
static int replay_extra(struct findings *findings, struct savings *savings,
	const struct finding *finding, const struct instance *worst, int64_t *saving)
{
	unsigned more = worst->with_change & ~worst->change;

	for (size_t i = 0; i < findings->count && more; i++) {
		const struct finding *other = findings->finding[i];

		if (other->process == finding->process && other->place[0]->worst.change == more &&
			change_more(findings, savings, other, worst))
			return -1;
	}
	return savings_estimate_best(savings, finding->process, saving) < 0 ? -1 : 0;
}

static void set_joined(const struct finding_line *line, int joined, int64_t saving)
{
	for (size_t i = 0; i < line->count; i++) {
		line->place[i]->joined = line->place[i]->worst.joined = joined;
		line->place[i]->alone = saving;
	}
}

/*
 * Other calls may have the same effect: then they are changed too.  Or the call has a second effect
 * to change, if changing the first saves little and the second has its own finding.
 */
static int join_line(struct findings *findings, struct savings *savings,
	const struct finding *finding, const struct finding_line *line)
{
	const struct run_length *run = findings_run(findings, finding->process);
	const struct instance *worst = &line->place[0]->worst;
	double least = FINDING_MIN_PERCENT / 100.0;
	int64_t alone, joined, more = 0;

	if (!run || replay_line(savings, finding->process, line))
		return -1;
	alone = line->place[0]->alone;
	if (!line->place[0]->replayed)
		return 0;
	set_joined(line, 1, alone);
	if (replay_line(savings, finding->process, line) ||
		replay_extra(findings, savings, finding, worst, &more))
		return -1;
	joined = line->place[0]->alone;
	if ((double)joined < least * (double)run->whole || joined <= JOINED_FACTOR * alone ||
		joined <= JOINED_FACTOR * more)
		set_joined(line, 0, alone);
	return 0;
}

static int has_with(const struct finding_line *line)
{
	for (size_t i = 0; i < line->count; i++)
		if (line->place[i]->with.count)
			return 1;
	return 0;
}

static int join_lines(struct findings *findings, struct savings *savings, struct finding *finding)
{
	struct finding_line line = { NULL, 0 };

	while (finding_next_line(finding, &line) && savings_has_room(savings, finding->process))
		if (has_with(&line) && join_line(findings, savings, finding, &line))
			return -1;
	return 0;
}

/* --- calls that wait instead --- */

int finding_add_takers(struct savings *savings, struct finding *finding)
{
	struct changed_call taker[FINDING_ALSO];
	size_t count;

	count = savings_find_takers(savings, finding->process, taker, FINDING_ALSO);
	for (size_t i = 0; i < count; i++)
		if (changes_add(&finding->place[0]->changed, &taker[i]))
			return -1;
	return 0;
}

static int join_takers(struct savings *savings, struct finding *finding)
{
	finding_change(savings, finding);
	return finding_add_takers(savings, finding);
}

/* --- findings --- */

static int replay_finding(struct findings *findings, struct savings *savings,
	struct finding *finding)
{
	struct finding_line line = { NULL, 0 };

	finding_next_line(finding, &line);
	finding_change(savings, finding);
	finding->replayed = savings_estimate(savings, finding->process, &finding->saving);
	if (finding->replayed < 0)
		return -1;
	for (size_t i = 0; i < line.count && line.count == finding->count; i++) {
		line.place[i]->alone = finding->saving.best;
		line.place[i]->replayed = finding->replayed;
	}
	return finding_weigh(findings, finding);
}

static int replay_lines(struct savings *savings, struct finding *finding)
{
	struct finding_line line = { NULL, 0 };

	while (finding_next_line(finding, &line) && savings_has_room(savings, finding->process))
		if (!line.place[0]->replayed && replay_line(savings, finding->process, &line))
			return -1;
	finding_sort_by_saving(finding);
	return 0;
}

/* May it save enough once other reads, which would wait in its place, are left out, too? */
static int may_be_worth_it(struct findings *findings, const struct finding *finding)
{
	const struct run_length *run = findings_run(findings, finding->process);
	struct part part;

	if (!run || !finding->place[0]->worst.reads || finding->cost.waited < SHOWN_MIN_NS)
		return 0;
	part = findings_part(findings, finding->process, run, finding->cost.waited, &finding->cost);
	return part.share >= FINDING_MIN_PERCENT / 100.0;
}

/* Findings that cost no time are not replayed. */
static int is_wanted(struct findings *findings, const struct finding *finding)
{
	return !rule_is_fence(finding->rule) &&
		(finding_is_worth_it(finding) || may_be_worth_it(findings, finding));
}

static int replay_wanted(struct findings *findings, struct savings *savings,
	struct finding *finding)
{
	if (!is_wanted(findings, finding) || rule_is_pace(finding->rule))
		return 0;
	return join_lines(findings, savings, finding) || join_takers(savings, finding) ||
			replay_finding(findings, savings, finding)
		? -1
		: 0;
}

/* Waits that nothing is known to need may be left out with others, however little each costs. */
static int admit_waits(struct savings *savings, const struct finding *finding)
{
	/* Other rules leave out waits for results, which are needed. */
	if (finding->rule != RULE_needless_wait && finding->rule != RULE_redundant_sync)
		return 0;
	for (size_t i = 0; i < finding->count; i++) {
		const struct changes *changes = &finding->place[i]->changed;

		for (size_t k = 0; k < changes->count; k++)
			if (changes->call[k].change & CHANGE_CALL &&
				savings_admit(savings, finding->process, changes->call[k].call))
				return -1;
	}
	return 0;
}

/* Replays the findings whose bounds are large enough. */
int findings_replay(struct findings *findings, struct savings **savings)
{
	int wanted = findings_want_ceiling(findings), rc;

	if (wanted < 0)
		return -1;

	/*
	 * Preparing a replay takes as long as walking over the run, so it is done only for shown
	 * findings, and where waits may be why the device idles.
	 */
	for (size_t i = 0; i < findings->count; i++)
		wanted |= is_wanted(findings, findings->finding[i]);
	*savings = wanted ? savings_open(findings->db) : NULL;
	rc = wanted && (!*savings || savings_store(*savings)) ? -1 : 0;
	for (size_t i = 0; i < findings->count && *savings && !rc; i++)
		rc = admit_waits(*savings, findings->finding[i]);
	for (size_t i = 0; i < findings->count && !rc; i++)
		rc = replay_wanted(findings, *savings, findings->finding[i]);
	for (size_t i = 0; i < findings->count && !rc; i++)
		if (findings->finding[i]->replayed && finding_is_worth_it(findings->finding[i]))
			rc = replay_lines(*savings, findings->finding[i]);
	return rc;
}

/* --- the host's own speed --- */

static void change_shown(const struct findings *findings, struct savings *savings, int64_t process)
{
	for (size_t i = 0; i < findings->count; i++)
		if (findings->finding[i]->process == process && findings->finding[i]->replayed &&
			finding_is_shown(findings->finding[i]))
			finding_change(savings, findings->finding[i]);
}

static void make_possible(struct finding *finding)
{
	for (size_t i = 0; i < finding->count; i++)
		finding->place[i]->worst.confidence = CONFIDENCE_POSSIBLE;
}

static int64_t above(int64_t value, int64_t floor)
{
	return value > floor ? value - floor : 0;
}

/*
 * Computes the saving of the host once all other shown findings are fixed: calls that are not made
 * need not be faster.  It is advice, unless it is a large part of a turn.
 */
static int replay_pace(struct findings *findings, struct savings *savings, struct finding *finding)
{
	int64_t others = 0;

	change_shown(findings, savings, finding->process);
	if (savings_estimate_best(savings, finding->process, &others) < 0)
		return -1;
	change_shown(findings, savings, finding->process);
	finding_change(savings, finding);
	finding->replayed = savings_estimate(savings, finding->process, &finding->saving);
	if (finding->replayed < 0)
		return -1;
	finding->saving = (struct saving){ above(finding->saving.best, others),
		above(finding->saving.low, others), above(finding->saving.high, others) };
	if (finding_weigh(findings, finding))
		return -1;
	if (!finding->replayed || finding->part.share < LAUNCH_BOUND_PERCENT / 100.0)
		make_possible(finding);
	return finding->replayed ? replay_lines(savings, finding) : 0;
}

int findings_replay_pace(struct findings *findings, struct savings *savings)
{
	for (size_t i = 0; i < findings->count; i++)
		if (rule_is_pace(findings->finding[i]->rule) &&
			is_wanted(findings, findings->finding[i]) &&
			replay_pace(findings, savings, findings->finding[i]))
			return -1;
	return 0;
}

/* --- all findings of a process --- */

/* Returns a bound of the savings of a process's shown findings that were not replayed. */
static int64_t bound_of_others(const struct findings *findings, int64_t process,
	const struct run_length *run)
{
	struct cost cost = { 0 };

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		if (finding->process != process || finding->replayed || !finding_is_shown(finding))
			continue;
		cost.avoidable += finding->cost.avoidable;
		cost.shorter += finding->cost.shorter;
		cost.delayed += finding->cost.delayed;
	}
	return cost_bound(&cost, run);
}

static int replay_process(struct findings *findings, struct savings *savings, int64_t process,
	const struct run_length *run, sqlite3_stmt *update)
{
	int64_t bound = bound_of_others(findings, process, run);
	struct saving saving = { 0 };
	struct cost cost = { 0 };
	struct part part;
	int replayed;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		if (finding->process != process || !finding_is_shown(finding))
			continue;
		cost.waited += cost_of(&finding->cost);
		cost.count += finding->cost.count;
		cost.in_loop += finding->cost.in_loop;
		if (finding->replayed)
			finding_change(savings, finding);
	}
	replayed = savings_estimate(savings, process, &saving);
	if (replayed < 0 || (!replayed && !bound))
		return replayed;
	if (!replayed)
		saving.best = bound;
	part = findings_part(findings, process, run, saving.best, &cost);
	return db_run(update, "iIIdIi", saving.best, replayed ? saving.low : DB_NULL,
		replayed ? saving.high + bound : DB_NULL, part.share,
		part.turns ? part.turn : DB_NULL, process);
}

int findings_replay_together(struct findings *findings, struct savings *savings)
{
	sqlite3_stmt *update = db_prepare(findings->db,
		"UPDATE replay SET saving = ?, "
		"saving_low = ?, saving_high = ?, share = ?, turn_saving = ? WHERE process = ?");
	int rc = update ? 0 : -1;

	for (size_t i = 0; i < findings->runs.size && !rc; i++)
		if (findings->runs.slot[i].object)
			rc = replay_process(findings, savings, findings->runs.slot[i].id,
				findings->runs.slot[i].object, update);
	sqlite3_finalize(update);
	return rc;
}
