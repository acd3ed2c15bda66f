/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions that a full launch queue blocked, and what that delayed. */
#include <stdlib.h>

#include "bounds.h"
#include "compare.h"
#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "order_path.h"
#include "scope.h"
#include "sorted.h"
#include "wait.h"

/* Maximum number of full streams that are followed for a thread at the same time. */
#define SEGMENTS 8

/* A submission that was blocked. */
struct full {
	int64_t call, thread, stream;
	int64_t start, end;  /* of the block, ns */
	int64_t before;      /* ns of all earlier blocks of the thread */
	int64_t op, op_call; /* the operation it waited for, 0: unknown */
	int64_t partner;     /* as wait.partner, 0: no row */
	int64_t avoidable;   /* ns */
};

/*
 * The blocked submissions in one stream until its thread waits for that stream, and the work that
 * was submitted since the first of them.
 */
struct segment {
	struct full *first, *last;   /* first NULL: unused */
	struct wait_operation place; /* where the first one's work ran */
	struct spans spans;
	int64_t end;       /* of the stream's work so far */
	int64_t apart_end; /* end of other streams' independent work */
	struct order_path
		*path; /* from later calls to the operation that the first one waited for */
	int64_t idle;  /* ns of the blocks in which another stream was idle */
};

/* The thread's work in a stream so far. */
struct submitted {
	int64_t end; /* end of the last operation, ns */
	struct {
		const struct full *asked; /* the segment, by its first block, and */
		int after;                /* its work is ordered after the segment's stream */
		const struct full *since;
		int64_t idle; /* ns of the blocks up to `since` in which it was idle */
	} by[SEGMENTS];
};

struct search {
	struct walk_thread *walk;
	struct id_map streams; /* struct submitted, up to the current call */
	struct segment segment[SEGMENTS];
	struct full *full;
	size_t count;
	sqlite3_stmt *room;
	struct run *run;
};

/* Finds an operation that ran for most of the block, most likely in the stream itself. */
static const char room_sql[] =
	"SELECT o.id, o.call FROM work o WHERE o.end > ?1 AND o.end < ?2 + ?3 "
	"AND o.start < ?2 AND o.context IS (SELECT context FROM work WHERE call = ?4) "
	"AND o.call < ?4 ORDER BY o.stream IS ?5 DESC, min(o.end, ?2) - max(o.start, ?1) DESC "
	"LIMIT 1";

static int find_room(struct search *search, struct full *full)
{
	sqlite3_stmt *q = search->room;
	int rc;

	if (full->op)
		return 0;
	rc = db_bind(q, "iiiii", full->start, full->end, (int64_t)QUEUE_ROOM_NS, full->call,
		     full->stream)
		? -1
		: db_step(q);
	if (rc > 0) {
		full->op = sqlite3_column_int64(q, 0);
		full->op_call = sqlite3_column_int64(q, 1);
	}
	sqlite3_reset(q);
	return rc < 0 ? -1 : 0;
}

static int64_t length(const struct full *full)
{
	return full->end - full->start;
}

static int by_thread(const void *a, const void *b)
{
	const struct full *x = a, *y = b;

	return by_number(x->thread, y->thread) ?: by_number(x->call, y->call)
		?: by_number(x->start, y->start);
}

/* --- what a segment cost --- */

/* Returns how long a stream was idle while the thread was blocked. */
static int64_t idle_during(const struct segment *segment, int64_t stream_end)
{
	const struct full *last = segment->last, *from = segment->first;

	from += sorted_after(from, (size_t)(last - from), sizeof(*from), offsetof(struct full, end),
		stream_end);
	return last->end <= stream_end ? 0
				       : last->before + length(last) - from->before -
			at_least(stream_end - from->start, 0);
}

/* Returns the longest block of the site where most of the time was spent. */
static struct full *find_worst(const struct run *run, struct full *first, const struct full *last)
{
	struct place {
		int64_t ns;
		struct full *longest;
	} most = { -1, NULL };
	struct id_map places = { 0 };

	for (struct full *full = first; full <= last; full++) {
		int64_t site = run_link(run, full->call)->site;
		struct place *place = id_map_need(&places, site + 1, sizeof(*place));

		place->ns += length(full);
		if (!place->longest || length(full) > length(place->longest))
			place->longest = full;
		if (place->ns > most.ns)
			most = *place;
	}
	id_map_release(&places, free);
	return most.longest;
}

/* A block may be in the segments of several streams; the highest cost counts. */
static void set_cost(struct full *full, const struct full *worst, int64_t avoidable)
{
	if (full->partner && full->avoidable >= avoidable)
		return;
	full->partner = worst->call;
	full->avoidable = avoidable;
}

/* Closes a segment, when the thread waits for the stream or the run ends, at time until, ns. */
static void close_segment(const struct run *run, struct segment *segment, int64_t until)
{
	struct full *first = segment->first, *last = segment->last, *worst;
	struct span_sums sums;
	int64_t lost;

	if (!first)
		return;
	until = at_least(until, segment->apart_end);
	sums = spans_sum(&segment->spans, first->end, until);
	spans_release(&segment->spans);
	lost = at_most(sums.apart, segment->idle);
	if (sums.idle >= BLOCKED_MIN_NS)
		lost += sums.idle;
	*segment = (struct segment){ .path = segment->path };
	if (last->before + length(last) - first->before < BLOCKED_MIN_NS)
		return;
	worst = find_worst(run, first, last);
	/* A thread that runs far ahead is blocked in every launch: one row is enough. */
	if (lost <= 0) {
		set_cost(worst, worst, 0);
		return;
	}
	/* The last blocks delayed the later calls. */
	for (struct full *full = last; full >= first; full--) {
		int64_t avoidable = at_most(lost, length(full));

		set_cost(full, worst, avoidable);
		lost -= avoidable;
	}
}

/* Adds a block to its stream's segment; if there is none, uses a free one or the oldest. */
static int open_segment(struct search *search, struct full *full)
{
	struct segment *segment = &search->segment[0];
	const struct submitted *submitted = id_map_get(&search->streams, full->stream);

	for (int i = 0; i < SEGMENTS; i++) {
		struct segment *other = &search->segment[i];

		if (other->first && other->first->stream == full->stream) {
			other->last = full;
			return 0;
		}
		if (segment->first && (!other->first || other->first < segment->first))
			segment = other;
	}
	close_segment(search->run, segment, full->start);
	if (find_room(search, full))
		return -1;
	if (!full->op)
		return 0;
	segment->first = segment->last = full;
	segment->place = wait_operation_of(search->run, full->call, 0);
	segment->end = submitted ? submitted->end : full->end;
	spans_add(&segment->spans, SPAN_AFTER, full->start, segment->end);
	return 0;
}

/* --- the calls since then --- */

/* Returns 1 or 0, -1 after a message. */
static int comes_after(struct search *search, const struct segment *segment,
	const struct walk_call *call, struct submitted *submitted)
{
	size_t i = (size_t)(segment - search->segment);

	/* Work ordered after the segment's stream once stays so, by its own stream's order. */
	if (submitted->by[i].asked != segment->first || !submitted->by[i].after)
		submitted->by[i].after =
			order_path_exists(segment->path, call->id, segment->first->op_call);
	submitted->by[i].asked = segment->first;
	return submitted->by[i].after;
}

static int follow_work(struct search *search, const struct walk_call *call)
{
	struct submitted *submitted;

	if (!walk_submits(call) || call->result || call->op_start == WALK_NEVER ||
		call->op_end == WALK_NEVER)
		return 0;
	submitted = id_map_need(&search->streams, call->stream, sizeof(*submitted));
	for (int i = 0; i < SEGMENTS; i++) {
		struct segment *segment = &search->segment[i];
		int64_t from = call->op_start, idle = 0;
		enum span_kind kind = SPAN_AFTER;
		int after;

		if (!segment->first)
			continue;
		if (call->stream == segment->first->stream) {
			/* Without a gap, the time is only the handover between operations. */
			if (from > segment->end && from - segment->end < BLOCKED_MIN_NS)
				from = segment->end;
			segment->end = at_least(segment->end, call->op_end);
			spans_add(&segment->spans, SPAN_AFTER, from, call->op_end);
			continue;
		}
		after = comes_after(search, segment, call, submitted);
		if (after < 0)
			return -1;
		if (!after) {
			idle = submitted->by[i].idle;
			/* A block delayed all work after it, not only the first. */
			if (submitted->by[i].since != segment->last)
				idle = idle_during(segment, submitted->end);
			submitted->by[i].since = segment->last;
			submitted->by[i].idle = idle;
			kind = idle < BLOCKED_MIN_NS ? SPAN_ELSEWHERE : SPAN_APART;
		}
		if (kind == SPAN_APART) {
			segment->idle = at_least(segment->idle, idle);
			segment->apart_end = at_least(segment->apart_end, call->op_end);
		}
		spans_add(&segment->spans, kind, from, call->op_end);
	}
	submitted->end = at_least(submitted->end, call->op_end);
	return 0;
}

/* Closes the segments whose work the call waits for, or queries. */
static int follow_wait(struct search *search, const struct walk_call *call)
{
	enum scope scope = scope_requested(call);
	/* The host copies a small pageable source and continues before the transfer. */
	int continues = scope == SCOPE_STREAM && call->op_start > call->exit &&
		call->op_start != WALK_NEVER;

	if (call->result || call->exit == WALK_NEVER)
		return 0;
	for (int i = 0; i < SEGMENTS; i++) {
		struct segment *segment = &search->segment[i];
		enum covered covered = segment->first && !continues
			? wait_covered(call, &segment->place)
			: COVERED_NOT;
		int found = covered == COVERED;

		if (covered == COVERED_IF_ORDERED)
			found = scope == SCOPE_STREAM || scope == SCOPE_OWN
				? comes_after(search, segment, call,
					  id_map_need(&search->streams, call->stream,
						  sizeof(struct submitted)))
				: order_path_exists(segment->path, call->id,
					  segment->first->op_call);
		if (found < 0)
			return -1;
		if (found)
			close_segment(search->run, segment, call->enter);
		if (segment->first && scope_of(call) != SCOPE_NONE)
			spans_add(&segment->spans, SPAN_ELSEWHERE, call->enter, call->exit);
	}
	return 0;
}

/*
 * Processes the blocked submissions of one thread from number first on, and adds their rows.
 * Returns the number of the first one of another thread, or 0 after a message.
 */
static size_t follow_thread(struct search *search, size_t first)
{
	struct full *full = &search->full[first];
	const struct full *end = search->full + search->count;
	int64_t thread = full->thread, last = 0;
	struct walk_call call;

	walk_thread_seek(search->walk, thread, 0);
	while (walk_thread_next(search->walk, &call) > 0) {
		if (follow_wait(search, &call) || follow_work(search, &call))
			return 0;
		for (; full < end && full->thread == thread && full->call == call.id; full++)
			if (open_segment(search, full))
				return 0;
		if (call.exit != WALK_NEVER)
			last = call.exit;
	}
	id_map_release(&search->streams, free);
	for (int i = 0; i < SEGMENTS; i++)
		close_segment(search->run, &search->segment[i], last);
	for (full = &search->full[first]; full < end && full->thread == thread; full++) {
		if (!full->partner)
			continue;
		if (find_room(search, full))
			return 0;
		wait_add_row(&(struct wait){ .call = full->call,
				     .kind = WAIT_QUEUE,
				     .by.op = full->op,
				     .waited = length(full),
				     .avoidable = full->avoidable,
				     .partner = full->partner },
			&search->run->evidence);
	}
	return (size_t)(full - search->full);
}

int waits_find_queue(struct db *db)
{
	const struct run_overhead *row = (const struct run_overhead *)db->run->overheads.rows;
	struct search search = { .run = db->run };
	int rc = 0;

	for (; row < (const struct run_overhead *)run_rows_end(&db->run->overheads); row++) {
		const struct run_call *call = run_call(db->run, row->call);

		if (row->kind == OVERHEAD_QUEUE_FULL && row->end > row->start && call &&
			call->stream)
			*array_push(search.full, search.count) = (struct full){ .call = row->call,
				.thread = call->thread,
				.stream = call->stream,
				.start = row->start,
				.end = row->end };
	}
	if (search.count) {
		qsort(search.full, search.count, sizeof(*search.full), by_thread);
		/* Few runs have such blocks, but those that do may have one for every launch. */
		rc = db_exec(db, "CREATE INDEX IF NOT EXISTS operation_end ON operation (end)");
		search.walk = walk_thread_open(db);
		search.room = db_prepare(db, room_sql);
		rc = rc || !search.walk || !search.room ? -1 : 0;
	}
	for (size_t i = 1; i < search.count; i++) {
		const struct full *last = &search.full[i - 1];

		if (last->thread == search.full[i].thread)
			search.full[i].before = last->before + length(last);
	}
	for (int i = 0; i < SEGMENTS && search.count && !rc; i++) {
		search.segment[i].path = order_path_open(db);
		rc = search.segment[i].path ? 0 : -1;
	}
	for (size_t i = 0; i < search.count && !rc;) {
		i = follow_thread(&search, i);
		rc = i ? 0 : -1;
	}
	walk_thread_close(search.walk);
	sqlite3_finalize(search.room);
	for (int i = 0; i < SEGMENTS; i++) {
		order_path_close(search.segment[i].path);
		spans_release(&search.segment[i].spans);
	}
	id_map_release(&search.streams, free);
	free(search.full);
	return rc;
}
