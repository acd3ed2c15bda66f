/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of an implicit wait the thread could have used.
 *
 * Without the wait the thread would have gone on at once, until it meets the next wait that covers
 * the same operation.  What lies between the two could have run beside that operation: the host's
 * own time, and device work that is not ordered after it.  Where nothing lies between (a pageable
 * copy and the cudaStreamSynchronize for it, the frees at the end of a program) the wait costs
 * nothing: it would have happened a line later.
 *
 *	launch X | cudaFree waits for X | host work, launch Y | next cudaFree
 *	                                |<--- the segment --->|
 *
 * This bounds each wait alone, from above; it does not replay the run.
 */
#include "waits.h"

#include <stdlib.h>

#include "array.h"
#include "order_path.h"
#include "stretches.h"
#include "waits_scope.h"

/* A segment this short in which nothing is submitted: the next wait follows at once. */
#define AT_ONCE_NS 20000
/* Who has gone on for so many calls has overlapped whatever there was. */
#define SEGMENT_CALLS 4096

struct implicit_wait {
	int64_t id, call, thread, process, enter, exit, waited;
	int64_t op_call, op_end;      /* what it waited for */
	int64_t stream, context;
	int device, stretch;
};

/* What lies between a wait and the next that covers its operation. */
struct segment {
	int64_t host;                 /* ns of the thread outside waits */
	int64_t device;               /* ns of operations not ordered after it */
	int64_t first_start;          /* of the first operation ordered after it */
	int64_t last_exit;
	int submits, waits;
};

struct avoidable {
	struct walk_thread *walk;
	struct order_path *path;
	sqlite3_stmt *update;
};

/* 1 if the call would have waited for the operation, had it still been pending. */
static int covers(struct avoidable *a, const struct walk_call *call,
	const struct implicit_wait *wait)
{
	if (call->result)
		return 0;
	switch (call->kind == KIND_STREAM_QUERY ? SCOPE_OWN : scope_of(call)) {
	case SCOPE_NONE:
		return call->kind == KIND_EVENT_QUERY &&
		       order_path_exists(a->path, call->id, wait->op_call);
	case SCOPE_PROCESS:
		return 1;
	case SCOPE_DEVICE:
		return call->device == wait->device;
	case SCOPE_CONTEXT:
		return call->context == wait->context;
	case SCOPE_LEGACY:
		break;
	case SCOPE_STREAM:
		/* A pageable source is staged: that copy does not wait for the stream. */
		if (call->kind == KIND_COPY_ASYNC && !scope_includes_own(call))
			return 0;
		/* fall through */
	case SCOPE_OWN:
	case SCOPE_EVENT:
		if (call->stream == wait->stream && call->kind != KIND_EVENT_SYNC)
			return 1;
		break;
	}
	return order_path_exists(a->path, call->id, wait->op_call);
}

/* Adds a call that does not cover the operation. */
static int pass_by(struct avoidable *a, const struct walk_call *call,
	const struct implicit_wait *wait, struct segment *segment)
{
	int ordered;

	segment->last_exit = call->exit;
	if (scope_of(call) != SCOPE_NONE && call->exit - call->enter > AT_ONCE_NS) {
		segment->host -= call->exit - call->enter;
		segment->waits = 1;
	}
	if (!walk_submits(call) || call->result)
		return 0;
	segment->submits = 1;
	ordered = call->stream == wait->stream ||
		  order_path_exists(a->path, call->id, wait->op_call);
	if (ordered < 0)
		return -1;
	if (!ordered)
		segment->device += call->op_busy;
	else if (!segment->waits && call->op_start < segment->first_start)
		segment->first_start = call->op_start;
	return 0;
}

static int measure(struct avoidable *a, const struct implicit_wait *wait, struct segment *segment)
{
	struct walk_call call;
	int found = 0, rc;
	int64_t end = WALK_NEVER;

	*segment = (struct segment){ .first_start = WALK_NEVER, .last_exit = wait->exit };
	if (walk_thread_seek(a->walk, wait->thread, wait->call))
		return -1;
	for (int i = 0; i < SEGMENT_CALLS; i++) {
		rc = walk_thread_next(a->walk, &call);
		/* What came once recording had stopped may have waited at once. */
		if (rc <= 0 || call.exit == WALK_NEVER || call.stretch != wait->stretch)
			break;
		if (call.exit <= wait->exit)
			continue; /* made from within the wait */
		found = covers(a, &call, wait);
		if (found) {
			end = call.enter;
			break;
		}
		rc = pass_by(a, &call, wait, segment);
		if (rc || segment->device >= wait->waited ||
			segment->host + segment->last_exit - wait->exit >= wait->waited)
			break;
	}
	segment->host += (end == WALK_NEVER ? segment->last_exit : end) - wait->exit;
	return rc < 0 || found < 0 ? -1 : 0;
}

static int64_t avoidable_of(const struct implicit_wait *wait, const struct segment *segment)
{
	int64_t host = segment->host > 0 ? segment->host : 0, all;

	if (!segment->submits && host < AT_ONCE_NS)
		return 0;
	/* The device idled from the end of the operation to the start of the next. */
	if (segment->first_start != WALK_NEVER && segment->first_start - wait->op_end > host)
		host = segment->first_start - wait->op_end;
	all = host + segment->device;
	return all < wait->waited ? all : wait->waited;
}

static int update(struct avoidable *a, const struct implicit_wait *wait)
{
	struct segment segment;

	if (measure(a, wait, &segment))
		return -1;
	return db_run(a->update, "ii", avoidable_of(wait, &segment), wait->id);
}

/* Waits after which the process submits nothing more are left out: it is ending. */
static const char waits_sql[] =
	"WITH last AS (SELECT process, max(call) AS call FROM operation GROUP BY process) "
	"SELECT w.id, w.call, c.thread, c.process, c.exit, w.waited, o.call, o.end, s.id, "
	"s.context,"
	" x.device, c.enter FROM wait w JOIN call c ON c.id = w.call "
	"JOIN operation o ON o.id = w.op JOIN last ON last.process = c.process "
	"LEFT JOIN call oc ON oc.id = o.call LEFT JOIN stream s ON s.id = oc.stream "
	"LEFT JOIN context x ON x.id = s.context "
	"WHERE w.kind = 'implicit' AND w.call < last.call ORDER BY w.id";

static void read_wait(sqlite3_stmt *q, struct implicit_wait *wait)
{
	*wait = (struct implicit_wait){
		.id = sqlite3_column_int64(q, 0),
		.call = sqlite3_column_int64(q, 1),
		.thread = sqlite3_column_int64(q, 2),
		.process = sqlite3_column_int64(q, 3),
		.exit = sqlite3_column_int64(q, 4),
		.waited = sqlite3_column_int64(q, 5),
		.op_call = sqlite3_column_int64(q, 6),
		.op_end = sqlite3_column_int64(q, 7),
		.stream = sqlite3_column_int64(q, 8),
		.context = sqlite3_column_int64(q, 9),
		.device = sqlite3_column_type(q, 10) == SQLITE_NULL ? -1
								    : sqlite3_column_int(q, 10),
		.enter = sqlite3_column_int64(q, 11),
	};
}

int waits_find_avoidable(struct db *db)
{
	struct avoidable a = { 0 };
	struct implicit_wait *waits = NULL, *more;
	size_t count = 0;
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	struct stretches stretches = { 0 };
	int rc = -1;

	a.walk = walk_thread_open(db);
	a.path = order_path_open(db);
	a.update = db_prepare(db, "UPDATE wait SET avoidable = ? WHERE id = ?");
	if (!q || !a.walk || !a.path || !a.update || stretches_load(&stretches, db))
		goto out;
	/* Collected first: a table is not to be changed while it is read. */
	while ((rc = db_step(q)) > 0) {
		more = array_room(waits, count, sizeof(*waits));
		if (!more)
			goto out;
		waits = more;
		read_wait(q, &waits[count]);
		waits[count].stretch = stretches_find(&stretches, waits[count].process,
			waits[count].enter);
		count++;
	}
	for (size_t i = 0; i < count && !rc; i++)
		rc = update(&a, &waits[i]);
out:
	free(waits);
	stretches_release(&stretches);
	sqlite3_finalize(q);
	sqlite3_finalize(a.update);
	walk_thread_close(a.walk);
	order_path_close(a.path);
	return rc ? -1 : 0;
}
