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
 * A synchronous copy to the host is how programs wait for a result, so only work beside it counts,
 * not the time in which the thread looked at the result; unless the copy is hidden in a library
 * below the line of a script, as in PyTorch's .item().
 *
 * This bounds each wait alone, from above; it does not replay the run.
 */
#include "waits.h"

#include <stdlib.h>

#include "array.h"
#include "order_path.h"
#include "places.h"
#include "sharing.h"
#include "spans.h"
#include "stretches.h"
#include "waits_scope.h"
#include "words.h"

/* A segment this short in which nothing is submitted: the next wait follows at once. */
#define AT_ONCE_NS 20000
/* To wake up behind a copy and launch the next kernel: a copy costs that, wherever it is made. */
#define ROUND_TRIP_NS 50000
/* Who has gone on for so many calls has overlapped whatever there was. */
#define SEGMENT_CALLS 4096

/* A row of wait that may be avoidable. */
struct judged_wait {
	int64_t id, call, thread, process, enter, exit, waited;
	int64_t op_call, op_end;      /* what it waited for */
	int64_t stream, context;      /* of that */
	enum stream_kind stream_kind;
	int device, stretch;
	int64_t partner;              /* as wait.partner, if it is of the same line; 0: none */
	int explicit_wait;
	int is_async;                 /* an Async copy */
	int on_default;               /* a copy or memset in a default stream */
	int to_host;                  /* a synchronous copy to the host */
	int is_copy;                  /* any synchronous copy or memset */
	int64_t own_end;              /* of its own operation, INT64_MIN: none */
};

/* What lies between a wait and the next that covers its operation. */
struct segment {
	struct spans spans;
	int64_t until;                /* it covers, or the last of the thread's calls returned */
	int64_t last_end;             /* of an operation */
	int64_t elsewhere, apart;     /* ns in sum */
	int submits, after, legacy;
};

struct avoidable {
	struct db *db;
	struct walk_thread *walk;
	struct order_path *path;
	struct sharing *sharing;
	struct words *words;
	struct places *places;
	sqlite3_stmt *update, *is_held, *is_script, *made;
};

/* 1 if a query has a row, 0, or -1 after a message. */
static int ask_bound(sqlite3_stmt *q)
{
	int rc = db_step(q);

	sqlite3_reset(q);
	return rc;
}

static int ask(sqlite3_stmt *q, int64_t id)
{
	return db_bind(q, "i", id) ? -1 : ask_bound(q);
}

/* 1 if the call would have waited for the operation, had it still been pending. */
static int covers(struct avoidable *a, const struct walk_call *call,
	const struct judged_wait *wait)
{
	if (call->result)
		return 0;
	if (scope_empties_device(call) && scope_of(call) != SCOPE_NONE) {
		int held = ask(a->is_held, call->id);

		if (held <= 0)
			return held;
	}
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

/* Legacy work and the work of blocking streams come one after the other. */
static int legacy_orders(const struct segment *segment, const struct walk_call *call,
	const struct judged_wait *wait)
{
	if (call->stream_kind == STREAM_KIND_LEGACY)
		return stream_is_blocking(wait->stream_kind);
	return segment->legacy && stream_is_blocking(call->stream_kind) &&
	       (stream_is_blocking(wait->stream_kind) || wait->stream_kind == STREAM_KIND_LEGACY);
}

/* The call's stream was there when another call was made; default streams always are. */
static int exists_since(struct avoidable *a, const struct walk_call *call, int64_t since)
{
	return db_bind(a->made, "ii", call->stream, since) ? -1 : !ask_bound(a->made);
}

/*
 * Whether a later call's work has to come after the operation; -1 after a message.  What a copy
 * in a default stream puts in order need not be, unless it stands between the two by its data.
 */
static int comes_after(struct avoidable *a, const struct walk_call *call,
	const struct judged_wait *wait, const struct segment *segment)
{
	int needed = 1, after;

	if (call->stream == wait->stream || legacy_orders(segment, call, wait))
		return 1;
	/* A result is waited for before what is made for the next one, streams included. */
	if (wait->to_host && !exists_since(a, call, wait->call))
		return 1;
	if (wait->on_default)
		needed = sharing_between(a->sharing, wait->call, wait->op_call, call->id);
	if (needed < 0)
		return -1;
	after = order_path_exists_moved(a->path, call->id, wait->op_call,
		needed ? 0 : wait->call);
	return after ? after : sharing_conflict(a->sharing, wait->op_call, call->id);
}

/* Adds a call that does not cover the operation. */
static int pass_by(struct avoidable *a, const struct walk_call *call,
	const struct judged_wait *wait, struct segment *segment)
{
	int after;

	segment->until = call->exit;
	if (scope_of(call) != SCOPE_NONE && call->exit - call->enter > AT_ONCE_NS) {
		segment->elsewhere += call->exit - call->enter;
		if (spans_add(&segment->spans, SPAN_ELSEWHERE, call->enter, call->exit))
			return -1;
	}
	if (!walk_submits(call) || call->result)
		return 0;
	segment->submits = 1;
	after = comes_after(a, call, wait, segment);
	if (after < 0)
		return -1;
	if (call->stream_kind == STREAM_KIND_LEGACY)
		segment->legacy = 1;
	if (call->op_start == WALK_NEVER || call->op_end == WALK_NEVER)
		return 0;
	if (after)
		segment->after = 1;
	else
		segment->apart += call->op_end - call->op_start;
	if (call->op_end > segment->last_end)
		segment->last_end = call->op_end;
	return spans_add(&segment->spans, after ? SPAN_AFTER : SPAN_APART, call->op_start,
		call->op_end);
}

/* More cannot be lost than was waited. */
static int has_seen_enough(const struct judged_wait *wait, const struct segment *segment)
{
	return (!segment->after && segment->apart >= wait->waited) ||
	       segment->until - wait->exit - segment->elsewhere >= wait->waited;
}

/* In compiled code who writes a wait sees it, in whatever line. */
static int are_of_one_script_line(struct avoidable *a, int64_t call, int64_t other)
{
	int64_t place = places_site(a->places, call);

	if (place <= 0 || places_site(a->places, other) != place)
		return place < 0 ? -1 : 0;
	return ask(a->is_script, place);
}

/* The wait that the program wrote in the line of an Async copy is no other wait. */
static int belongs_to_copy(struct avoidable *a, const struct walk_call *call,
	struct judged_wait *wait)
{
	int rc;

	if (!wait->is_async || wait->partner || !scope_is_explicit(call))
		return 0;
	rc = are_of_one_script_line(a, wait->call, call->id);
	if (rc > 0)
		wait->partner = call->id;
	return rc;
}

/* 1 and *segment is closed, 0: look at the next call; -1 after a message. */
static int take(struct avoidable *a, const struct walk_call *call, struct judged_wait *wait,
	struct segment *segment)
{
	int found = covers(a, call, wait), belongs;

	if (found > 0) {
		belongs = belongs_to_copy(a, call, wait);
		if (belongs)
			return belongs < 0 ? -1 : 0;
		segment->until = call->enter;
		return 1;
	}
	if (found < 0 || pass_by(a, call, wait, segment))
		return -1;
	return has_seen_enough(wait, segment);
}

static int measure(struct avoidable *a, struct judged_wait *wait, struct segment *segment)
{
	struct walk_call call;
	int rc = 0, taken = 0;

	segment->until = wait->exit;
	segment->last_end = INT64_MIN;
	if (walk_thread_seek(a->walk, wait->thread, wait->call))
		return -1;
	for (int i = 0; i < SEGMENT_CALLS && !taken; i++) {
		rc = walk_thread_next(a->walk, &call);
		/* What came once recording had stopped may have waited at once. */
		if (rc <= 0 || call.exit == WALK_NEVER || call.stretch != wait->stretch)
			break;
		if (call.exit > wait->exit) /* else made from within the wait */
			taken = take(a, &call, wait, segment);
	}
	return rc < 0 || taken < 0 ? -1 : 0;
}

/* The thread only has to look at what a synchronous copy brought; a script's line hides it. */
static int is_by_intent(struct avoidable *a, const struct judged_wait *wait)
{
	int64_t place;
	int script;

	if (!wait->to_host)
		return 0;
	place = places_site(a->places, wait->call);
	script = place > 0 ? ask(a->is_script, place) : 0;
	return place < 0 || script < 0 ? -1 : !script;
}

static int64_t idle_that_counts(const struct judged_wait *wait, const struct segment *segment,
	int64_t idle)
{
	if (wait->is_copy && idle < ROUND_TRIP_NS)
		return 0;
	return !segment->submits && idle < AT_ONCE_NS ? 0 : idle;
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

static int judge(struct avoidable *a, struct judged_wait *wait)
{
	struct segment segment = { .until = 0 };
	int64_t ns = 0;
	int rc = 0;

	/* An explicit wait is avoidable only together with the copy in the same line. */
	if (wait->explicit_wait) {
		rc = are_of_one_script_line(a, wait->call, wait->partner);
		if (rc < 0)
			return -1;
		if (!rc)
			return db_run(a->update, "iIi", (int64_t)0, DB_NULL, wait->id);
	}
	rc = measure(a, wait, &segment) || lost(a, wait, &segment, &ns);
	spans_release(&segment.spans);
	if (rc)
		return -1;
	return db_run(a->update, "iIi", ns, wait->partner ? wait->partner : DB_NULL, wait->id);
}

/* Waits after which the process submits nothing more are left out: it is ending. */
static const char waits_sql[] =
	"WITH last AS (SELECT process, max(call) AS call FROM operation GROUP BY process) "
	"SELECT w.id, w.call, c.thread, c.process, c.exit, w.waited, o.call, o.end, s.id, "
	"s.context, x.device, c.enter, s.kind, w.partner, w.kind = 'explicit', "
	"t.kind = 'copy_async', t.kind IN ('copy', 'set'), "
	"ws.kind IN ('legacy', 'per-thread'), "
	"t.kind = 'copy' AND c.dst_memory IN ('pageable', 'pinned', 'registered'), "
	"(SELECT max(end) FROM operation WHERE call = w.call) "
	"FROM wait w JOIN call c ON c.id = w.call JOIN call_type t ON t.id = c.type "
	"JOIN operation o ON o.id = w.op JOIN last ON last.process = c.process "
	"LEFT JOIN stream ws ON ws.id = c.stream "
	"LEFT JOIN call oc ON oc.id = o.call LEFT JOIN stream s ON s.id = oc.stream "
	"LEFT JOIN context x ON x.id = s.context "
	"WHERE (w.kind IN ('implicit', 'internal') OR w.partner NOT NULL) AND w.call < last.call "
	"ORDER BY w.id";

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
		.op_end = sqlite3_column_int64(q, 7),
		.stream = sqlite3_column_int64(q, 8),
		.context = sqlite3_column_int64(q, 9),
		.device = sqlite3_column_type(q, 10) == SQLITE_NULL ? -1
								    : sqlite3_column_int(q, 10),
		.enter = sqlite3_column_int64(q, 11),
		.stream_kind = walk_stream_kind((const char *)sqlite3_column_text(q, 12)),
		.partner = sqlite3_column_int64(q, 13),
		.explicit_wait = sqlite3_column_int(q, 14),
		.is_async = sqlite3_column_int(q, 15),
		.is_copy = sqlite3_column_int(q, 16),
	};
	wait->on_default = wait->is_copy && sqlite3_column_int(q, 17);
	wait->to_host = sqlite3_column_int(q, 18);
	wait->own_end = sqlite3_column_type(q, 19) == SQLITE_NULL ? INT64_MIN
								  : sqlite3_column_int64(q, 19);
}

/* Collected first: a table is not to be changed while it is read. */
static int collect(struct db *db, struct judged_wait **waits, size_t *count)
{
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	struct stretches stretches = { 0 };
	struct judged_wait *more;
	int rc = q && !stretches_load(&stretches, db) ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
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
	sqlite3_finalize(q);
	return rc;
}

static int open_all(struct avoidable *a, struct db *db)
{
	a->walk = walk_thread_open(db);
	a->path = order_path_open(db);
	a->sharing = sharing_open(db);
	a->words = words_open(db);
	a->places = a->words ? places_open(db, a->words) : NULL;
	a->update = db_prepare(db, "UPDATE wait SET avoidable = ?, partner = ? WHERE id = ?");
	a->is_held = db_prepare(db, "SELECT 1 FROM wait WHERE call = ?");
	a->is_script =
		db_prepare(db, "SELECT 1 FROM frame WHERE site = ? AND user AND code NOT NULL");
	a->made = db_prepare(db, "SELECT 1 FROM stream WHERE id = ? AND created > ?");
	if (!a->walk || !a->path || !a->sharing || !a->places)
		return -1;
	return a->update && a->is_held && a->is_script && a->made ? 0 : -1;
}

static void close_all(struct avoidable *a)
{
	sqlite3_finalize(a->update);
	sqlite3_finalize(a->is_held);
	sqlite3_finalize(a->is_script);
	sqlite3_finalize(a->made);
	places_close(a->places);
	words_close(a->words);
	sharing_close(a->sharing);
	order_path_close(a->path);
	walk_thread_close(a->walk);
}

int waits_find_avoidable(struct db *db)
{
	struct avoidable a = { .db = db };
	struct judged_wait *waits = NULL;
	size_t count = 0;
	int rc = open_all(&a, db) || collect(db, &waits, &count) ? -1 : 0;

	for (size_t i = 0; i < count && !rc; i++)
		rc = judge(&a, &waits[i]);
	free(waits);
	close_all(&a);
	return rc;
}
