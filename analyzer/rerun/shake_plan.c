/* SPDX-License-Identifier: Apache-2.0 */
#include "shake_plan.h"

#include <stdlib.h>
#include <string.h>

#include "call_place.h"
#include "calls.h"
#include "constants.h"
#include "memory.h"
#include "print.h"
#include "remote_kernels.h"
#include "words.h"

enum {
	PLACES_MOST = 24,   /* in one run; the other actions are more calls at these */
	ANSWERS_MOST = 8,   /* of one action */
	SHORTER_MOST = 6,   /* the shortest hold is the longest one halved less often */
	BUDGET_PARTS = 4,   /* of which the longest hold takes one, so that the first is not all */
	QUERIES_PREFER = 4, /* a query is that much more likely to be chosen */
};

static const char calls_sql[] =
	"WITH awaited AS MATERIALIZED (SELECT DISTINCT s.stream FROM call s"
	"  LEFT JOIN kernel k ON k.id = s.kernel JOIN call_type u ON u.id = s.type"
	"  JOIN call_kind e ON e.name = u.kind WHERE s.stream NOT NULL AND (e.outside"
	"   OR " WAITS_FOR_OTHER_DEVICES("k.name") "))"
	" SELECT site, name, max(n), polls, min(first) AS first FROM"
	" (SELECT c.site, t.name, d.polls, "
	"  max(1, sum(NOT d.polls OR c.result = 0)) AS n, min(c.id) AS first FROM call c"
	"  JOIN call_type t ON t.id = c.type JOIN call_kind d ON d.name = t.kind"
	"  WHERE NOT t.runtime AND c.site NOT NULL AND (d.polls OR (d.work AND c.stream NOT NULL"
	"   AND c.stream NOT IN (SELECT stream FROM awaited)))"
	"  GROUP BY c.site, t.id, c.thread)"
	" GROUP BY site, name ORDER BY first";
enum calls_column { CALLS_SITE, CALLS_NAME, CALLS_COUNT, CALLS_POLLS, CALLS_FIRST };

static char *text_of(struct words *words, int64_t call, int is_query)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc;

	if (!out)
		memory_lacks();
	rc = is_query ? words_call(words, call, out) : words_operation(words, call, out);
	rc = rc || words_place(words, call, out);
	fclose(out);
	if (!rc)
		return text;
	free(text);
	return NULL;
}

static int has_place(const struct shake_calls *calls, const struct hold_place *place)
{
	for (size_t i = 0; i < calls->count; i++)
		if (calls->call[i].place.place == place->place &&
			calls->call[i].place.call == place->call)
			return 1;
	return 0;
}

static int add_call(struct shake_calls *calls, struct db *db, struct words *words,
	sqlite3_stmt *row)
{
	struct shake_call call = { .count = (uint32_t)sqlite3_column_int64(row, CALLS_COUNT),
		.is_query = sqlite3_column_int(row, CALLS_POLLS),
		.place.call = call_named(db_text(row, CALLS_NAME)) };
	int frames = call_place_read(db, sqlite3_column_int64(row, CALLS_SITE), &call.place.place);

	if (frames <= 0 || call.place.call == CALL_COUNT || has_place(calls, &call.place))
		return frames < 0 ? -1 : 0;
	call.text = text_of(words, sqlite3_column_int64(row, CALLS_FIRST), call.is_query);
	if (!call.text)
		return -1;
	*array_push(calls->call, calls->count) = call;
	return 0;
}

int shake_calls_read(struct shake_calls *calls, struct db *db)
{
	struct words *words = words_open(db);
	sqlite3_stmt *q = words ? db_prepare(db, calls_sql) : NULL;
	int step = q ? 0 : -1;

	*calls = (struct shake_calls){ 0 };
	while (!step && (step = db_step(q)) > 0)
		step = add_call(calls, db, words, q);
	sqlite3_finalize(q);
	words_close(words);
	return step;
}

void shake_calls_release(struct shake_calls *calls)
{
	for (size_t i = 0; i < calls->count; i++)
		free(calls->call[i].text);
	free(calls->call);
	*calls = (struct shake_calls){ 0 };
}

/* --- random numbers (splitmix64) --- */

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* A place's own random numbers. */
static uint64_t random_of(uint64_t seed, const struct hold_place *place)
{
	uint64_t state = byte_hash(BYTE_HASH_SEED, &seed, sizeof(seed));

	state = byte_hash(state, &place->place, sizeof(place->place));
	return byte_hash(state, &place->call, sizeof(place->call));
}

/* A place in the order in which they are chosen. */
struct draw {
	const struct shake_call *call;
	uint64_t score, state;
};

static int compare_draws(const void *one, const void *other)
{
	uint64_t a = ((const struct draw *)one)->score, b = ((const struct draw *)other)->score;

	return a < b ? -1 : a > b;
}

static void add_action(struct hold_plan *plan, struct draw *draw)
{
	struct shake_action *action = &plan->action[plan->actions];
	uint64_t part = plan->budget / BUDGET_PARTS, longest = part < HOLD_NS ? part : HOLD_NS;

	*action = (struct shake_action){ .place = draw->call->place,
		.ordinal = 1 + (uint32_t)(next_random(&draw->state) % draw->call->count) };
	if (draw->call->is_query)
		action->answers = 1 + (uint32_t)(next_random(&draw->state) % ANSWERS_MOST);
	else
		action->ns = longest >> next_random(&draw->state) % SHORTER_MOST;
	for (uint32_t i = 0; i < plan->actions; i++)
		if (plan->action[i].ordinal == action->ordinal &&
			plan->action[i].place.place == action->place.place &&
			plan->action[i].place.call == action->place.call)
			return;
	plan->actions++;
}

void shake_plan_make(struct hold_plan *plan, const struct shake_calls *calls, uint64_t seed,
	uint64_t budget)
{
	struct draw *draw = xcalloc(calls->count, sizeof(*draw));
	size_t most = calls->count < PLACES_MOST ? calls->count : PLACES_MOST;
	uint64_t state = seed;

	*plan = (struct hold_plan){ .magic = HOLD_MAGIC, .timeout = HOLD_NS, .budget = budget };
	for (size_t i = 0; i < calls->count; i++) {
		draw[i].call = &calls->call[i];
		draw[i].state = random_of(seed, &calls->call[i].place);
		draw[i].score = next_random(&draw[i].state) /
			(calls->call[i].is_query ? QUERIES_PREFER : 1);
	}
	qsort(draw, calls->count, sizeof(*draw), compare_draws);
	most -= next_random(&state) % (most / 2 + 1);
	/* Once each, then again; a place with one call has no other. */
	for (int round = 0; round < SHAKE_ACTIONS; round++)
		for (size_t i = 0; i < most && plan->actions < SHAKE_ACTIONS; i++)
			if (!round || draw[i].call->count > 1)
				add_action(plan, &draw[i]);
	free(draw);
}

char *shake_action_text(const struct shake_action *action, const struct shake_calls *calls)
{
	const char *text = "?";

	for (size_t i = 0; i < calls->count; i++)
		if (calls->call[i].place.place == action->place.place &&
			calls->call[i].place.call == action->place.call)
			text = calls->call[i].text;
	if (action->answers)
		return xprintf(
			"\"not ready\" from query %u on that would succeed, up to %u times, of "
			"%s",
			action->ordinal, action->answers, text);
	return xprintf("the stream held for up to %.1f ms before call %u of %s",
		(double)action->ns / 1e6, action->ordinal, text);
}
