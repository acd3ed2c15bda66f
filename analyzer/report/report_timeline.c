/* SPDX-License-Identifier: Apache-2.0 */
#include "report_timeline.h"

#include <string.h>

#include "kernel_names.h"
#include "print.h"
#include "words.h"

#define LABEL_WIDTH 16
#define COLUMNS 76
/* More streams than these are a number. */
#define STREAM_LIMIT 10

static const char legend[] =
	"legend: [===] of this finding, [---] other calls and work, | short, "
	": several, < > cut off";

struct timeline {
	struct db *db;
	FILE *out;
	int64_t finding;
	int64_t start, end; /* ns, of all columns */
	char row[COLUMNS + 1];
	int any; /* the row is not empty */
};

/* What an instance is about: the two calls' operations, and where the one put the other in order
 * the operation that was held and the one it was held by; one hold will do. */
#define OPS_SQL \
	"WITH f AS (SELECT * FROM finding WHERE id = ?1), " \
	"h AS (SELECT h.* FROM hold h, f JOIN operation o ON o.id = h.op " \
	" JOIN operation b ON b.id = h.behind WHERE h.via = f.call " \
	" AND f.other_call IN (o.call, b.call) ORDER BY h.held DESC LIMIT 1), " \
	"ops AS (SELECT o.* FROM operation o, f WHERE o.call IN (f.call, f.other_call) UNION " \
	" SELECT o.* FROM operation o, h WHERE o.id IN (h.op, h.behind)) "

/* A wait is shown as long as it lasted; a call that submits may lie far ahead of its work. */
/* clang-format off */
static const char span_sql[] =
	OPS_SQL "SELECT min(t), max(t) FROM ("
	"SELECT start AS t FROM ops UNION ALL SELECT end FROM ops UNION ALL "
	"SELECT enter FROM call, f WHERE call.id = f.call AND f.rule IN (SELECT 'redundant-sync' "
	" UNION SELECT rule FROM finding, wait w WHERE w.call = f.call) UNION ALL "
	"SELECT c.exit FROM call c, f WHERE c.id = f.call AND (EXISTS (SELECT 1 FROM wait w "
	" WHERE w.call = c.id) OR f.rule = 'redundant-sync') UNION ALL "
	"SELECT c.enter FROM call c, f WHERE c.id = f.other_call AND f.rule = 'redundant-sync')";
/* clang-format on */

static const char threads_sql[] =
	"SELECT DISTINCT t.id, ifnull(t.name, 'thread ' || t.tid) FROM finding f "
	"JOIN call c ON c.id IN (f.call, f.other_call) JOIN thread t ON t.id = c.thread "
	"WHERE f.id = ?1 ORDER BY c.id = f.call DESC";

static const char calls_sql[] =
	"SELECT c.enter, c.exit, CASE WHEN s.api NOT NULL AND NOT t.runtime THEN s.api "
	" WHEN t.name LIKE '%LaunchKernel%' THEN 'launch' ELSE t.name END, "
	"EXISTS (WITH RECURSIVE up(id) AS (SELECT call FROM finding WHERE id = ?1 UNION "
	" SELECT other_call FROM finding WHERE id = ?1 UNION "
	" SELECT p.parent FROM up JOIN call p ON p.id = up.id WHERE p.parent NOT NULL) "
	" SELECT 1 FROM up WHERE up.id = c.id) "
	"FROM call c JOIN call_type t ON t.id = c.type LEFT JOIN site s ON s.id = c.site "
	"WHERE c.thread = ?2 AND c.parent IS NULL AND c.enter <= ?4 AND c.exit >= ?3 ORDER BY c.id";

/* clang-format off */
static const char streams_sql[] =
	OPS_SQL "SELECT s.id, CASE s.kind WHEN 'legacy' THEN 'legacy stream' "
	" WHEN 'per-thread' THEN 'per-thread' ELSE 'stream ' || ifnull(s.cupti_id, s.id) END "
	"FROM operation o JOIN stream s ON s.id = o.stream "
	"WHERE o.process = (SELECT process FROM ops LIMIT 1) AND o.start <= ?3 AND o.end >= ?2 "
	"GROUP BY s.id ORDER BY s.id IN (SELECT stream FROM ops) DESC, s.id";
/* clang-format on */

static const char operations_sql[] =
	OPS_SQL "SELECT o.start, o.end, CASE o.kind WHEN 'kernel' THEN " KERNEL_LABEL("k")
	" ELSE o.kind END, "
	"o.id IN (SELECT id FROM ops) FROM operation o LEFT JOIN kernel k ON k.id = o.kernel "
	"WHERE o.stream = ?2 AND o.start <= ?4 AND o.end >= ?3 ORDER BY o.start";

static int column(const struct timeline *timeline, int64_t time)
{
	double part = (double)(time - timeline->start) / (double)(timeline->end - timeline->start);

	return part <= 0 ? 0 : part >= 1 ? COLUMNS - 1 : (int)(part * COLUMNS);
}

static void draw(struct timeline *timeline, int64_t start, int64_t end, const char *name, int named)
{
	int from = column(timeline, start), to = column(timeline, end);
	char *row = timeline->row;
	size_t room = to > from ? (size_t)(to - from - 1) : 0;
	size_t length = name ? strlen(name) : 0;

	timeline->any = 1;
	if (from == to) {
		row[from] = row[from] == ' ' ? '|' : ':';
		return;
	}
	row[from] = start < timeline->start ? '<' : row[from] == ' ' ? '[' : ':';
	row[to] = end > timeline->end ? '>' : ']';
	memset(row + from + 1, named ? '=' : '-', room);
	/* A column is a byte: a character of several would move what is behind it. */
	for (size_t i = 0; i < length && i < room; i++)
		row[from + 1 + (int)i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
}

static void print_row(struct timeline *timeline, const char *label)
{
	int width = COLUMNS;

	while (width && timeline->row[width - 1] == ' ')
		width--;
	if (timeline->any)
		print(timeline->out, "      %-*.*s  %.*s\n", LABEL_WIDTH, LABEL_WIDTH, label, width,
			timeline->row);
}

/* A row of what q says: start, end, name, whether the finding is about it. */
static int draw_row(struct timeline *timeline, sqlite3_stmt *q, int64_t id, const char *label)
{
	int step = db_bind(q, "iiii", timeline->finding, id, timeline->start, timeline->end);

	memset(timeline->row, ' ', COLUMNS);
	timeline->any = 0;
	while (!step && (step = db_step(q)) > 0) {
		draw(timeline, sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
			(const char *)sqlite3_column_text(q, 2), sqlite3_column_int(q, 3));
		step = 0;
	}
	print_row(timeline, label);
	return step;
}

/* A row for each of what q names: id, label. */
static int draw_rows(struct timeline *timeline, sqlite3_stmt *q, const char *sql, int limit)
{
	sqlite3_stmt *rows = db_prepare(timeline->db, sql);
	int step = rows ? 0 : -1, count = 0;

	while (!step && (step = db_step(q)) > 0) {
		step = 0;
		if (count++ < limit)
			step = draw_row(timeline, rows, sqlite3_column_int64(q, 0),
				(const char *)sqlite3_column_text(q, 1));
	}
	if (!step && count > limit)
		print(timeline->out, "      and %d more streams\n", count - limit);
	sqlite3_finalize(rows);
	return step;
}

int report_timeline_span(struct db *db, int64_t finding, int64_t *start, int64_t *end)
{
	sqlite3_stmt *q = db_prepare(db, span_sql);
	int step = q && !db_bind(q, "i", finding) ? db_step(q) : -1;
	int64_t margin;

	*start = *end = 0;
	if (step > 0) {
		*start = sqlite3_column_int64(q, 0);
		*end = sqlite3_column_int64(q, 1);
	}
	sqlite3_finalize(q);
	/* Times of a damaged database may be anything. */
	if (*start < 0 || *end > INT64_MAX / 2)
		*start = *end = 0;
	margin = (*end - *start) / 20 + 1;
	if (*end > *start) {
		*start -= margin;
		*end += margin;
	}
	return step < 0 ? -1 : 0;
}

sqlite3_stmt *report_timeline_operations(struct db *db, int64_t finding)
{
	sqlite3_stmt *q = db_prepare(db, OPS_SQL "SELECT id FROM ops ORDER BY start");

	if (q && db_bind(q, "i", finding)) {
		sqlite3_finalize(q);
		q = NULL;
	}
	return q;
}

int report_timeline(struct db *db, int64_t finding, FILE *out)
{
	struct timeline timeline = { .db = db, .out = out, .finding = finding };
	sqlite3_stmt *threads = NULL, *streams = NULL;
	int rc = -1;

	if (report_timeline_span(db, finding, &timeline.start, &timeline.end))
		return -1;
	if (timeline.end <= timeline.start)
		return 0;
	fputs("    the worst of them, ", out);
	words_time(timeline.end - timeline.start, out);
	fputs(" from ", out);
	words_time(timeline.start > 0 ? timeline.start : 0, out);
	fputs(" on:\n", out);
	threads = db_prepare(db, threads_sql);
	streams = db_prepare(db, streams_sql);
	if (threads && streams && !db_bind(threads, "i", finding) &&
		!db_bind(streams, "iii", finding, timeline.start, timeline.end) &&
		!draw_rows(&timeline, threads, calls_sql, 2) &&
		!draw_rows(&timeline, streams, operations_sql, STREAM_LIMIT))
		rc = 0;
	if (!rc)
		print(out, "      %s\n", legend);
	sqlite3_finalize(threads);
	sqlite3_finalize(streams);
	return rc;
}
