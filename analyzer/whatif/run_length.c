/* SPDX-License-Identifier: Apache-2.0 */
#include "run_length.h"

#include "kinds.h"

static int64_t query_int(struct db *db, const char *sql, int64_t process)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int64_t value = -1;

	if (q && !db_bind(q, "i", process) && db_step(q) >= 0)
		value = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return value;
}

/* Time in which at least one operation ran. */
static int64_t device_busy(struct db *db, int64_t process)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT start, end FROM work "
		"WHERE process = ? AND end IS NOT NULL AND stream IS NOT NULL ORDER BY start");
	int64_t busy = 0, until = INT64_MIN;
	int step = -1;

	if (q && !db_bind(q, "i", process)) {
		while ((step = db_step(q)) > 0) {
			int64_t start = sqlite3_column_int64(q, 0),
				end = sqlite3_column_int64(q, 1);

			if (start < until)
				start = until;
			if (end > start) {
				busy += end - start;
				until = end;
			}
		}
	}
	sqlite3_finalize(q);
	return step < 0 ? -1 : busy;
}

static int64_t beyond(int64_t whole, int64_t part)
{
	return whole > part ? whole - part : 0;
}

/*
 * How much of a stretch no work was recorded in: nothing is known of it, so shares and bounds are
 * those of what was recorded.
 */
static int64_t unrecorded(struct db *db, int64_t process, const char *stretch)
{
	char *sql = sqlite3_mprintf(
		"SELECT coalesce(sum(max(0, min(r.end, s.last) - max(r.start, s.first))), 0) "
		"FROM recording r, (%s) s WHERE r.process = ?1 AND NOT r.work",
		stretch);
	int64_t ns = sql ? query_int(db, sql, process) : -1;

	sqlite3_free(sql);
	return ns;
}

static int64_t length_of(struct db *db, int64_t process, const char *stretch)
{
	char *sql = sqlite3_mprintf("SELECT ifnull(last - first, 0) FROM (%s)", stretch);
	int64_t whole = sql ? query_int(db, sql, process) : -1;
	int64_t missing = unrecorded(db, process, stretch);

	sqlite3_free(sql);
	return whole < 0 || missing < 0 ? -1 : beyond(whole, missing);
}

/*
 * From the first call that submitted an operation to the last end, before code and contexts go:
 * starting CUDA takes 150 ms to a second, ending it 1 to 30 ms of which the recorder's own last
 * words are part, and beside either a short run's mistakes would vanish.  Then first operation to
 * last.
 */
/* clang-format off */
static const char whole_sql[] =
	"SELECT ifnull((SELECT enter FROM call WHERE id = (SELECT min(call) FROM work "
	" WHERE process = ?1)), min(enter)) AS first, "
	"max(ifnull(max(exit) FILTER (WHERE type NOT IN (SELECT t.id FROM call_type t "
	"  WHERE t.runtime OR " KIND_IS("t", module_unload)
	"  OR " IS_OF_FAMILY("t", "context_end") ")), 0), "
	" ifnull((SELECT max(end) FROM work WHERE process = ?1), 0)) AS last "
	"FROM call WHERE process = ?1";
/* clang-format on */
static const char active_sql[] =
	"SELECT min(start) AS first, max(end) AS last FROM work "
	"WHERE process = ?1 AND stream IS NOT NULL";

int run_length(struct db *db, int64_t process, struct run_length *run)
{
	int64_t active = length_of(db, process, active_sql), busy = device_busy(db, process);
	int64_t busiest = query_int(db,
		"SELECT ifnull(max(busy), 0) FROM (SELECT sum(end - start) AS busy FROM work "
		" WHERE process = ? AND stream IS NOT NULL GROUP BY stream)",
		process);

	run->whole = length_of(db, process, whole_sql);
	if (run->whole < 0 || active < 0 || busiest < 0 || busy < 0)
		return -1;
	if (!run->whole)
		run->whole = 1;
	run->idle = beyond(active, busiest);
	run->serial = beyond(busy, busiest);
	return 0;
}
