/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_pair.h"

#include <stdio.h>
#include <string.h>

#include "patch_trial.h"

#define IS_NEAR(s, c) s ".file = a.file AND " s ".function = a.function AND " c ".thread = x.thread"

/* Memory of all calls at the place's line counts, and all streams that use it. */
static const char begin_sql[] =
	"CREATE TEMP TABLE given AS SELECT v.place, p.call, o.allocation"
	" FROM temp.verdict v JOIN finding_place p ON p.id = v.place"
	" JOIN finding f ON f.id = p.finding JOIN call w ON w.id = p.call"
	" JOIN stream t ON t.id = w.stream AND t.kind = 'legacy'"
	" JOIN main.site a ON a.id = p.site JOIN main.site s ON s.process = a.process"
	"  AND s.line = a.line AND s.file = a.file JOIN call c ON c.site = s.id"
	" JOIN operand o ON o.call = c.id WHERE v.state = 'fails' AND needs_stream(f.rule)"
	" GROUP BY v.place, o.allocation;"
	"CREATE TEMP TABLE memory_user AS SELECT place, call, other_call FROM"
	" (SELECT g.place, g.call, y.id AS other_call, count(DISTINCT y.stream) AS streams,"
	"  min(CASE WHEN " IS_NEAR("b", "y") " THEN abs(y.id - g.call) END) AS distance"
	"  FROM temp.given g JOIN operand o ON o.allocation = g.allocation"
	"  JOIN call y ON y.id = o.call JOIN stream t ON t.id = y.stream AND t.kind <> 'legacy'"
	"  JOIN call x ON x.id = g.call JOIN main.site a ON a.id = x.site"
	"  LEFT JOIN main.site b ON b.id = y.site GROUP BY g.place)"
	" WHERE streams = 1 AND distance NOT NULL";

int patch_pair_begin(struct db *db)
{
	return db_exec(db, begin_sql);
}

#define GRAPH "both are in a graph"
#define UNCERTAIN "the race is not certain"
#define SEVERAL "the other line uses several streams"
#define IS_DEFAULT(c) \
	"(SELECT t.kind IN ('legacy', 'per-thread') FROM stream t WHERE t.id = " c ".stream)"

/*
 * Streams that never wait for each other have no fence that could be changed.  If the other line
 * uses several streams, its name for one may be that of another turn's.
 */
static const char pair_sql[] =
	"SELECT q.why, CASE WHEN q.doubt NOT NULL THEN q.doubt"
	"  WHEN EXISTS (SELECT 1 FROM main.site k JOIN call c ON c.site = k.id"
	"   WHERE k.text = b.text AND c.process = y.process AND c.stream <> y.stream)"
	"  THEN '" SEVERAL "' END, b.line, " IS_NEAR("b", "y") ", r.line, " IS_NEAR("r", "z") ","
	" ifnull(" IS_DEFAULT("x") ", 0), ifnull(" IS_DEFAULT("y") ", 0),"
	" x.id, y.id, y.stream, q.is_war"
	" FROM (SELECT h.call, h.other_call, h.record,"
	"  coalesce(nullif(h.why, 'legacy-stream'), '') AS why,"
	"  h.kind = 'war' AS is_war, CASE WHEN h.launch NOT NULL THEN '" GRAPH "'"
	"  WHEN h.confidence <> 'certain' THEN '" UNCERTAIN "' END AS doubt"
	"  FROM finding_place p JOIN hazard h ON h.id = p.hazard WHERE p.id = ?1"
	"  UNION ALL SELECT u.call, u.other_call, NULL, '', 0, NULL FROM temp.memory_user u"
	"  WHERE u.place = ?1) q"
	" JOIN call x ON x.id = q.call JOIN main.site a ON a.id = x.site"
	" JOIN call y ON y.id = q.other_call LEFT JOIN main.site b ON b.id = y.site"
	" LEFT JOIN call z ON z.id = q.record LEFT JOIN main.site r ON r.id = z.site";

enum pair_column {
	PAIR_WHY,
	PAIR_DOUBT,
	PAIR_LINE,
	PAIR_NEAR,
	PAIR_RECORD_LINE,
	PAIR_RECORD_NEAR,
	PAIR_DEFAULT,
	PAIR_OTHER_DEFAULT,
	PAIR_CALL,
	PAIR_OTHER,
	PAIR_STREAM,
	PAIR_IS_WAR
};

static size_t line_of(sqlite3_stmt *q, int column)
{
	int64_t line = sqlite3_column_int64(q, column);

	return line > 0 && sqlite3_column_int(q, column + 1) ? (size_t)line - 1 : SIZE_MAX;
}

static void find_compiled(struct code_frames *frames, int64_t call, int is_default, char *text)
{
	if (is_default || stream_code(frames, call, text) <= 0)
		*text = 0;
}

/* A line of a script without a stream of its own uses the current one. */
static const char *find_in_script(struct code_frames *frames, const struct source *source,
	sqlite3_stmt *q, struct patch_pair *pair, const struct patch_place *place)
{
	const struct framework *framework =
		framework_of_call(frames, sqlite3_column_int64(q, PAIR_OTHER));
	char *text = pair->text[0], *other = pair->text[1];

	if (!framework || strcmp(framework->name, "PyTorch") != 0)
		return "only PyTorch's streams are known to wait by one call";
	if (sqlite3_column_int(q, PAIR_DEFAULT) ||
		!stream_expression_script(source, (int64_t)place->at + 1, text))
		snprintf(text, STREAM_EXPRESSION_SIZE, "%s", framework->current);
	if (sqlite3_column_int(q, PAIR_OTHER_DEFAULT))
		snprintf(other, STREAM_EXPRESSION_SIZE, "%s", framework->standard);
	else if (!stream_expression_script(source, (int64_t)place->other + 1, other))
		*other = 0;
	return NULL;
}

/* The queries' words, which the caller keeps for longer than the query. */
static const char *find_doubt(sqlite3_stmt *q)
{
	static const char *const doubts[] = { GRAPH, UNCERTAIN, SEVERAL };
	const char *doubt = db_text(q, PAIR_DOUBT);

	for (size_t i = 0; i < sizeof(doubts) / sizeof(*doubts); i++)
		if (!strcmp(doubt, doubts[i]))
			return doubts[i];
	return NULL;
}

static const char *complete(struct code_frames *frames, const struct source *source,
	sqlite3_stmt *q, struct patch_pair *pair, struct patch_place *place)
{
	snprintf(pair->why, sizeof(pair->why), "%s", db_text(q, PAIR_WHY));
	pair->stream = sqlite3_column_int64(q, PAIR_STREAM);
	place->is_war = sqlite3_column_int(q, PAIR_IS_WAR);
	place->other = line_of(q, PAIR_LINE);
	place->record = line_of(q, PAIR_RECORD_LINE);
	if (place->other >= place->count)
		return NULL;
	if (place->is_script)
		return find_in_script(frames, source, q, pair, place);
	find_compiled(frames, sqlite3_column_int64(q, PAIR_CALL),
		sqlite3_column_int(q, PAIR_DEFAULT), pair->text[0]);
	find_compiled(frames, sqlite3_column_int64(q, PAIR_OTHER),
		sqlite3_column_int(q, PAIR_OTHER_DEFAULT), pair->text[1]);
	return NULL;
}

const char *patch_pair_read(struct db *db, struct code_frames *frames, const struct source *source,
	int64_t id, struct patch_pair *pair, struct patch_place *place)
{
	sqlite3_stmt *q = db_prepare(db, pair_sql);
	const char *reason = NULL;
	int step = q && !db_bind(q, "i", id) ? db_step(q) : -1;

	*pair = (struct patch_pair){ .why = "" };
	place->why = pair->why;
	place->stream = pair->text[0];
	place->other_stream = pair->text[1];
	place->other = place->record = SIZE_MAX;
	if (step > 0)
		reason = find_doubt(q);
	if (step > 0 && !reason)
		reason = complete(frames, source, q, pair, place);
	sqlite3_finalize(q);
	return step < 0 ? "the trace cannot be read" : reason;
}
