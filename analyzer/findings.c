/* SPDX-License-Identifier: Apache-2.0 */
#include "findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "findings_parts.h"
#include "pass.h"
#include "places.h"
#include "run_length.h"

#define FINDING_MIN_COUNT 3
#define FINDING_MIN_NS 1000000
#define SHOWN_MIN_SHARE 0.01
#define SHOWN_MIN_NS 50000
#define HIGH_SHARE 0.05
/* To mend others with it is worth so many times as much as to mend it alone, or it is not done. */
#define JOINED_FACTOR 2
/* A replay takes a fraction of a second for a million calls. */
#define REPLAYED_MOST 32

struct findings *findings_new(struct db *db, struct words *words)
{
	struct findings *findings = calloc(1, sizeof(*findings));

	if (!findings)
		return NULL;
	findings->db = db;
	findings->words = words;
	findings->places = places_open(db, words);
	if (findings->places)
		return findings;
	findings_free(findings);
	return NULL;
}

static void free_finding(void *object)
{
	struct finding *finding = object;

	free(finding->changed.call);
	free(finding->with.call);
	free(finding);
}

void findings_free(struct findings *findings)
{
	if (!findings)
		return;
	places_close(findings->places);
	idmap_release(&findings->by_key, free_finding);
	idmap_release(&findings->runs, free);
	free(findings->finding);
	free(findings);
}

int64_t findings_place(struct findings *findings, int64_t call)
{
	return places_site(findings->places, call);
}

/* Row ids of sites are far below 2^28. */
static int64_t key_of(enum rule rule, int64_t site, int64_t other_site)
{
	return (int64_t)rule << 56 | site << 28 | other_site;
}

static struct finding *new_finding(struct findings *findings, int64_t key)
{
	struct finding *finding;
	struct finding **more =
		array_room(findings->finding, findings->count, sizeof(struct finding *));

	if (!more)
		return NULL;
	findings->finding = more;
	finding = idmap_need(&findings->by_key, key, sizeof(*finding));
	if (finding)
		findings->finding[findings->count++] = finding;
	return finding;
}

static int note_change(struct changes *changes, const struct instance *instance, int64_t call,
	unsigned change)
{
	if (!change || !call)
		return 0;
	return findings_add_change(changes, &(struct changed_call){ .call = call,
		.still_needs = instance->still_needs, .change = change });
}

int findings_add(struct findings *findings, const struct instance *instance)
{
	int64_t site = places_line(findings->places, instance->call);
	int64_t other_site = places_line(findings->places, instance->other_call);
	int64_t key = key_of(instance->rule, site, other_site);
	unsigned with_change = instance->with_change ? instance->with_change : instance->change;
	struct finding *finding;

	if (site < 0 || other_site < 0)
		return -1;
	finding = idmap_get(&findings->by_key, key);
	if (!finding)
		finding = new_finding(findings, key);
	if (!finding)
		return -1;
	finding->site = site;
	finding->other_site = other_site;
	if (!finding->count++ || instance->cost > finding->worst.cost)
		finding->worst = *instance;
	finding->cost += instance->cost;
	if (instance->saving != FINDING_NO_ESTIMATE) {
		finding->saving += instance->saving;
		finding->estimates++;
	} else {
		finding->overlap += instance->cost;
	}
	if (note_change(&finding->changed, instance, instance->call, instance->change))
		return -1;
	for (int i = 0; i < FINDING_ALSO; i++)
		if (note_change(&finding->changed, instance, instance->also[i], instance->change) ||
			note_change(&finding->with, instance, instance->with[i], with_change))
			return -1;
	return 0;
}

/* What the finding is worth: its saving, or what stands in for one. */
static int64_t worth(const struct finding *finding)
{
	if (finding->replayed)
		return finding->replay.best;
	return finding->saving + finding->overlap;
}

static int weigh(struct findings *findings, struct finding *finding)
{
	struct run_length *run = idmap_need(&findings->runs, finding->worst.process, sizeof(*run));

	if (!run || (!run->whole && run_length(findings->db, finding->worst.process, run)))
		return -1;
	if (finding->saving > run->idle)
		finding->saving = run->idle;
	/* Overlap lost by several operations at once counts several times. */
	if (finding->overlap > run->serial) {
		finding->cost -= finding->overlap - run->serial;
		finding->overlap = run->serial;
	}
	finding->share = (double)worth(finding) / (double)run->whole;
	return 0;
}

static int by_share(const void *a, const void *b)
{
	const struct finding *x = *(struct finding *const *)a, *y = *(struct finding *const *)b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	if (x->worst.rule != y->worst.rule)
		return x->worst.rule < y->worst.rule ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->other_site > y->other_site) - (x->other_site < y->other_site);
}

static const char *severity(double share)
{
	return share >= HIGH_SHARE ? "high" : share >= SHOWN_MIN_SHARE ? "medium" : "low";
}

/* The first line of a finding. */
static int say_message(struct findings *findings, const struct finding *finding, FILE *out)
{
	return rules[finding->worst.rule].pass->say(findings->words, &finding->worst, out);
}

static int say_fingerprint(struct findings *findings, const struct finding *finding, FILE *out)
{
	const struct instance *worst = &finding->worst;
	const char *kernel;

	fputs(rules[worst->rule].id, out);
	if (places_say(findings->places, worst->call, finding->site, out) ||
		(worst->other_call &&
		 places_say(findings->places, worst->other_call, finding->other_site, out)))
		return -1;
	kernel = words_kernel(findings->words, worst->call);
	if (*kernel)
		fprintf(out, " %s", kernel);
	kernel = worst->other_call ? words_kernel(findings->words, worst->other_call) : "";
	if (*kernel)
		fprintf(out, " %s", kernel);
	return 0;
}

/* What say writes, NULL after a message; to be freed. */
static char *text_of(struct findings *findings, const struct finding *finding,
	int (*say)(struct findings *, const struct finding *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = -1;

	if (out)
		rc = say(findings, finding, out);
	if (out && fclose(out))
		rc = -1;
	if (rc) {
		free(text);
		text = NULL;
	}
	return text;
}

static int is_shown(const struct finding *finding)
{
	return finding->share >= SHOWN_MIN_SHARE && worth(finding) >= SHOWN_MIN_NS;
}

static int is_enough(const struct finding *finding)
{
	return finding->count >= FINDING_MIN_COUNT || finding->cost >= FINDING_MIN_NS;
}

static void change(struct savings *savings, const struct finding *finding)
{
	savings_change(savings, finding->worst.process, finding->changed.call,
		finding->changed.count);
	if (finding->joined)
		savings_change(savings, finding->worst.process, finding->with.call,
			finding->with.count);
}

static int replay_one(struct findings *findings, struct savings *savings, struct finding *finding)
{
	change(savings, finding);
	finding->replayed = savings_estimate(savings, finding->worst.process, &finding->replay);
	return finding->replayed < 0 || weigh(findings, finding) ? -1 : 0;
}

/* Another finding at a line that is mended with this one. */
static int is_about_with(struct findings *findings, const struct finding *other,
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

/* What the more saves that its with calls are changed by, as far as other findings may say so. */
static int replay_more(struct findings *findings, struct savings *savings,
	const struct finding *finding, struct saving *saving)
{
	unsigned more = finding->worst.with_change & ~finding->worst.change;
	int rc = 0;

	for (size_t i = 0; i < findings->count && more && rc >= 0; i++) {
		const struct finding *other = findings->finding[i];

		if (other->worst.change != more || !is_enough(other))
			continue;
		rc = is_about_with(findings, other, &finding->worst);
		if (rc <= 0)
			continue;
		savings_change(savings, other->worst.process, other->changed.call,
			other->changed.count);
		savings_change(savings, other->worst.process, other->with.call, other->with.count);
	}
	return rc < 0 || savings_estimate(savings, finding->worst.process, saving) < 0 ? -1 : 0;
}

/*
 * Others beside it may do the same: then the finding is theirs together.  More than one line is to
 * be changed, for which small savings are no reason.  Or there is more to mend about its own calls:
 * if that by itself does not do it, and has its own finding.
 */
static int replay_joined(struct findings *findings, struct savings *savings,
	struct finding *finding)
{
	double least = finding->worst.with_change ? SHOWN_MIN_SHARE : HIGH_SHARE;
	struct finding alone = *finding;
	struct saving more = { 0 };

	finding->joined = finding->worst.joined = 1;
	if (replay_one(findings, savings, finding) ||
		replay_more(findings, savings, finding, &more))
		return -1;
	if (finding->share < least || finding->replay.best <= JOINED_FACTOR * alone.replay.best ||
		finding->replay.best <= JOINED_FACTOR * more.best)
		*finding = alone;
	return 0;
}

/* Of the findings that bounds let through, what a replay without each one saves. */
static int replay(struct findings *findings, struct savings *savings)
{
	for (size_t i = 0, done = 0; i < findings->count && done < REPLAYED_MOST; i++) {
		struct finding *finding = findings->finding[i];

		if (!finding->changed.count || !is_enough(finding) || !is_shown(finding))
			continue;
		if (replay_one(findings, savings, finding))
			return -1;
		done++;
		if (!finding->with.count || !finding->replayed)
			continue;
		if (replay_joined(findings, savings, finding))
			return -1;
		done++;
	}
	return 0;
}

/* The findings of a process together: less than their sum, where one hides another. */
static int replay_together(struct findings *findings, struct savings *savings, int64_t process)
{
	static const char sql[] = "UPDATE replay SET saving = ?, saving_low = ?, saving_high = ? "
				  "WHERE process = ?";
	sqlite3_stmt *update;
	struct saving saving;
	int rc;

	for (size_t i = 0; i < findings->count; i++) {
		const struct finding *finding = findings->finding[i];

		if (finding->worst.process == process && finding->replayed && is_shown(finding))
			change(savings, finding);
	}
	rc = savings_estimate(savings, process, &saving);
	if (rc <= 0)
		return rc;
	update = db_prepare(findings->db, sql);
	rc = update ? db_run(update, "iiii", saving.best, saving.low, saving.high, process) : -1;
	sqlite3_finalize(update);
	return rc;
}

static int estimate(struct findings *findings)
{
	struct savings *savings;
	size_t with_changes = 0;
	int rc;

	for (size_t i = 0; i < findings->count; i++)
		with_changes += findings->finding[i]->changed.count > 0;
	if (!with_changes)
		return 0;
	savings = savings_open(findings->db);
	rc = savings ? replay(findings, savings) || savings_store(savings) : -1;
	for (size_t i = 0; i < findings->runs.size && !rc; i++)
		if (findings->runs.slot[i].object)
			rc = replay_together(findings, savings, findings->runs.slot[i].id);
	savings_close(savings);
	return rc;
}

static void forget(void *object) { }

/* The places of what is changed with the finding's own calls, each once. */
static int store_places(struct findings *findings, const struct finding *finding,
	const struct changes *changes, struct idmap *seen, sqlite3_stmt *insert)
{
	int64_t own = places_site(findings->places, finding->worst.call);
	int64_t other = places_site(findings->places, finding->worst.other_call);
	int rc = 0;

	if (own < 0 || other < 0)
		return -1;
	for (size_t i = 0; i < changes->count && !rc; i++) {
		int64_t call = changes->call[i].call, site = places_site(findings->places, call);

		if (site < 0)
			return -1;
		if (!site || site == own || site == other || idmap_get(seen, site))
			continue;
		rc = idmap_put(seen, site, findings) ||
		     db_run(insert, "ii", site, call) ? -1 : 0;
	}
	return rc;
}

/* Of the finding stored last. */
static int store_also(struct findings *findings, const struct finding *finding,
	sqlite3_stmt *insert)
{
	struct idmap seen = { 0 };
	int rc;

	/* What is held is not what is to be changed. */
	if (finding->worst.rule == RULE_blocked_behind)
		return 0;
	rc = store_places(findings, finding, &finding->changed, &seen, insert);
	if (!rc && finding->joined)
		rc = store_places(findings, finding, &finding->with, &seen, insert);
	idmap_release(&seen, forget);
	return rc;
}

static int store(struct findings *findings, const struct finding *finding, sqlite3_stmt *insert)
{
	const struct rule_info *rule = &rules[finding->worst.rule];
	char *message = text_of(findings, finding, say_message);
	char *fingerprint = text_of(findings, finding, say_fingerprint);
	int64_t shown = is_shown(finding), saving = DB_NULL, low = DB_NULL, high = DB_NULL;
	int64_t site = places_site(findings->places, finding->worst.call);
	int64_t other_site = places_site(findings->places, finding->worst.other_call);
	int rc = -1;

	if (finding->replayed || finding->estimates)
		saving = worth(finding);
	if (finding->replayed) {
		low = finding->replay.low;
		high = finding->replay.high;
	}

	if (message && fingerprint && site >= 0 && other_site >= 0)
		rc = db_run(insert, "sssiiiIIIdIIiIss", rule->id, rule->confidence,
			severity(finding->share), shown, finding->count, finding->cost, saving,
			low, high, finding->share,
			site ? site : DB_NULL, other_site ? other_site : DB_NULL,
			finding->worst.call,
			finding->worst.other_call ? finding->worst.other_call : DB_NULL, message,
			fingerprint);
	free(message);
	free(fingerprint);
	return rc;
}

int findings_store(struct findings *findings)
{
	sqlite3_stmt *insert, *also;
	int rc;

	if (!findings->count)
		return 0;
	also = db_prepare(findings->db, "INSERT INTO finding_also (finding, site, call) "
		"VALUES ((SELECT max(id) FROM finding), ?, ?)");
	insert = db_prepare(findings->db, "INSERT INTO finding (rule, confidence, severity, shown, "
		"count, waited, saving, saving_low, saving_high, share, site, other_site, call, "
		"other_call, message, fingerprint) "
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
	rc = insert && also && !findings_join(findings) ? 0 : -1;
	for (size_t i = 0; i < findings->count && !rc; i++)
		rc = weigh(findings, findings->finding[i]);
	/* First by what bounds say: those are replayed that can be worth it. */
	qsort(findings->finding, findings->count, sizeof(struct finding *), by_share);
	if (!rc)
		rc = estimate(findings) || findings_join_mended(findings) ? -1 : 0;
	for (size_t i = 0; i < findings->count && !rc; i++)
		rc = weigh(findings, findings->finding[i]);
	qsort(findings->finding, findings->count, sizeof(struct finding *), by_share);
	for (size_t i = 0; i < findings->count && !rc; i++) {
		const struct finding *finding = findings->finding[i];

		if (is_enough(finding))
			rc = store(findings, finding, insert) ||
			     store_also(findings, finding, also) ? -1 : 0;
	}
	sqlite3_finalize(insert);
	sqlite3_finalize(also);
	return rc;
}
