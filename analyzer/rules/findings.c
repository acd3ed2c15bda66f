/* SPDX-License-Identifier: Apache-2.0 */
#include "findings.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "run_columns.h"
#include "constants.h"
#include "findings_parts.h"
#include "places.h"

static int read_loops(struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(findings->db,
		"SELECT process, thread, start, until, end, turns FROM loop");
	struct loop_span *loop;
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		loop = idmap_need(&findings->loops, sqlite3_column_int64(q, 0), sizeof(*loop));
		if (!loop) {
			step = -1;
			break;
		}
		*loop = (struct loop_span){ sqlite3_column_int64(q, 1), sqlite3_column_int64(q, 2),
			sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
			sqlite3_column_int64(q, 5) };
	}
	sqlite3_finalize(q);
	return step;
}

struct findings *findings_new(struct db *db, struct words *words)
{
	struct findings *findings = calloc(1, sizeof(*findings));

	if (!findings)
		return NULL;
	findings->db = db;
	findings->words = words;
	findings->places = places_open(db, words);
	if (findings->places && !read_loops(findings))
		return findings;
	findings_free(findings);
	return NULL;
}

static void free_place(void *object)
{
	struct finding_place *place = object;

	free(place->reason);
	free(place->changed.call);
	free(place->with.call);
	free(place);
}

static void free_finding(void *object)
{
	struct finding *finding = object;

	idmap_release(&finding->by_lines, free_place);
	free(finding->place);
	free(finding);
}

void findings_free(struct findings *findings)
{
	if (!findings)
		return;
	places_close(findings->places);
	idmap_release(&findings->by_key, free_finding);
	idmap_release(&findings->masked_by_key, free_finding);
	idmap_release(&findings->runs, free);
	idmap_release(&findings->loops, free);
	free(findings->finding);
	free(findings->masked);
	free(findings);
}

int64_t findings_place(struct findings *findings, int64_t call)
{
	return places_site(findings->places, call);
}

int64_t findings_line(struct findings *findings, int64_t call)
{
	return places_line(findings->places, call);
}

/* --- from instances to findings --- */

int finding_list_add(struct finding ***list, size_t *count, struct finding *finding)
{
	struct finding **more = array_room(*list, *count, sizeof(struct finding *));

	if (!more)
		return -1;
	*list = more;
	more[(*count)++] = finding;
	return 0;
}

static struct finding *need_finding(struct findings *findings, const struct instance *instance,
	int masked)
{
	struct idmap *by_key = masked ? &findings->masked_by_key : &findings->by_key;
	int64_t key = instance->process << 8 | instance->rule;
	struct finding *finding = idmap_get(by_key, key);

	if (finding)
		return finding;
	finding = idmap_need(by_key, key, sizeof(*finding));
	if (!finding)
		return NULL;
	finding->rule = instance->rule;
	finding->process = instance->process;
	return finding_list_add(masked ? &findings->masked : &findings->finding,
		       masked ? &findings->masked_count : &findings->count, finding)
		? NULL
		: finding;
}

/* A call blocked by another thread's call is not the one to change. */
static int64_t line_to_change(enum rule rule, int64_t site, int64_t other_site)
{
	return rule == RULE_blocked_behind ? other_site : site;
}

/* Site rows are far below 2^31, so that two fit into the key. */
static struct finding_place *need_place(struct finding *finding, int64_t site, int64_t other_site)
{
	int64_t key = site << 31 | other_site;
	struct finding_place *place = idmap_get(&finding->by_lines, key);
	struct finding_place **more;

	if (place)
		return place;
	more = array_room(finding->place, finding->count, sizeof(struct finding_place *));
	if (!more)
		return NULL;
	finding->place = more;
	place = idmap_need(&finding->by_lines, key, sizeof(*place));
	if (!place)
		return NULL;
	place->site = site;
	place->other_site = other_site;
	place->line = line_to_change(finding->rule, site, other_site);
	finding->place[finding->count++] = place;
	return place;
}

static int is_in_loop(const struct findings *findings, const struct instance *instance)
{
	const struct loop_span *loop = idmap_get(&findings->loops, instance->process);
	const struct run_call *call = loop ? run_call(findings->db->run, instance->call) : NULL;

	return call && call->enter >= loop->start && call->enter < loop->until;
}

int64_t findings_turns(const struct findings *findings, int64_t process)
{
	const struct loop_span *loop = idmap_get(&findings->loops, process);

	return loop ? loop->turns : 0;
}

static int64_t occurrences(const struct instance *instance)
{
	return instance->count ? instance->count : 1;
}

static void add_cost(struct cost *cost, const struct instance *instance, int in_loop)
{
	cost->in_loop += in_loop ? instance->cost : 0;
	cost->count += occurrences(instance);
	if (instance->saving == FINDING_DELAY) {
		cost->delayed += instance->cost;
	} else {
		cost->waited += instance->cost;
		cost->avoidable += instance->saving;
		cost->shorter += instance->shorter;
	}
}

int changes_add(struct changes *changes, const struct changed_call *changed)
{
	struct changed_call *more = array_room(changes->call, changes->count, sizeof(*more));

	if (!more)
		return -1;
	changes->call = more;
	more[changes->count++] = *changed;
	return 0;
}

static int add_change(struct changes *changes, const struct instance *instance, int64_t call,
	unsigned change)
{
	struct changed_call changed = { .call = call,
		.still_needs = instance->still_needs,
		.change = change };

	return change && call ? changes_add(changes, &changed) : 0;
}

static int add_changes(struct finding_place *place, const struct instance *instance)
{
	unsigned with_change = instance->with_change ? instance->with_change : instance->change;

	if (add_change(&place->changed, instance, instance->call, instance->change))
		return -1;
	for (int i = 0; i < FINDING_ALSO; i++)
		if (add_change(&place->changed, instance, instance->also[i], instance->change) ||
			add_change(&place->with, instance, instance->with[i], with_change))
			return -1;
	return 0;
}

int rule_is_fence(enum rule rule)
{
	return !strcmp(rules[rule].group, "fences");
}

int rule_is_pace(enum rule rule)
{
	return !strcmp(rules[rule].group, "pace");
}

/* The more certain of two instances comes first, then one that nothing kept in order. */
static int compare_certainty(const struct instance *one, const struct instance *other)
{
	if (one->confidence != other->confidence)
		return one->confidence > other->confidence ? 1 : -1;
	return !one->via - !other->via;
}

/* Returns 1 if one represents the instances with the same reason rather than other. */
static int is_worse(const struct instance *one, const struct instance *other)
{
	int more = compare_certainty(one, other);

	if (more || one->overlapped != other->overlapped)
		return more ? more > 0 : one->overlapped;
	return one->cost > other->cost;
}

/* Returns 1 if a place is described by one rather than by other: the most frequent reason. */
static int is_more_frequent(const struct reason_count *one, const struct reason_count *other)
{
	int more = compare_certainty(&one->worst, &other->worst);

	if (more || one->count != other->count)
		return more ? more > 0 : one->count > other->count;
	return one->worst.why && !other->worst.why;
}

static struct reason_count *need_reason(struct finding_place *place,
	const struct instance *instance)
{
	struct reason_count *more;

	for (size_t i = 0; i < place->reasons; i++)
		if (place->reason[i].worst.why == instance->why)
			return &place->reason[i];
	more = array_room(place->reason, place->reasons, sizeof(*more));
	if (!more)
		return NULL;
	place->reason = more;
	more[place->reasons] = (struct reason_count){ .worst = *instance };
	return &more[place->reasons++];
}

static int add_reason(struct finding_place *place, const struct instance *instance)
{
	struct reason_count *reason = need_reason(place, instance);
	const struct reason_count *most;

	if (!reason)
		return -1;
	if (is_worse(instance, &reason->worst))
		reason->worst = *instance;
	reason->count += occurrences(instance);
	most = place->reason;
	for (size_t i = 1; i < place->reasons; i++)
		if (is_more_frequent(&place->reason[i], most))
			most = &place->reason[i];
	place->worst = most->worst;
	place->worst.alike = most->count;
	place->worst.total = place->cost.count;
	return 0;
}

static int add(struct findings *findings, const struct instance *instance, int masked)
{
	int64_t site = places_line(findings->places, instance->call);
	int64_t other_site = places_line(findings->places, instance->other_call);
	struct finding *finding;
	struct finding_place *place;

	if (site < 0 || other_site < 0)
		return -1;
	finding = need_finding(findings, instance, masked);
	place = finding ? need_place(finding, site, other_site) : NULL;
	if (!place)
		return -1;
	add_cost(&place->cost, instance, is_in_loop(findings, instance));
	return add_reason(place, instance) || add_changes(place, instance) ? -1 : 0;
}

int findings_add(struct findings *findings, const struct instance *instance)
{
	return add(findings, instance, 0);
}

int findings_add_masked(struct findings *findings, const struct instance *instance)
{
	return add(findings, instance, 1);
}

/* --- weights --- */

int64_t cost_of(const struct cost *cost)
{
	return cost->waited + cost->delayed;
}

static int64_t at_most(int64_t value, int64_t most)
{
	return value < most ? value : most;
}

/* Operations delayed at the same time each count their delay, but the gain is no more than this. */
int64_t cost_bound(const struct cost *cost, const struct run_length *run)
{
	return at_most(cost->avoidable, run->idle + cost->shorter) +
		at_most(cost->delayed, run->serial);
}

const struct run_length *findings_run(struct findings *findings, int64_t process)
{
	struct run_length *run = idmap_need(&findings->runs, process, sizeof(*run));

	if (!run || (!run->whole && run_length(findings->db, process, run)))
		return NULL;
	return run;
}

struct part findings_part(const struct findings *findings, int64_t process,
	const struct run_length *run, int64_t saving, const struct cost *cost)
{
	const struct loop_span *loop = idmap_get(&findings->loops, process);
	struct part part = { .share = (double)saving / (double)run->whole };
	int is_mostly = 2 * cost->in_loop > cost_of(cost);
	double within = is_mostly ? (double)cost->in_loop / (double)cost_of(cost) : 0;
	int64_t span = loop ? loop->end - loop->start : 0;
	/* More than the loop takes is saved outside of it. */
	int64_t in_loop = at_most((int64_t)(within * (double)saving), span);
	double of_loop = span > 0 ? (double)in_loop / (double)span : 0;

	/* A mistake made once is not part of every turn. */
	if (!is_mostly || of_loop < part.share || cost->count < FINDING_MIN_COUNT)
		return part;
	part.share = of_loop;
	part.turns = loop->turns;
	part.turn = in_loop / loop->turns;
	return part;
}

int finding_weigh(struct findings *findings, struct finding *finding)
{
	const struct run_length *run = findings_run(findings, finding->process);

	if (!run)
		return -1;
	if (rule_is_fence(finding->rule))
		return 0;
	if (!finding->replayed)
		finding->saving.best = cost_bound(&finding->cost, run);
	finding->part = findings_part(findings, finding->process, run, finding->saving.best,
		&finding->cost);
	return 0;
}

const char *const confidence_names[] = { [CONFIDENCE_POSSIBLE] = "possible",
	[CONFIDENCE_LIKELY] = "likely",
	[CONFIDENCE_CERTAIN] = "certain" };

enum confidence confidence_find(const char *name)
{
	enum confidence confidence = CONFIDENCE_CERTAIN;

	while (confidence > CONFIDENCE_POSSIBLE && strcmp(confidence_names[confidence], name))
		confidence--;
	return confidence;
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

static int keep_enough(struct findings *findings)
{
	size_t kept = 0;

	for (size_t i = 0; i < findings->count; i++) {
		struct finding *finding = findings->finding[i];

		finding_collect_lines(finding);
		if (!finding->count)
			continue;
		findings->finding[kept++] = finding;
		if (finding_weigh(findings, finding))
			return -1;
	}
	findings->count = kept;
	return 0;
}

/* Returns how surely results are wrong in some run, if that ranks it before findings about time. */
static int finding_results(const struct finding *finding)
{
	return rule_is_fence(finding->rule) && finding_is_shown(finding)
		? (int)finding_confidence(finding)
		: 0;
}

static int is_guess(const struct finding *finding)
{
	return finding_confidence(finding) < CONFIDENCE_LIKELY;
}

/* A bound may be far above the saving, so bounds rank below replayed savings. */
static int by_worth(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;
	int wrong = finding_results(x), other = finding_results(y);

	if (wrong != other)
		return wrong < other ? 1 : -1;
	if (is_guess(x) != is_guess(y))
		return is_guess(x) ? 1 : -1;
	if (x->replayed != y->replayed)
		return x->replayed < y->replayed ? 1 : -1;
	if (x->part.share != y->part.share)
		return x->part.share < y->part.share ? 1 : -1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

/* Fills tables finding, finding_place, finding_also and replay. */
static int store(struct findings *findings)
{
	struct finding_rows *rows = finding_rows_open(findings);
	int rc = rows ? 0 : -1;

	for (size_t i = 0; i < findings->count && !rc; i++)
		rc = finding_rows_write(rows, findings->finding[i]);
	finding_rows_close(rows);
	return rc;
}

int findings_store(struct findings *findings)
{
	struct savings *savings = NULL;
	int rc = keep_enough(findings) || findings_replay(findings, &savings) ? -1 : 0;

	if (!rc && savings)
		rc = findings_unmask(findings, savings) ||
			findings_replay_pace(findings, savings) ||
			findings_replay_together(findings, savings) ||
			findings_replay_ceiling(findings, savings);
	savings_close(savings);
	if (rc)
		return rc;
	if (findings->count)
		qsort(findings->finding, findings->count, sizeof(struct finding *), by_worth);
	return store(findings);
}
