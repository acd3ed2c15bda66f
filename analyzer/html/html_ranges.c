/* SPDX-License-Identifier: Apache-2.0 */
#include "html_ranges.h"

/* Nested and overlapping ranges have lanes of their own; ranges deeper than this are left out. */
enum { DEPTHS = 12 };

/* The outer one of two that begin together comes first; one never closed ends with the process. */
static const char ranges_sql[] =
	"SELECT r.rowid, r.process, r.thread, r.start, coalesce(r.end,"
	" (SELECT end FROM process p WHERE p.id = r.process), r.start) AS stop, r.name FROM range r"
	" ORDER BY r.process, r.thread, r.start, stop DESC, r.rowid LIMIT ?1";

enum range_column { RANGE_ID, RANGE_PROCESS, RANGE_THREAD, RANGE_START, RANGE_STOP, RANGE_NAME };

struct depths {
	int64_t process, thread;
	int64_t stop[DEPTHS]; /* where the last range of each depth ends, ns */
};

/* The first depth that is free from then on, from 1 on; 0: there is none. */
static int find_depth(struct depths *depths, sqlite3_stmt *q)
{
	int64_t process = sqlite3_column_int64(q, RANGE_PROCESS);
	int64_t thread = sqlite3_column_int64(q, RANGE_THREAD);

	if (process != depths->process || thread != depths->thread) {
		*depths = (struct depths){ .process = process, .thread = thread };
		for (int i = 0; i < DEPTHS; i++)
			depths->stop[i] = INT64_MIN;
	}
	for (int i = 0; i < DEPTHS; i++) {
		if (depths->stop[i] > sqlite3_column_int64(q, RANGE_START))
			continue;
		depths->stop[i] = sqlite3_column_int64(q, RANGE_STOP);
		return i + 1;
	}
	return 0;
}

static int add_range(struct html_lanes *lanes, sqlite3_stmt *q, int depth)
{
	struct html_timeline *timeline = lanes->timeline;
	struct html_item *item = html_item_add(&timeline->ranges,
		html_lane_of_ranges(lanes, sqlite3_column_int64(q, RANGE_PROCESS),
			sqlite3_column_int64(q, RANGE_THREAD), depth),
		html_text_number(&timeline->names, db_text(q, RANGE_NAME)));

	if (!item)
		return -1;
	item->id = sqlite3_column_int64(q, RANGE_ID);
	item->start = sqlite3_column_int64(q, RANGE_START);
	item->end = sqlite3_column_int64(q, RANGE_STOP);
	item->category = HTML_RANGE;
	return 0;
}

int html_ranges_read(struct html_lanes *lanes)
{
	sqlite3_stmt *q = db_prepare(lanes->timeline->db, ranges_sql);
	struct depths depths = { .process = DB_NULL };
	int step = q ? db_bind(q, "i", (int64_t)HTML_RANGE_LIMIT) : -1;

	while (!step && (step = db_step(q)) > 0) {
		int depth = find_depth(&depths, q);

		step = depth ? add_range(lanes, q, depth) : 0;
	}
	sqlite3_finalize(q);
	return step;
}
