/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_hazards.h"

#include <stddef.h>
#include <string.h>

#include "print.h"

static const char hazards_sql[] =
	"SELECT h.process, h.call, h.other_call, h.confidence, h.kind, h.why, h.count, h.launch"
	" FROM hazard h WHERE h.rule = ? ORDER BY h.id";

/* How a pair is said: what the later operation does with what the earlier one did. */
static const struct pair {
	const char *kind, *verb, *other;
} pairs[] = {
	{ "raw", "reads", "writes" },
	{ "war", "overwrites", "reads" },
	{ "waw", "overwrites", "writes" },
};

/* What is wrong with the fence that is there. */
static const struct reason {
	const char *why, *text;
} reasons[] = {
	{ "unrecorded-event", "the event that its stream waits for was never recorded" },
	{ "early-record", "the event that its stream waits for is recorded before that" },
	{ "stale-event", "the event that its stream waits for was recorded again elsewhere" },
	{ "late-fence", "the wait for it comes after" },
};

static const struct pair *find_pair(const char *kind)
{
	size_t i = 0;

	while (i + 1 < sizeof(pairs) / sizeof(*pairs) && strcmp(pairs[i].kind, kind))
		i++;
	return &pairs[i];
}

static const struct reason *find_reason(const char *why)
{
	for (size_t i = 0; why && i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(reasons[i].why, why))
			return &reasons[i];
	return NULL;
}

int pass_add_hazards(struct db *db, struct findings *findings, enum rule rule, int64_t least)
{
	sqlite3_stmt *q = db_prepare(db, hazards_sql);
	int step = q && !db_bind(q, "s", rules[rule].id) ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		const struct reason *reason = find_reason((const char *)sqlite3_column_text(q, 5));
		struct instance instance = { .rule = rule,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.confidence = confidence_find(db_text(q, 3)),
			.least = least,
			.count = sqlite3_column_int64(q, 6),
			.launch = sqlite3_column_int64(q, 7),
			.kind = find_pair(db_text(q, 4))->kind,
			.why = reason ? reason->why : NULL };

		step = findings_add(findings, &instance);
	}
	sqlite3_finalize(q);
	return step;
}

static int say_operation(struct words *words, const struct instance *worst, int64_t call, FILE *out)
{
	return worst->launch ? words_node(words, call, out) : words_operation(words, call, out);
}

int pass_say_hazard(struct words *words, const struct instance *worst, FILE *out)
{
	const struct pair *pair = find_pair(worst->kind);
	const struct reason *reason = find_reason(worst->why);

	if (say_operation(words, worst, worst->call, out))
		return -1;
	print(out, " %s what ", pair->verb);
	if (say_operation(words, worst, worst->other_call, out))
		return -1;
	print(out, " %s, and %s orders them", pair->other,
		worst->launch ? "in their graph no edge" : "nothing");
	if (reason)
		print(out, ": %s", reason->text);
	return 0;
}
