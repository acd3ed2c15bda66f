/* SPDX-License-Identifier: Apache-2.0 */
#include "findings.h"

#include <stdlib.h>

#include "bounds.h"
#include "compare.h"
#include "constants.h"
#include "findings_internal.h"
#include "memory.h"
#include "pass.h"
#include "places.h"
#include "run_columns.h"

struct findings *findings_new(struct db *db, struct words *words)
{
	struct findings *findings = xcalloc(1, sizeof(*findings));
	int64_t is_sampled;

	findings->db = db;
	findings->words = words;
	findings->places = places_open(db, words);
	is_sampled = db_int(db,
		"SELECT EXISTS (SELECT 1 FROM recording WHERE work AND cause = 'sample')", 0);
	if (findings->places && !(is_sampled && stretches_load(&findings->windows, db)))
		return findings;
	findings_free(findings);
	return NULL;
}

static void free_place(void *object)
{
	struct finding_place *place = object;

	free(place->reason);
	free(place->changed);
	free(place->changes.data);
	free(place->window);
	free(place);
}

static void free_finding(void *object)
{
	struct finding *finding = object;

	id_map_release(&finding->by_lines, free_place);
	free(finding->place);
	free(finding);
}

void findings_free(struct findings *findings)
{
	if (!findings)
		return;
	places_close(findings->places);
	stretches_release(&findings->windows);
	id_map_release(&findings->by_key, free_finding);
	id_map_release(&findings->runs, free);
	id_map_release(&findings->line_waits, free);
	free(findings->finding);
	free(findings);
}

int64_t findings_place(struct findings *findings, int64_t call)
{
	return places_site(findings->places, call);
}

int64_t findings_place_of_type(struct findings *findings, int64_t call)
{
	int64_t place = places_site(findings->places, call);
	const struct run_call *row = run_call(findings->db->run, call);

	return place > 0 && row ? place << 16 | row->type : place;
}

int64_t findings_line(struct findings *findings, int64_t call)
{
	return places_line(findings->places, call);
}

/* --- from instances to findings --- */

static int64_t occurrences(const struct instance *instance)
{
	return instance->count ? instance->count : 1;
}

static void add_change(struct finding_place *place, const struct instance *instance, int64_t call,
	unsigned change)
{
	if (!change || !call)
		return;
	*array_push(place->changed, place->changed_count) =
		(struct changed_call){ call, instance->still_needs, change };
}

/* The more certain of two instances comes first, then one that nothing kept in order. */
static int compare_certainty(const struct instance *one, const struct instance *other)
{
	return by_number(one->confidence, other->confidence) ?: !one->via - !other->via;
}

/*
 * The instances with the same reason are represented by the most certain one, by one that
 * overlapped, by that of the highest cost; the place is described by the most frequent reason.
 */
static void add_reason(struct finding_place *place, const struct instance *instance)
{
	struct reason_count *reason, *most;
	size_t at = 0;
	int more;

	while (at < place->reasons && place->reason[at].worst.why != instance->why)
		at++;
	if (at == place->reasons)
		*array_push(place->reason, place->reasons) =
			(struct reason_count){ .worst = *instance };
	reason = &place->reason[at];
	more = compare_certainty(instance, &reason->worst)
		?: by_number(instance->overlapped, reason->worst.overlapped)
		?: by_number(instance->cost, reason->worst.cost);
	if (more > 0)
		reason->worst = *instance;
	reason->count += occurrences(instance);
	most = place->reason;
	for (size_t i = 1; i < place->reasons; i++) {
		const struct reason_count *other = &place->reason[i];

		more = compare_certainty(&other->worst, &most->worst)
			?: by_number(other->count, most->count)
			?: by_number(other->worst.why != NULL, most->worst.why != NULL);
		if (more > 0)
			most = &place->reason[i];
	}
	place->worst = most->worst;
	place->worst.alike = most->count;
	place->worst.total = place->cost.count;
}

int findings_add(struct findings *findings, const struct instance *instance)
{
	int64_t site = instance->site ? places_line_of(findings->places, instance->site)
				      : places_line(findings->places, instance->call);
	int64_t other_site = places_line(findings->places, instance->other_call);
	const struct run *run = findings->db->run;
	const struct run_loop *loop = run_loop_of(&run->evidence, instance->process);
	const struct run_call *call = loop ? run_call(run, instance->call) : NULL;
	struct finding *finding;
	struct finding_place *place;

	if (site < 0 || other_site < 0)
		return -1;
	finding = id_map_need(&findings->by_key,
		instance->process << 9 | instance->masked << 8 | instance->rule, sizeof(*finding));
	if (!finding->count) {
		finding->rule = instance->rule;
		finding->process = instance->process;
		finding->masked = instance->masked;
		*array_push(findings->finding, findings->count) = finding;
	}
	/* Site rows are far below 2^31, so that two fit into the key. */
	place = id_map_need(&finding->by_lines, site << 31 | other_site, sizeof(*place));
	if (!place->reasons) {
		place->site = site;
		place->other_site = other_site;
		/* A call blocked by another thread's call is not the one to change. */
		place->line = rules[finding->rule].pass->changes_other ? other_site : site;
		*array_push(finding->place, finding->count) = place;
	}
	if (call && run_loop_has(loop, call->enter))
		place->cost.in_loop += instance->cost;
	place->cost.count += occurrences(instance);
	if (instance->saving == FINDING_DELAY) {
		place->cost.delayed += instance->cost;
	} else {
		place->cost.waited += instance->cost;
		place->cost.avoidable += instance->saving;
		place->cost.shorter += instance->shorter;
	}
	add_reason(place, instance);
	add_change(place, instance, instance->call, instance->change);
	finding_place_sample(findings, place, instance, occurrences(instance));
	for (int i = 0; i < FINDING_ALSO; i++)
		add_change(place, instance, instance->also[i], instance->change);
	return 0;
}

/* --- weights --- */

/* Operations delayed at the same time each count their delay, but the gain is no more than this. */
int64_t cost_bound(const struct cost *cost, const struct run_length *run)
{
	return at_most(cost->avoidable, run->idle + cost->shorter) +
		at_most(cost->delayed, run->serial);
}

struct part findings_part(const struct findings *findings, int64_t process, int64_t saving,
	const struct cost *cost)
{
	const struct run_length *run = id_map_get(&findings->runs, process);
	const struct run_loop *loop = run_loop_of(&findings->db->run->evidence, process);
	struct part part = { .share = (double)saving / (double)run->whole };
	int is_mostly = 2 * cost->in_loop > cost_of(cost);
	double within = is_mostly ? (double)cost->in_loop / (double)cost_of(cost) : 0;
	int64_t span = loop ? run_loop_length(loop) : 0;
	/* More than the loop takes is saved outside of it. */
	int64_t in_loop = at_most((int64_t)(within * (double)saving), span);
	double of_loop = span > 0 ? (double)in_loop / (double)span : 0;

	/* A mistake made once is not part of every turn. */
	if (!is_mostly || of_loop < part.share || cost->count < FINDING_MIN_COUNT)
		return part;
	part.share = of_loop;
	part.turns = (int64_t)loop->turns;
	part.turn = in_loop / part.turns;
	return part;
}

void finding_weigh(const struct findings *findings, struct finding *finding)
{
	if (rule_is_fence(finding->rule))
		return;
	if (!finding->replayed)
		finding->saving.best =
			cost_bound(&finding->cost, id_map_get(&findings->runs, finding->process));
	if (!finding->replayed && finding->is_bounded && finding->most < finding->saving.best)
		finding->saving.best = finding->most;
	finding->part =
		findings_part(findings, finding->process, finding->saving.best, &finding->cost);
}

enum confidence place_confidence(const struct finding_place *place)
{
	return place->worst.confidence ? place->worst.confidence
				       : confidence_find(rules[place->worst.rule].confidence);
}

enum confidence finding_confidence(const struct finding *finding)
{
	enum confidence most = CONFIDENCE_POSSIBLE;

	for (size_t i = 0; i < finding->count; i++)
		if (place_confidence(finding->place[i]) > most)
			most = place_confidence(finding->place[i]);
	return most;
}

int finding_is_worth_it(const struct finding *finding)
{
	return finding->part.share >= FINDING_MIN_PERCENT / 100.0 &&
		finding->saving.best >= SHOWN_MIN_NS;
}

int finding_is_shown(const struct finding *finding)
{
	return finding_confidence(finding) >= CONFIDENCE_LIKELY &&
		(rule_is_fence(finding->rule) || finding_is_worth_it(finding));
}

static int is_guess(const struct finding *finding)
{
	return finding_confidence(finding) < CONFIDENCE_LIKELY;
}

/*
 * First findings that make results wrong in some run, by how surely.  A bound may be far above the
 * saving, so bounds rank below replayed savings.
 */
static int by_worth(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;
	int wrong = rule_is_fence(x->rule) && !is_guess(x) ? (int)finding_confidence(x) : 0;
	int other = rule_is_fence(y->rule) && !is_guess(y) ? (int)finding_confidence(y) : 0;

	return by_number(other, wrong) ?: by_number(is_guess(x), is_guess(y))
		?: by_number(y->replayed, x->replayed)
		?: (x->part.share < y->part.share) - (x->part.share > y->part.share)
		?: by_number(x->rule, y->rule) ?: by_number(x->process, y->process);
}

/* --- lines: places that one change of the source fixes --- */

/* Sorts places of a line together, the highest cost first. */
static int by_line(const void *a, const void *b)
{
	const struct finding_place *x = *(struct finding_place *const *)a;
	const struct finding_place *y = *(struct finding_place *const *)b;

	return by_number(y->worst.confidence, x->worst.confidence)
		?: by_number(y->line_cost, x->line_cost) ?: by_number(x->line, y->line)
		?: by_number(cost_of(&y->cost), cost_of(&x->cost))
		?: by_number(x->site, y->site) ?: by_number(x->other_site, y->other_site);
}

static int by_line_saving(const void *a, const void *b)
{
	const struct finding_place *x = *(struct finding_place *const *)a;
	const struct finding_place *y = *(struct finding_place *const *)b;

	/* What saves nothing alone is sorted by its cost. */
	int64_t one = x->replayed && x->alone >= SHOWN_MIN_NS ? x->alone : 0;
	int64_t other = y->replayed && y->alone >= SHOWN_MIN_NS ? y->alone : 0;

	return by_number(y->replayed, x->replayed) ?: by_number(other, one) ?: by_line(a, b);
}

void finding_sort_by_saving(struct finding *finding)
{
	qsort(finding->place, finding->count, sizeof(*finding->place), by_line_saving);
}

int finding_next_line(const struct finding *finding, struct finding_line *line)
{
	size_t from = line->place ? (size_t)(line->place - finding->place) + line->count : 0;

	line->place = finding->place + from;
	line->count = 0;
	while (from + line->count < finding->count &&
		line->place[line->count]->line == line->place[0]->line)
		line->count++;
	return line->count > 0;
}

void cost_add(struct cost *sum, const struct cost *cost)
{
	sum->count += cost->count;
	sum->waited += cost->waited;
	sum->delayed += cost->delayed;
	sum->avoidable += cost->avoidable;
	sum->shorter += cost->shorter;
	sum->in_loop += cost->in_loop;
}

/*
 * Keeps the lines with enough cost, which may be none, the highest cost first, and sums up their
 * cost.  A line is part of a finding if it would be a finding by itself, because single occurrences
 * at many lines are no pattern.  It is shown unless it costs little compared with the line of the
 * highest cost.
 */
static void collect_lines(struct finding *finding)
{
	struct finding_line line = { NULL, 0 };
	int is_fence = rule_is_fence(finding->rule), is_sure;
	size_t kept = 0;

	for (size_t i = 0; i < finding->count; i++)
		if (finding->place[i]->cost.count < finding->place[i]->worst.least)
			finding->place[i]->worst.confidence = CONFIDENCE_POSSIBLE;
	/* The saving of such places, such as a wait that may be for a clock, is not counted. */
	is_sure = finding_confidence(finding) >= CONFIDENCE_LIKELY;
	for (size_t i = 0; i < finding->count; i++)
		if (is_fence || !is_sure ||
			place_confidence(finding->place[i]) >= CONFIDENCE_LIKELY)
			finding->place[kept++] = finding->place[i];
	finding->count = kept;
	/* No place has a line_cost yet, so this only groups the places of a line. */
	qsort(finding->place, finding->count, sizeof(*finding->place), by_line);
	finding->cost = (struct cost){ 0 };
	for (kept = 0; finding_next_line(finding, &line);) {
		struct cost cost = { 0 };

		for (size_t i = 0; i < line.count; i++)
			cost_add(&cost, &line.place[i]->cost);
		if (!is_fence && cost.count < FINDING_MIN_COUNT && cost_of(&cost) < FINDING_MIN_NS)
			continue;
		for (size_t i = 0; i < line.count; i++) {
			line.place[i]->line_cost = cost_of(&cost);
			finding->place[kept++] = line.place[i];
		}
		if (!is_fence)
			cost_add(&finding->cost, &cost);
	}
	finding->count = kept;
	qsort(finding->place, finding->count, sizeof(*finding->place), by_line);
	/* A mistake that is only possible is not shown with more certain ones. */
	for (size_t i = 0; i < kept; i++) {
		struct finding_place *place = finding->place[i], *first = finding->place[0];

		place->shown = is_fence ? place_confidence(place) >= CONFIDENCE_LIKELY ||
				place_confidence(first) < CONFIDENCE_LIKELY
					: place->line_cost >= first->line_cost / LESSER_LINE_PART;
		if (is_fence && place->shown)
			cost_add(&finding->cost, &place->cost);
	}
}

/* --- all of them --- */

int findings_store(struct findings *findings)
{
	size_t kept = 0;

	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = findings->finding[i];
		struct run_length *run;

		collect_lines(finding);
		if (!finding->count)
			continue;
		findings->finding[kept++] = finding;
		run = id_map_need(&findings->runs, finding->process, sizeof(*run));
		if (!run->whole && run_length(findings->db, finding->process, run))
			return -1;
		finding_weigh(findings, finding);
	}
	findings->count = kept;
	if (findings_replay(findings))
		return -1;
	kept = 0;
	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = findings->finding[i];
		const struct instance *worst = finding->count ? &finding->place[0]->worst : NULL;

		/*
		 * What only a replay tells to save time, and none does, is no finding, unless it is
		 * a read.
		 */
		if (worst && !finding->masked &&
			(finding->saving.best || !worst->only_replay || worst->reads))
			findings->finding[kept++] = finding;
	}
	findings->count = kept;
	if (findings->count)
		qsort(findings->finding, findings->count, sizeof(struct finding *), by_worth);
	return findings_write(findings);
}
