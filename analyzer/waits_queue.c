/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_queue.h"

#include <stdlib.h>

#include "array.h"
#include "idmap.h"
#include "order_path.h"
#include "spans.h"
#include "walk.h"
#include "waits_scope.h"

/* Shorter ones cost less than a launch does. */
#define HOLD_MIN_NS 20000
/* Operations of a stream so close to each other: the stream did not run dry in between. */
#define DRY_MIN_NS 20000
/* What made room has ended by then. */
#define ROOM_NS 1000000

/* A submission that was held. */
struct full {
	int64_t call, thread, stream, context;
	int64_t start, end;           /* of the hold, ns */
	int64_t op, op_call;          /* what it waited for, 0: not seen */
	int64_t avoidable;
	int device;
};

struct fulls {
	struct full *full;
	size_t count;
};

/*
 * The holds in one stream until its thread waits for that stream (or is held by another one), and
 * what filled the time from the first of them on.
 */
struct segment {
	struct full *first, *last;    /* first NULL: there is none */
	struct spans spans;
	int64_t end;                  /* of the stream's work so far */
	int64_t apart_end;            /* of other streams' work */
	int64_t idle;                 /* ns of the holds in which such a stream had nothing to do */
};

/* What a stream was given by the thread so far. */
struct given {
	int64_t end;                  /* of the last to end, ns */
	int64_t asked;                /* search.orders as of the answer: its work comes after the */
	int after;                    /* segment's stream's */
};

struct search {
	struct walk_thread *walk;
	struct order_path *path;
	struct idmap streams;         /* struct given, as of the call at hand */
	int64_t orders;               /* calls so far that may put streams in order; segments */
	struct segment segment;
	struct fulls fulls;
};

static const char fulls_sql[] =
	"SELECT v.call, c.thread, c.stream, s.context, x.device, v.start, v.end FROM overhead v "
	"JOIN call c ON c.id = v.call JOIN stream s ON s.id = c.stream "
	"LEFT JOIN context x ON x.id = s.context "
	"WHERE v.kind = 'queue_full' AND v.end - v.start >= ? ORDER BY c.thread, v.call";

/* It ran for most of the hold, most likely in the stream itself. */
static const char room_sql[] =
	"SELECT o.id, o.call FROM operation o WHERE o.end > ?1 AND o.end < ?2 + ?3 "
	"AND o.start < ?2 AND o.context IS (SELECT context FROM operation WHERE call = ?4) "
	"AND o.call < ?4 ORDER BY o.stream IS ?5 DESC, min(o.end, ?2) - max(o.start, ?1) DESC "
	"LIMIT 1";

static int find_room(sqlite3_stmt *q, struct full *full)
{
	int rc = db_bind(q, "iiiii", full->start, full->end, (int64_t)ROOM_NS, full->call,
		full->stream) ? -1 : db_step(q);

	if (rc > 0) {
		full->op = sqlite3_column_int64(q, 0);
		full->op_call = sqlite3_column_int64(q, 1);
	}
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

static int collect(struct db *db, struct fulls *fulls)
{
	sqlite3_stmt *q = db_prepare(db, fulls_sql), *room = db_prepare(db, room_sql);
	struct full *more;
	int rc = q && room && !db_bind(q, "i", (int64_t)HOLD_MIN_NS) ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		more = array_room(fulls->full, fulls->count, sizeof(*more));
		if (!more) {
			rc = -1;
			break;
		}
		fulls->full = more;
		more += fulls->count++;
		*more = (struct full){
			.call = sqlite3_column_int64(q, 0), .thread = sqlite3_column_int64(q, 1),
			.stream = sqlite3_column_int64(q, 2),
			.context = sqlite3_column_int64(q, 3), .device = sqlite3_column_int(q, 4),
			.start = sqlite3_column_int64(q, 5), .end = sqlite3_column_int64(q, 6),
		};
		rc = find_room(room, more);
	}
	sqlite3_finalize(q);
	sqlite3_finalize(room);
	return rc;
}

static int64_t held(const struct segment *segment)
{
	int64_t ns = 0;

	for (const struct full *full = segment->first; full <= segment->last; full++)
		ns += full->end - full->start;
	return ns;
}

/* How long a stream had nothing to do while the thread was held. */
static int64_t idle_beside(const struct segment *segment, int64_t stream_end)
{
	int64_t ns = 0;

	for (const struct full *full = segment->first; full <= segment->last; full++) {
		int64_t from = stream_end > full->start ? stream_end : full->start;

		if (full->end > from)
			ns += full->end - from;
	}
	return ns;
}

static int64_t at_most(int64_t value, int64_t limit)
{
	return value < limit ? value : limit;
}

/* The last holds are the ones that what came after them was kept back by. */
static void spread(struct segment *segment, int64_t lost)
{
	for (struct full *full = segment->last; full >= segment->first && lost > 0; full--) {
		full->avoidable = at_most(lost, full->end - full->start);
		lost -= full->avoidable;
	}
}

/* The thread waits for the stream, or the run ends: ns, from when. */
static int close_segment(struct segment *segment, int64_t until)
{
	struct span_sums sums;
	int64_t lost, from;

	if (!segment->first)
		return 0;
	from = segment->first->end;
	if (segment->apart_end > until)
		until = segment->apart_end;
	if (spans_sum(&segment->spans, from, until, &sums))
		return -1;
	lost = at_most(sums.apart, segment->idle);
	if (sums.idle >= DRY_MIN_NS)
		lost += sums.idle;
	spread(segment, at_most(lost, held(segment)));
	spans_release(&segment->spans);
	*segment = (struct segment){ 0 };
	return 0;
}

static int open_segment(struct search *search, struct full *full)
{
	struct segment *segment = &search->segment;
	const struct given *given = idmap_get(&search->streams, full->stream);

	if (segment->first && segment->first->stream == full->stream) {
		segment->last = full;
		return 0;
	}
	if (close_segment(segment, full->start))
		return -1;
	search->orders++;
	segment->first = segment->last = full;
	segment->end = given ? given->end : full->end;
	return spans_add(&segment->spans, SPAN_AFTER, full->start, segment->end);
}

/* Without a moment's pause that is no more than the handing over from one to the next. */
static int follow_stream(struct segment *segment, const struct walk_call *call)
{
	int64_t from = call->op_start;

	if (from > segment->end && from - segment->end < DRY_MIN_NS)
		from = segment->end;
	if (call->op_end > segment->end)
		segment->end = call->op_end;
	return spans_add(&segment->spans, SPAN_AFTER, from, call->op_end);
}

/* 1 or 0, -1 after a message; asked again once something may have put streams in order. */
static int comes_after(struct search *search, const struct walk_call *call, struct given *given)
{
	if (given->asked == search->orders)
		return given->after;
	given->after = order_path_exists(search->path, call->id, search->segment.first->op_call);
	given->asked = search->orders;
	return given->after;
}

static int follow_other(struct search *search, const struct walk_call *call, struct given *given)
{
	struct segment *segment = &search->segment;
	int64_t idle = idle_beside(segment, given->end);
	int after = comes_after(search, call, given);

	if (after)
		return after < 0 ? -1
				 : spans_add(&segment->spans, SPAN_AFTER, call->op_start,
					   call->op_end);
	if (idle < DRY_MIN_NS)
		return spans_add(&segment->spans, SPAN_ELSEWHERE, call->op_start, call->op_end);
	if (idle > segment->idle)
		segment->idle = idle;
	if (call->op_end > segment->apart_end)
		segment->apart_end = call->op_end;
	return spans_add(&segment->spans, SPAN_APART, call->op_start, call->op_end);
}

static int follow_work(struct search *search, const struct walk_call *call)
{
	struct given *given;
	int rc = 0;

	if (call->kind == KIND_STREAM_WAIT || call->kind == KIND_GRAPH_LAUNCH ||
		call->stream_kind == STREAM_KIND_LEGACY)
		search->orders++;
	if (!walk_submits(call) || call->result || call->op_start == WALK_NEVER ||
		call->op_end == WALK_NEVER)
		return 0;
	given = idmap_need(&search->streams, call->stream, sizeof(*given));
	if (!given)
		return -1;
	if (search->segment.first)
		rc = call->stream == search->segment.first->stream
			     ? follow_stream(&search->segment, call)
			     : follow_other(search, call, given);
	if (call->op_end > given->end)
		given->end = call->op_end;
	return rc;
}

/* 1 if the call waits for what the holds were about, or asks whether it is done; -1: failed. */
static int covers(struct search *search, const struct walk_call *call)
{
	const struct full *full = search->segment.first;

	switch (call->kind == KIND_STREAM_QUERY ? SCOPE_OWN : scope_of(call)) {
	case SCOPE_NONE:
		if (call->kind != KIND_EVENT_QUERY)
			return 0;
		break;
	case SCOPE_PROCESS:
		return 1;
	case SCOPE_DEVICE:
		return call->device == full->device;
	case SCOPE_CONTEXT:
		return call->context == full->context;
	case SCOPE_OWN:
	case SCOPE_STREAM:
		if (call->stream == full->stream)
			return 1;
		break;
	case SCOPE_EVENT:
	case SCOPE_LEGACY:
		break;
	}
	return order_path_exists(search->path, call->id, full->op_call);
}

static int follow_wait(struct search *search, const struct walk_call *call)
{
	struct segment *segment = &search->segment;
	int found;

	if (!segment->first || call->result || call->exit == WALK_NEVER)
		return 0;
	found = covers(search, call);
	if (found > 0)
		return close_segment(segment, call->enter);
	if (found < 0 || scope_of(call) == SCOPE_NONE)
		return found;
	return spans_add(&segment->spans, SPAN_ELSEWHERE, call->enter, call->exit);
}

/* All calls of the thread of the holds from *next on; *next becomes the first of another one. */
static int follow_thread(struct search *search, size_t *next)
{
	struct full *full = &search->fulls.full[*next];
	const struct full *end = search->fulls.full + search->fulls.count;
	int64_t thread = full->thread, last = 0;
	struct walk_call call;
	int rc = walk_thread_seek(search->walk, thread, 0);

	while (!rc && (rc = walk_thread_next(search->walk, &call)) > 0) {
		rc = follow_wait(search, &call) || follow_work(search, &call) ? -1 : 0;
		while (!rc && full < end && full->thread == thread && full->call == call.id) {
			rc = full->op ? open_segment(search, full) : 0;
			full++;
		}
		if (call.exit != WALK_NEVER)
			last = call.exit;
	}
	idmap_release(&search->streams, free);
	search->streams = (struct idmap){ 0 };
	while (full < end && full->thread == thread)
		full++;
	*next = (size_t)(full - search->fulls.full);
	return rc < 0 ? -1 : close_segment(&search->segment, last);
}

static int store(struct db *db, const struct fulls *fulls)
{
	static const char sql[] = "INSERT INTO wait (call, kind, op, waited, avoidable) "
				  "VALUES (?, 'queue', ?, ?, ?)";
	sqlite3_stmt *insert = db_prepare(db, sql);
	int rc = insert ? 0 : -1;

	for (size_t i = 0; i < fulls->count && !rc; i++) {
		const struct full *full = &fulls->full[i];

		rc = db_run(insert, "iIii", full->call, full->op ? full->op : DB_NULL,
			full->end - full->start, full->avoidable);
	}
	sqlite3_finalize(insert);
	return rc;
}

int waits_find_queue(struct db *db)
{
	struct search search = { 0 };
	int rc;

	if (!db_int(db, "SELECT EXISTS (SELECT 1 FROM overhead WHERE kind = 'queue_full')", 0))
		return 0;
	/* Few runs have such holds; those that do may have one for every launch. */
	rc = db_exec(db, "CREATE INDEX IF NOT EXISTS operation_end ON operation (end)")
		     ? -1
		     : collect(db, &search.fulls);

	if (!rc && search.fulls.count) {
		search.walk = walk_thread_open(db);
		search.path = order_path_open(db);
		rc = search.walk && search.path ? 0 : -1;
		for (size_t i = 0; i < search.fulls.count && !rc;)
			rc = follow_thread(&search, &i);
		rc = rc || store(db, &search.fulls) ? -1 : 0;
	}
	walk_thread_close(search.walk);
	order_path_close(search.path);
	spans_release(&search.segment.spans);
	idmap_release(&search.streams, free);
	free(search.fulls.full);
	return rc;
}
