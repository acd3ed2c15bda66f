/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a wait the thread and the device could have used.
 *
 * Without the wait the thread would have gone on at once, until it meets the next wait that covers
 * the same operation.  Of the time from the operation's end to there (the segment) that is lost in
 * which nothing ran that has to come after it: the device idled, or it ran what could have run
 * beside the operation.  Where nothing lies between (a pageable copy and the
 * cudaStreamSynchronize for it, the frees at the end of a program) the wait costs nothing: it
 * would have happened a line later.
 *
 *	launch X | cudaFree waits for X | host work, launch Y | next cudaFree
 *	                                |<--- the segment --->|
 *
 * Calls that wait as a side effect end a segment only if they were held themselves: two frees in
 * a row are one mistake.
 *
 * An Async copy held the thread for its own transfer, too, whatever it waited for before that: what
 * has to come after the one may run beside the other, as the next kernel of the stream whose result
 * a second stream copies.
 *
 * A synchronous copy to the device could have run beside an operation that has nothing to do with
 * its memory, as the upload to the other one of two buffers.
 *
 * A synchronous copy to the host is how programs wait for a result, so only work beside it counts,
 * not the time in which the thread looked at the result, nor where it fetches the results of
 * several devices in turn before it goes on; unless the copy is hidden in a library
 * below the line of a script, as in PyTorch's .item().
 *
 * This bounds each wait alone, from above; it does not replay the run.
 */
#include "constants.h"
#include "waits.h"

#include <stdlib.h>

#include "array.h"
#include "kinds.h"
#include "run_columns.h"
#include "stretches.h"
#include "waits_segment.h"

struct avoidable {
	struct segments segments;
	sqlite3_stmt *update;
};

/* The thread only has to look at what a synchronous copy brought; a script's line hides it. */
static int is_by_intent(struct avoidable *a, const struct judged_wait *wait)
{
	int script = wait->to_host ? segments_of_script(&a->segments, wait->call) : 1;

	return script < 0 ? -1 : !script || wait->past_results;
}

static int64_t idle_that_counts(const struct judged_wait *wait, const struct segment *segment,
	int64_t idle)
{
	int copy = wait->is_copy || (wait->is_async && !wait->partner);

	if ((copy || segment->row_count) && idle < ROUND_TRIP_NS)
		return 0;
	return !segment->submits && idle < BLOCKED_MIN_NS ? 0 : idle;
}

static int lost(struct avoidable *a, struct judged_wait *wait, const struct segment *segment,
	int64_t *ns)
{
	int64_t from = wait->op_end, until = segment->until;
	int by_intent = is_by_intent(a, wait);
	struct span_sums sums;

	if (wait->own_end > from)
		from = wait->own_end;
	if (from > wait->exit || !segment->submits)
		from = wait->exit;
	if (segment->last_end > until)
		until = segment->last_end;
	if (by_intent < 0 || spans_sum(&segment->spans, from, until, &sums))
		return -1;
	*ns = sums.apart;
	if (!by_intent)
		*ns += idle_that_counts(wait, segment, sums.idle);
	if (*ns > wait->waited)
		*ns = wait->waited;
	return 0;
}

static int measure(struct avoidable *a, struct judged_wait *wait, int64_t *ns)
{
	struct segment segment = { .until = 0 };
	int rc = segments_measure(&a->segments, wait, &segment) || lost(a, wait, &segment, ns);

	spans_release(&segment.spans);
	return rc ? -1 : 0;
}

/* The same as a wait for the call's own transfer, of which no more is lost than that took. */
static int measure_own(struct avoidable *a, const struct judged_wait *wait, int64_t *ns)
{
	struct judged_wait own = *wait;
	int64_t took = wait->own_end - wait->op_end, others = *ns;

	own.op_call = wait->call;
	own.op_end = wait->own_end;
	own.stream = wait->own_stream;
	own.stream_kind = wait->own_kind;
	own.context = wait->own_context;
	own.device = wait->own_device;
	own.waited = took + wait->exit - wait->own_end;
	if (measure(a, &own, ns))
		return -1;
	if (others > *ns)
		*ns = others;
	return 0;
}

static int64_t overlap(int64_t a, int64_t b)
{
	int64_t less = a < b ? a : b;

	return less < ROUND_TRIP_NS ? 0 : less;
}

/* Adds that the copy itself came later than it had to: no more than both took. */
static int add_upload(struct avoidable *a, const struct judged_wait *wait, int64_t *ns)
{
	int64_t since = wait->op_start > wait->enter ? wait->op_start : wait->enter;
	int64_t from = wait->own_start > wait->op_end ? wait->own_start : wait->op_end;
	int64_t could = overlap(wait->own_end - from, wait->op_end - since);
	int apart = could ? segments_own_apart(&a->segments, wait) : 0;

	if (apart > 0)
		*ns = *ns + could < wait->waited ? *ns + could : wait->waited;
	return apart < 0 ? -1 : 0;
}

static int is_upload(const struct judged_wait *wait)
{
	return wait->is_copy && !wait->to_host && wait->op_call != wait->call &&
		wait->own_end > wait->op_end;
}

/* The copy waited for something else, and then for itself. */
static int has_own_transfer(const struct judged_wait *wait)
{
	return wait->is_async && !wait->explicit_wait && wait->op_call != wait->call &&
		wait->own_end > wait->op_end && wait->own_end <= wait->exit;
}

/* What is lost together with the copy to the host behind it, if that is more. */
static int measure_past(struct avoidable *a, struct judged_wait *wait, int64_t *ns)
{
	struct judged_wait both = *wait;
	int64_t more = 0;

	both.past_results = 1;
	if (measure(a, &both, &more))
		return -1;
	if (more > *ns) {
		*ns = more;
		wait->partner = wait->result;
	}
	return 0;
}

/*
 * A pageable copy in the legacy default stream that only gets pinned memory still keeps the
 * thread's next work waiting: on the device, now.
 */
static int measure_apart(struct avoidable *a, const struct judged_wait *wait, int64_t *ns)
{
	struct judged_wait apart = *wait;

	if (!wait->is_async || wait->own_kind != STREAM_KIND_LEGACY)
		return 0;
	apart.leaves = 1;
	return measure(a, &apart, ns);
}

static int judge(struct avoidable *a, struct judged_wait *wait)
{
	struct judged_wait before = *wait;
	int64_t ns = 0, apart = 0;
	int rc = 0;

	/* An explicit wait is avoidable only together with the copy in the same line. */
	if (wait->explicit_wait) {
		rc = segments_of_one_line(&a->segments, wait->call, wait->partner);
		if (rc < 0)
			return -1;
		if (!rc)
			return db_run(a->update, "iiIi", (int64_t)0, (int64_t)0, DB_NULL, wait->id);
	}
	if (measure(a, wait, &ns) || (has_own_transfer(wait) && measure_own(a, &before, &ns)) ||
		(is_upload(wait) && add_upload(a, wait, &ns)) ||
		(wait->result && measure_past(a, wait, &ns)) || measure_apart(a, &before, &apart))
		return -1;
	return db_run(a->update, "iiIi", ns, apart, wait->partner ? wait->partner : DB_NULL,
		wait->id);
}

/* A copy within host memory, from where nothing on the device ever puts anything.  CASE: all
 * operands are looked at only where there is such a copy. */
/* clang-format off */
#define COPIES_HOST_DATA \
	"CASE WHEN ifnull(c.src_memory, '') IN " IN_HOST_MEMORY " THEN NOT EXISTS (" \
	"SELECT 1 FROM operand WHERE call = w.call AND role = 'src' AND allocation IN (" \
	"SELECT allocation FROM operand WHERE role <> 'src')) ELSE 0 END"
/* clang-format on */

/*
 * Waits after which the process submits nothing more are left out: it is ending.  The order of the
 * tables is fixed, and the last end of a call's work is looked for by its call and not among all
 * ends: what statistics said of a run with many graphs made this quadratic.
 */
/* clang-format off */
static const char waits_sql[] =
	"SELECT w.id, w.call, c.thread, c.process, c.exit, w.waited, o.call, o.end, s.id, "
	"s.context, x.device, c.enter, s.kind, w.partner, w.kind = 'explicit', "
	IS_ASYNC_COPY("t") ", " IS_SYNC("t") ", "
	"ws.kind IN ('legacy', 'per-thread'), "
	"CASE WHEN " IS_SYNC_COPY("t") " AND c.dst_memory IN " IN_HOST_MEMORY
	" THEN NOT (" COPIES_HOST_DATA ") ELSE 0 END, "
	"(SELECT max(+end) FROM work WHERE call = w.call), "
	"ws.id, ws.kind, ws.context, wx.device, w.kind = 'staged', o.start, "
	"(SELECT min(start) FROM work WHERE call = w.call) "
	"FROM wait w CROSS JOIN call c ON c.id = w.call CROSS JOIN call_type t ON t.id = c.type "
	"CROSS JOIN work o ON o.id = w.op "
	"LEFT JOIN stream ws ON ws.id = c.stream "
	"LEFT JOIN call oc ON oc.id = o.call LEFT JOIN stream s ON s.id = oc.stream "
	"LEFT JOIN context x ON x.id = s.context "
	"LEFT JOIN context wx ON wx.id = ws.context "
	"WHERE (w.kind IN ('implicit', 'internal', 'staged') OR w.partner NOT NULL) "
	"ORDER BY w.id";
/* clang-format on */

static int device_at(sqlite3_stmt *q, int column)
{
	return sqlite3_column_type(q, column) == SQLITE_NULL ? -1 : sqlite3_column_int(q, column);
}

static void read_wait(sqlite3_stmt *q, struct judged_wait *wait)
{
	*wait = (struct judged_wait){
		.id = sqlite3_column_int64(q, 0),
		.call = sqlite3_column_int64(q, 1),
		.thread = sqlite3_column_int64(q, 2),
		.process = sqlite3_column_int64(q, 3),
		.exit = sqlite3_column_int64(q, 4),
		.waited = sqlite3_column_int64(q, 5),
		.op_call = sqlite3_column_int64(q, 6),
		.op_start = sqlite3_column_int64(q, 25),
		.op_end = sqlite3_column_int64(q, 7),
		.stream = sqlite3_column_int64(q, 8),
		.context = sqlite3_column_int64(q, 9),
		.device = device_at(q, 10),
		.enter = sqlite3_column_int64(q, 11),
		.stream_kind = stream_kind_of((const char *)sqlite3_column_text(q, 12)),
		.partner = sqlite3_column_int64(q, 13),
		.explicit_wait = sqlite3_column_int(q, 14),
		.is_async = sqlite3_column_int(q, 15),
		.is_copy = sqlite3_column_int(q, 16),
		.staged = sqlite3_column_int(q, 24),
		.own_stream = sqlite3_column_int64(q, 20),
		.own_kind = stream_kind_of((const char *)sqlite3_column_text(q, 21)),
		.own_context = sqlite3_column_int64(q, 22),
		.own_device = device_at(q, 23),
	};
	wait->on_default = wait->is_copy && sqlite3_column_int(q, 17);
	wait->to_host = sqlite3_column_int(q, 18);
	wait->own_end =
		sqlite3_column_type(q, 19) == SQLITE_NULL ? INT64_MIN : sqlite3_column_int64(q, 19);
	wait->own_start = sqlite3_column_int64(q, 26);
}

/* The last call of each process that submitted an operation. */
static int find_last(const struct run *run, struct map *last)
{
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);

		if (work && work->call > map_get(last, run_where(run, work)->process, 0) &&
			map_set(last, run_where(run, work)->process, work->call))
			return -1;
	}
	return 0;
}

/* Collected first: a table is not to be changed while it is read. */
static int collect(struct db *db, struct judged_wait **waits, size_t *count)
{
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	struct stretches stretches = { 0 };
	struct map last = { 0 };
	struct judged_wait *more;
	int rc = q && !stretches_load(&stretches, db) && !find_last(db->run, &last) ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		uint64_t process = (uint64_t)sqlite3_column_int64(q, 3);

		rc = 0;
		if ((uint64_t)sqlite3_column_int64(q, 1) >= map_get(&last, process, 0))
			continue;
		more = array_room(*waits, *count, sizeof(*more));
		rc = more ? 0 : -1;
		if (rc)
			break;
		*waits = more;
		more += (*count)++;
		read_wait(q, more);
		more->stretch = stretches_find(&stretches, more->process, more->enter);
	}
	stretches_release(&stretches);
	map_release(&last);
	sqlite3_finalize(q);
	return rc;
}

int waits_find_avoidable(struct db *db)
{
	struct avoidable a = { .update = NULL };
	struct judged_wait *waits = NULL;
	size_t count = 0;
	int rc;

	a.update = db_prepare(db,
		"UPDATE wait SET avoidable = ?, apart = ?, partner = ? "
		"WHERE id = ?");
	rc = !a.update || segments_open(&a.segments, db) || collect(db, &waits, &count) ? -1 : 0;
	for (size_t i = 0; i < count && !rc; i++)
		rc = judge(&a, &waits[i]);
	free(waits);
	segments_close(&a.segments);
	sqlite3_finalize(a.update);
	return rc;
}
