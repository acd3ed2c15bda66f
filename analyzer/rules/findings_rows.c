/* SPDX-License-Identifier: Apache-2.0 */
/* Writes findings as rows of the tables finding, finding_place, finding_also and finding_race. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "findings_internal.h"
#include "map.h"
#include "memory.h"
#include "pass.h"
#include "places.h"
#include "print.h"
#include "rows.h"

/*
 * Maximum number of line pairs that a finding about a wait reports as a race without it.  They are
 * no findings yet; table hazard has all.
 */
#define RACE_LIMIT 4

/* Two operations that only a call's wait orders. */
struct accident {
	int64_t hazard, via_line, line, other_line;
	struct instance pair;
};

struct finding_rows {
	struct findings *findings;
	int64_t finding;           /* the row that is being written */
	struct accident *accident; /* one for each three lines */
	size_t accident_count;
};

static const char accidents_sql[] =
	"SELECT id, process, call, other_call, via FROM hazard WHERE rule = 'accidental-order'"
	" AND confidence <> 'possible' ORDER BY id";

/* Nobody but the author knows whether a value must be read. */
static int only_reads(const struct finding *finding)
{
	for (size_t i = 0; i < finding->count; i++)
		if (!finding->place[i]->worst.reads)
			return 0;
	return 1;
}

/* Wrong results are more severe than wasted time. */
static const char *severity_of(const struct finding *finding)
{
	static const char *const fences[] = { [CONFIDENCE_POSSIBLE] = "low",
		[CONFIDENCE_LIKELY] = "medium",
		[CONFIDENCE_CERTAIN] = "high" };
	const char *severity = finding_severity(finding->part.share);

	if (rule_is_fence(finding->rule))
		return fences[finding_confidence(finding)];
	return only_reads(finding) && !strcmp(severity, "high") ? "medium" : severity;
}

static int say_message(struct findings *findings, const struct finding_place *place, FILE *out)
{
	const char *joint = "; once ";

	if (rules[place->worst.rule].pass->say(findings->words, &place->worst, out))
		return -1;
	if (place->worst.masked)
		fputs("; fixed alone it saves little: another finding blocks the work after it",
			out);
	for (int i = 0; i < RULE_COUNT; i++)
		if (place->after >> i & 1) {
			print(out, "%s%s", joint, rules[i].id);
			joint = " and ";
		}
	if (!place->after)
		return 0;
	fputs(place->after & (place->after - 1) ? " are" : " is", out);
	if (place->then < SHOWN_MIN_NS) {
		fputs(" fixed it saves nothing more", out);
		return 0;
	}
	fputs(" fixed it saves only ", out);
	words_time(place->then, out);
	return 0;
}

/* Other callers may need the waits at its line. */
static void say_callers(struct findings *findings, const struct finding_place *place, FILE *out)
{
	int64_t made, needed = findings_needed_there(findings, place, &made);

	if (!needed)
		return;
	if (!ftell(out))
		fputs(rules[place->worst.rule].advice, out);
	print(out,
		"; only as it is called there: %lld of the %lld waits at this line may be needed",
		(long long)needed, (long long)made);
}

static int say_fix(struct findings *findings, const struct finding_place *place, FILE *out)
{
	const struct instance *worst = &place->worst;
	const struct pass *pass = rules[worst->rule].pass;
	struct advice advice;

	if (advice_find(findings->db, words_frames(findings->words), worst->call, worst->reads,
		    &advice))
		return -1;
	if (advice.text && !rule_is_fence(worst->rule))
		fputs(advice.text, out);
	else if (pass->fix && pass->fix(findings->words, worst, out))
		return -1;
	say_callers(findings, place, out);
	return 0;
}

static int say_fingerprint(struct findings *findings, const struct finding_place *place, FILE *out)
{
	const struct instance *worst = &place->worst;
	const char *kernel;

	fputs(rules[worst->rule].id, out);
	if (places_print(findings->places, worst->call, place->site, out) ||
		(worst->other_call &&
			places_print(findings->places, worst->other_call, place->other_site, out)))
		return -1;
	kernel = words_kernel(findings->words, worst->call);
	if (*kernel)
		print(out, " %s", kernel);
	kernel = worst->other_call ? words_kernel(findings->words, worst->other_call) : "";
	if (*kernel)
		print(out, " %s", kernel);
	return 0;
}

/* Returns the text that say writes, to be freed; NULL after a message. */
static char *text_of(struct findings *findings, const struct finding_place *place,
	int (*say)(struct findings *, const struct finding_place *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc;

	if (!out)
		memory_lacks();
	rc = say(findings, place, out);
	if (fclose(out))
		memory_lacks();
	if (!rc)
		return text;
	free(text);
	return NULL;
}

/* Writes a place, with the finding's row before its first one. */
static int write_place(struct finding_rows *rows, const struct finding *finding,
	const struct finding_place *place)
{
	struct findings *findings = rows->findings;
	const struct instance *worst = &place->worst;
	const struct cost *cost = &finding->cost;
	int64_t all = cost_of(cost);
	/* In proportion to its cost. */
	double share = all ? finding->part.share * (double)cost_of(&place->cost) / (double)all : 0;
	int64_t site = worst->site ? places_site_of(findings->places, worst->site)
				   : places_site(findings->places, worst->call);
	int64_t other_site = places_site(findings->places, worst->other_call);
	int64_t other_call = cell_id(worst->other_call);
	char *message = text_of(findings, place, say_message);
	char *fix = text_of(findings, place, say_fix);
	char *fingerprint = text_of(findings, place, say_fingerprint);
	int rc = site < 0 || other_site < 0 || !message || !fix || !fingerprint ? -1 : 0;

	site = cell_id(site);
	other_site = cell_id(other_site);
	if (!rc && place == finding->place[0])
		rc = db_add(findings->db,
			ROW(finding, ++rows->finding, finding->process,
				cell_text(rules[finding->rule].id),
				cell_text(confidence_names[finding_confidence(finding)]),
				cell_text(severity_of(finding)), finding_is_shown(finding),
				only_reads(finding), cost->count, cost->waited, cost->delayed,
				finding->saving.best,
				finding->replayed ? finding->saving.low : DB_NULL,
				finding->replayed ? finding->saving.high : DB_NULL,
				finding->part.share,
				finding->part.turns ? finding->part.turn : DB_NULL, site,
				other_site, worst->call, other_call, cell_text(message),
				cell_text(fingerprint)));
	cost = &place->cost;
	if (!rc)
		rc = db_add(findings->db,
			ROW(finding_place, DB_NULL, rows->finding, place->shown, cost->count,
				cost->waited, cost->delayed,
				place->replayed ? place->alone : DB_NULL, share, site, other_site,
				worst->call, other_call,
				cell_text(confidence_names[place_confidence(place)]),
				cell_text(worst->kind), cell_text(worst->why), cell_text(message),
				cell_text(*fix ? fix : NULL), cell_id(worst->hazard),
				cell_text(fingerprint)));
	if (!rc && place->changes.data)
		rc = db_add(findings->db,
			ROW(rank_change, finding->process, cell_text(fingerprint),
				cell_bytes(place->changes.data, place->changes.size)));
	free(message);
	free(fix);
	free(fingerprint);
	return rc;
}

/* --- other places to change --- */

/* Writes the places of the calls that are changed with the finding's own calls, each once. */
static int write_also(const struct finding_rows *rows, const struct finding *finding)
{
	struct places *places = rows->findings->places;
	struct map seen = { 0 };
	int rc = 0;

	if (rules[finding->rule].pass->changes_other)
		return 0;
	for (size_t i = 0; i < finding->count && !rc; i++) {
		const struct instance *worst = &finding->place[i]->worst;
		int64_t site = places_site(places, worst->call);
		int64_t other_site = places_site(places, worst->other_call);

		rc = site < 0 || other_site < 0 ? -1 : 0;
		map_set(&seen, (uint64_t)site, 1);
		map_set(&seen, (uint64_t)other_site, 1);
	}
	for (size_t i = 0; i < finding->count && !rc; i++) {
		const struct finding_place *place = finding->place[i];

		/* The calls are not where it is to be changed: they only came before. */
		for (size_t k = 0; k < place->changed_count && !place->worst.site && !rc; k++) {
			const struct changed_call *changed = &place->changed[k];
			int64_t call = changed->call, site = places_site(places, call);

			rc = site < 0 ? -1 : 0;
			if (site <= 0 || map_get(&seen, (uint64_t)site, 0))
				continue;
			map_set(&seen, (uint64_t)site, 1);
			rc = db_add(rows->findings->db,
				ROW(finding_also, rows->finding, site, call));
		}
	}
	map_release(&seen);
	return rc;
}

/* --- operations ordered only by the finding's waits --- */

static int say_race(struct findings *findings, const struct finding_place *place, FILE *out)
{
	const struct instance *pair = &place->worst;
	struct words *words = findings->words;

	if (words_operation(words, pair->call, out))
		return -1;
	fputs(" comes after ", out);
	if (words_operation(words, pair->other_call, out))
		return -1;
	fputs(" only because this call waits: ", out);
	return rules[pair->rule].pass->fix(words, pair, out);
}

/*
 * Without its unintended wait an accidental order is lost.  Writes those of the finding's waits,
 * one for each pair of lines.
 */
static int write_races(const struct finding_rows *rows, const struct finding *finding)
{
	const struct accident *said[RACE_LIMIT];
	int count = 0, rc = 0;
	char *text;

	if (rule_is_fence(finding->rule))
		return 0;
	for (size_t i = 0; i < rows->accident_count && count < RACE_LIMIT && !rc; i++) {
		const struct accident *next = &rows->accident[i];
		int is_lost = 0, is_said = 0;

		for (size_t k = 0; k < finding->count; k++)
			is_lost |= next->via_line && finding->place[k]->line == next->via_line;
		for (int k = 0; k < count; k++)
			is_said |= said[k]->line == next->line &&
				said[k]->other_line == next->other_line;
		if (!is_lost || is_said || next->pair.process != finding->process)
			continue;
		text = text_of(rows->findings, &(struct finding_place){ .worst = next->pair },
			say_race);
		rc = text ? db_add(rows->findings->db,
				    ROW(finding_race, rows->finding, next->hazard, cell_text(text)))
			  : -1;
		free(text);
		said[count++] = next;
	}
	return rc;
}

int findings_write(struct findings *findings)
{
	struct finding_rows rows = { .findings = findings };
	struct places *places = findings->places;
	sqlite3_stmt *q = db_prepare(findings->db, accidents_sql);
	struct map seen = { 0 };
	int rc = q ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		struct accident next = { .hazard = sqlite3_column_int64(q, 0),
			.via_line = places_line(places, sqlite3_column_int64(q, 4)),
			.pair = { .rule = RULE_accidental_order,
				.process = sqlite3_column_int64(q, 1),
				.call = sqlite3_column_int64(q, 2),
				.other_call = sqlite3_column_int64(q, 3) } };
		uint64_t key;

		next.line = places_line(places, next.pair.call);
		next.other_line = places_line(places, next.pair.other_call);
		rc = next.line < 0 || next.other_line < 0 || next.via_line < 0 ? -1 : 0;
		key = map_hash_words((const uint64_t[]){ (uint64_t)next.pair.process,
					     (uint64_t)next.line, (uint64_t)next.other_line,
					     (uint64_t)next.via_line },
			4);
		if (rc || map_get(&seen, key, 0))
			continue;
		map_set(&seen, key, 1);
		*array_push(rows.accident, rows.accident_count) = next;
	}
	sqlite3_finalize(q);
	map_release(&seen);

	rc = rc || findings_count_waits(findings) ? -1 : 0;
	for (size_t i = 0; i < findings->count && !rc; i++) {
		const struct finding *finding = findings->finding[i];

		for (size_t k = 0; k < finding->count && !rc; k++)
			rc = write_place(&rows, finding, finding->place[k]);
		rc = rc || write_also(&rows, finding) || write_races(&rows, finding) ||
				finding_write_sample(findings, finding, rows.finding)
			? -1
			: 0;
	}
	free(rows.accident);
	return rc;
}
