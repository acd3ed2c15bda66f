/* SPDX-License-Identifier: Apache-2.0 */
#include "report_timeline.h"

#include <string.h>

#include "kernel_names.h"
#include "print.h"
#include "stream_sql.h"
#include "words.h"

#define LABEL_WIDTH 16 /* characters */
#define LABEL_BYTES (4 * LABEL_WIDTH)
#define COLUMNS 76
/* The most streams that are drawn; further ones are counted. */
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

/* The operations of an instance: those of its two calls, and where the one put the other in order
 * the operation that was held and the one it was held by; one hold will do. */
#define OPS_SQL \
	"WITH f AS (SELECT * FROM finding WHERE id = ?1), " \
	"h AS (SELECT h.* FROM hold h JOIN operation o ON o.id = h.op " \
	" JOIN operation b ON b.id = h.behind WHERE h.via = (SELECT call FROM f) " \
	" AND (SELECT other_call FROM f) IN (o.call, b.call) ORDER BY h.held DESC LIMIT 1), " \
	"ops AS (SELECT o.* FROM operation o, f WHERE o.call IN (f.call, f.other_call) UNION " \
	" SELECT o.* FROM operation o, h WHERE o.id IN (h.op, h.behind)) "

/* A wait is drawn in full; a call that submits may lie far ahead of its work. */
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

/* The first call of thread h that was entered after a time, or the end of its calls: they are in
 * order of entry. */
/* clang-format off */
#define AFTER(time) \
	"(WITH RECURSIVE find(low, high) AS (" \
	"  SELECT (SELECT min(id) FROM call WHERE thread = h.id)," \
	"   (SELECT max(id) + 1 FROM call WHERE thread = h.id)" \
	"  UNION ALL SELECT iif(m.enter > " time ", low, (low + high) / 2 + 1)," \
	"   iif(m.enter > " time ", m.id, high) FROM find" \
	"  JOIN call m ON m.id = (SELECT id FROM call WHERE thread = h.id" \
	"   AND id <= (low + high) / 2 ORDER BY id DESC LIMIT 1)" \
	"  WHERE low < high) SELECT max(low) FROM find)"

/* Only the last of the program's own calls entered before the window may reach into it. */
static const char calls_sql[] =
	"WITH RECURSIVE f AS (SELECT * FROM finding WHERE id = ?1), "
	"up(id) AS (SELECT call FROM f UNION SELECT other_call FROM f UNION "
	" SELECT p.parent FROM up JOIN call p ON p.id = up.id WHERE p.parent NOT NULL) "
	"SELECT h.id, substr(ifnull(h.name, 'thread ' || h.tid), 1, 16), c.enter, c.exit, "
	" CASE WHEN s.api NOT NULL AND NOT t.runtime THEN s.api "
	" WHEN t.name LIKE '%LaunchKernel%' THEN 'launch' ELSE t.name END, "
	" c.id IN (SELECT id FROM up) "
	"FROM thread h CROSS JOIN call c ON c.thread = h.id JOIN call_type t ON t.id = c.type "
	"LEFT JOIN site s ON s.id = c.site "
	"WHERE h.id IN (SELECT call.thread FROM f JOIN call ON call.id IN (f.call, f.other_call)) "
	"AND c.parent IS NULL AND c.exit >= ?2 AND c.id < " AFTER("?3")
	" AND c.id >= ifnull((SELECT id FROM call WHERE thread = h.id AND parent IS NULL"
	"  AND id < " AFTER("?2") " ORDER BY id DESC LIMIT 1), 0) "
	"ORDER BY h.id = (SELECT m.thread FROM f JOIN call m ON m.id = f.call) DESC, h.id, c.id";
/* The streams that the finding is about first. */
static const char operations_sql[] =
	OPS_SQL ", near AS MATERIALIZED (SELECT * FROM operation NOT INDEXED "
	" WHERE start <= ?3 AND end >= ?2 AND process = (SELECT process FROM ops LIMIT 1)) "
	"SELECT s.id, CASE s.kind WHEN 'legacy' THEN 'legacy stream' WHEN 'per-thread' "
	" THEN 'per-thread' ELSE substr(" STREAM_LABEL("s") ","
	" iif(s.name IS NULL, 1, 8), 16) END, "
	"n.start, n.end, CASE n.kind WHEN 'kernel' THEN " KERNEL_LABEL("k") " ELSE n.kind END, "
	"n.id IN (SELECT id FROM ops) FROM near n JOIN stream s ON s.id = n.stream "
	"LEFT JOIN kernel k ON k.id = n.kernel "
	"ORDER BY s.id IN (SELECT stream FROM ops) DESC, s.id, n.start";
/* clang-format on */

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
	/* A column is a byte, so a character of several bytes would shift the rest of the line. */
	for (size_t i = 0; i < length && i < room; i++)
		row[from + 1 + (int)i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
}

static void print_row(struct timeline *timeline, const char *label)
{
	int width = COLUMNS;

	while (width && timeline->row[width - 1] == ' ')
		width--;
	if (timeline->any)
		print(timeline->out, "      %-*s  %.*s\n", LABEL_WIDTH, label, width,
			timeline->row);
}

static void clear_row(struct timeline *timeline)
{
	memset(timeline->row, ' ', COLUMNS);
	timeline->any = 0;
}

/*
 * A row for each thread or stream of what sql says, in its order: id, label, start, end, name,
 * whether the finding is about it.
 */
static int draw_rows(struct timeline *timeline, const char *sql, int limit)
{
	sqlite3_stmt *q = db_prepare(timeline->db, sql);
	char label[LABEL_BYTES + 1] = "";
	int64_t id = 0;
	int count = 0;
	int step = q ? db_bind(q, "iii", timeline->finding, timeline->start, timeline->end) : -1;

	clear_row(timeline);
	while (!step && (step = db_step(q)) > 0) {
		step = 0;
		if (sqlite3_column_int64(q, 0) != id) {
			print_row(timeline, label);
			clear_row(timeline);
			id = sqlite3_column_int64(q, 0);
			snprintf(label, sizeof(label), "%s", db_text(q, 1));
			count++;
		}
		if (count <= limit)
			draw(timeline, sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3),
				(const char *)sqlite3_column_text(q, 4), sqlite3_column_int(q, 5));
	}
	print_row(timeline, label);
	if (!step && count > limit)
		print(timeline->out, "      and %d more streams\n", count - limit);
	sqlite3_finalize(q);
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
	/* A damaged database may have any times. */
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

	if (report_timeline_span(db, finding, &timeline.start, &timeline.end))
		return -1;
	if (timeline.end <= timeline.start)
		return 0;
	fputs("    the worst of them, ", out);
	words_time(timeline.end - timeline.start, out);
	fputs(" from ", out);
	words_time(timeline.start > 0 ? timeline.start : 0, out);
	fputs(" on:\n", out);
	if (draw_rows(&timeline, calls_sql, 2) ||
		draw_rows(&timeline, operations_sql, STREAM_LIMIT))
		return -1;
	print(out, "      %s\n", legend);
	return 0;
}
