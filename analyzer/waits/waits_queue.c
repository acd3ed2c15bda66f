/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_queue.h"

#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "idmap.h"
#include "order_path.h"
#include "run_columns.h"
#include "spans.h"
#include "walk.h"
#include "scope.h"

/* Maximum number of full streams that are followed for a thread at the same time. */
#define SEGMENTS 8

/* A submission that was blocked. */
struct full {
	int64_t call, thread, stream, context, site;
	int64_t start, end;  /* of the block, ns */
	int64_t before;      /* ns of all earlier blocks of the thread */
	int64_t op, op_call; /* the operation it waited for, 0: unknown */
	const struct full
		*worst;    /* the worst one of the segment with the highest cost, NULL: no cost */
	int64_t avoidable; /* cost in that segment, ns */
	int device;
};

struct fulls {
	struct full *full;
	size_t count;
};

/* The blocked submissions of a segment from one site. */
struct place {
	int64_t ns;
	struct full *longest;
};

/*
 * The blocked submissions in one stream until its thread waits for that stream, and the work that
 * was submitted since the first of them.
 */
struct segment {
	struct full *first, *last; /* first NULL: unused */
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
		int64_t orders;           /* search.orders at the time of the answer */
		int after;                /* its work is ordered after the segment's stream */
		const struct full *since;
		int64_t idle; /* ns of the blocks up to `since` in which it was idle */
	} by[SEGMENTS];
};

struct search {
	struct walk_thread *walk;
	struct idmap streams; /* struct submitted, up to the current call */
	int64_t orders;       /* number of calls so far that may order streams */
	struct segment segment[SEGMENTS];
	struct fulls fulls;
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

static struct full full_of(const struct run *run, const struct run_overhead *overhead)
{
	const struct run_call *call = run_call(run, overhead->call);
	const struct run_stream *stream = run_stream(run, call->stream);

	return (struct full){
		.call = overhead->call,
		.thread = call->thread,
		.stream = call->stream,
		.context = stream->context,
		.device = run_context(run, stream->context)->device,
		.start = overhead->start,
		.end = overhead->end,
		.site = run_link(run, overhead->call)->site,
	};
}

static int is_full(const struct run *run, const struct run_overhead *overhead)
{
	const struct run_call *call = run_call(run, overhead->call);

	return overhead->kind == OVERHEAD_QUEUE_FULL && overhead->end > overhead->start && call &&
		call->stream;
}

static int by_thread(const void *a, const void *b)
{
	const struct full *x = a, *y = b;

	if (x->thread != y->thread)
		return (x->thread > y->thread) - (x->thread < y->thread);
	if (x->call != y->call)
		return (x->call > y->call) - (x->call < y->call);
	return (x->start > y->start) - (x->start < y->start);
}

static int collect(const struct run *run, struct fulls *fulls)
{
	const struct run_overhead *row = (const struct run_overhead *)run->overheads.rows;
	const struct run_overhead *end = run_rows_end(&run->overheads);

	for (; row < end; row++) {
		struct full *more;

		if (!is_full(run, row))
			continue;
		more = array_room(fulls->full, fulls->count, sizeof(*more));
		if (!more)
			return -1;
		fulls->full = more;
		more[fulls->count++] = full_of(run, row);
	}
	if (fulls->count)
		qsort(fulls->full, fulls->count, sizeof(*fulls->full), by_thread);
	for (size_t i = 1; i < fulls->count; i++) {
		const struct full *last = &fulls->full[i - 1];

		if (last->thread == fulls->full[i].thread)
			fulls->full[i].before = last->before + length(last);
	}
	return 0;
}

static int64_t held(const struct segment *segment)
{
	return segment->last->before + length(segment->last) - segment->first->before;
}

/* Returns how long a stream was idle while the thread was blocked. */
static int64_t idle_during(const struct segment *segment, int64_t stream_end)
{
	const struct full *low = segment->first, *high = segment->last;

	if (high->end <= stream_end)
		return 0;
	while (low < high) {
		const struct full *middle = low + (high - low) / 2;

		if (middle->end > stream_end)
			high = middle;
		else
			low = middle + 1;
	}
	return segment->last->before + length(segment->last) - low->before -
		(stream_end > low->start ? stream_end - low->start : 0);
}

static int64_t at_most(int64_t value, int64_t limit)
{
	return value < limit ? value : limit;
}

/* Returns the longest block of the site where most of the time was spent. */
static struct full *find_worst(const struct segment *segment)
{
	struct idmap places = { 0 };
	struct place most = { -1, NULL };

	for (struct full *full = segment->first; full <= segment->last; full++) {
		struct place *place = idmap_need(&places, full->site + 1, sizeof(*place));

		if (!place) {
			most.longest = NULL;
			break;
		}
		place->ns += length(full);
		if (!place->longest || length(full) > length(place->longest))
			place->longest = full;
		if (place->ns > most.ns)
			most = *place;
	}
	idmap_release(&places, free);
	return most.longest;
}

/* A block may be in the segments of several streams; the highest cost counts. */
static void set_cost(struct full *full, const struct full *worst, int64_t avoidable)
{
	if (full->worst && full->avoidable >= avoidable)
		return;
	full->worst = worst;
	full->avoidable = avoidable;
}

static int store(struct search *search, struct full *full)
{
	if (!full->worst)
		return 0;
	if (find_room(search, full))
		return -1;
	return run_add_wait(&search->run->evidence,
		&(struct run_wait){ .call = (uint32_t)full->call,
			.kind = WAIT_QUEUE,
			.op = (uint32_t)full->op,
			.waited = length(full),
			.avoidable = full->avoidable,
			.partner = (uint32_t)full->worst->call });
}

/* The last blocks delayed the later calls. */
static int set_costs(const struct segment *segment, int64_t lost)
{
	struct full *worst;

	if (held(segment) < BLOCKED_MIN_NS)
		return 0;
	worst = find_worst(segment);
	if (!worst)
		return -1;
	/* A thread that runs far ahead is blocked in every launch: one row is enough. */
	if (lost <= 0) {
		set_cost(worst, worst, 0);
		return 0;
	}
	for (struct full *full = segment->last; full >= segment->first; full--) {
		int64_t avoidable = at_most(lost, length(full));

		set_cost(full, worst, avoidable);
		lost -= avoidable;
	}
	return 0;
}

/* Closes a segment, when the thread waits for the stream or the run ends, at time until, ns. */
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
	if (sums.idle >= BLOCKED_MIN_NS)
		lost += sums.idle;
	if (set_costs(segment, lost))
		return -1;
	spans_release(&segment->spans);
	*segment = (struct segment){ .path = segment->path };
	return 0;
}

/* Returns the segment of a stream, or a free one, if necessary the oldest; NULL after a message. */
static struct segment *segment_of(struct search *search, const struct full *full)
{
	struct segment *found = &search->segment[0];

	for (int i = 0; i < SEGMENTS; i++) {
		struct segment *segment = &search->segment[i];

		if (segment->first && segment->first->stream == full->stream)
			return segment;
		if (found->first && (!segment->first || segment->first < found->first))
			found = segment;
	}
	return close_segment(found, full->start) ? NULL : found;
}

static int open_segment(struct search *search, struct full *full)
{
	struct segment *segment = segment_of(search, full);
	const struct submitted *submitted = idmap_get(&search->streams, full->stream);

	if (!segment)
		return -1;
	if (segment->first) {
		segment->last = full;
		return 0;
	}
	if (find_room(search, full))
		return -1;
	if (!full->op)
		return 0;
	segment->first = segment->last = full;
	segment->end = submitted ? submitted->end : full->end;
	return spans_add(&segment->spans, SPAN_AFTER, full->start, segment->end);
}

/* Without a gap, the time is only the handover between operations. */
static int follow_stream(struct segment *segment, const struct walk_call *call)
{
	int64_t from = call->op_start;

	if (from > segment->end && from - segment->end < BLOCKED_MIN_NS)
		from = segment->end;
	if (call->op_end > segment->end)
		segment->end = call->op_end;
	return spans_add(&segment->spans, SPAN_AFTER, from, call->op_end);
}

/* Returns 1 or 0, -1 after a message.  Checks again after calls that may have ordered streams. */
static int comes_after(struct search *search, const struct segment *segment,
	const struct walk_call *call, struct submitted *submitted)
{
	size_t i = (size_t)(segment - search->segment);

	/* Work ordered after the segment's stream once stays so, by its own stream's order. */
	if (submitted->by[i].asked != segment->first ||
		(!submitted->by[i].after && submitted->by[i].orders != search->orders))
		submitted->by[i].after =
			order_path_exists(segment->path, call->id, segment->first->op_call);
	submitted->by[i].asked = segment->first;
	submitted->by[i].orders = search->orders;
	return submitted->by[i].after;
}

static int follow_other(struct search *search, struct segment *segment,
	const struct walk_call *call, struct submitted *submitted)
{
	size_t i = (size_t)(segment - search->segment);
	int after = comes_after(search, segment, call, submitted);
	int64_t idle;

	if (after)
		return after < 0
			? -1
			: spans_add(&segment->spans, SPAN_AFTER, call->op_start, call->op_end);
	/* All work that comes after a block was delayed by it, not only the first operation. */
	if (submitted->by[i].since != segment->last)
		submitted->by[i].idle = idle_during(segment, submitted->end);
	submitted->by[i].since = segment->last;
	idle = submitted->by[i].idle;
	if (idle < BLOCKED_MIN_NS)
		return spans_add(&segment->spans, SPAN_ELSEWHERE, call->op_start, call->op_end);
	if (idle > segment->idle)
		segment->idle = idle;
	if (call->op_end > segment->apart_end)
		segment->apart_end = call->op_end;
	return spans_add(&segment->spans, SPAN_APART, call->op_start, call->op_end);
}

static int follow_work(struct search *search, const struct walk_call *call)
{
	struct submitted *submitted;

	if (kind_family(call->kind) == FAMILY_event_wait ||
		kind_family(call->kind) == FAMILY_graph_launch ||
		call->stream_kind == STREAM_KIND_LEGACY)
		search->orders++;
	if (!walk_submits(call) || call->result || call->op_start == WALK_NEVER ||
		call->op_end == WALK_NEVER)
		return 0;
	submitted = idmap_need(&search->streams, call->stream, sizeof(*submitted));
	if (!submitted)
		return -1;
	for (int i = 0; i < SEGMENTS; i++) {
		struct segment *segment = &search->segment[i];

		if (segment->first &&
			(call->stream == segment->first->stream
					? follow_stream(segment, call)
					: follow_other(search, segment, call, submitted)))
			return -1;
	}
	if (call->op_end > submitted->end)
		submitted->end = call->op_end;
	return 0;
}

/*
 * Returns 1 if the call waits for the work of the blocked submissions, or queries it; -1 after a
 * message.
 */
static int covers(struct search *search, const struct segment *segment,
	const struct walk_call *call)
{
	const struct full *full = segment->first;
	struct submitted *submitted;

	switch (scope_requested(call)) {
	case SCOPE_NONE:
		return 0;
	case SCOPE_PROCESS:
		return 1;
	case SCOPE_DEVICE:
		return call->device == full->device;
	case SCOPE_CONTEXT:
		return call->context == full->context;
	case SCOPE_STREAM:
		/* The host copies a small pageable source and continues before the transfer. */
		if (call->op_start > call->exit && call->op_start != WALK_NEVER)
			return 0;
		/* fall through */
	case SCOPE_OWN:
		if (call->stream == full->stream)
			return 1;
		submitted = idmap_need(&search->streams, call->stream, sizeof(*submitted));
		return submitted ? comes_after(search, segment, call, submitted) : -1;
	case SCOPE_EVENT:
	case SCOPE_LEGACY:
		break;
	}
	return order_path_exists(segment->path, call->id, full->op_call);
}

static int follow_wait(struct search *search, const struct walk_call *call)
{
	if (call->result || call->exit == WALK_NEVER)
		return 0;
	for (int i = 0; i < SEGMENTS; i++) {
		struct segment *segment = &search->segment[i];
		int found = segment->first ? covers(search, segment, call) : 0;

		if (found < 0 || (found && close_segment(segment, call->enter)))
			return -1;
		if (segment->first && scope_of(call) != SCOPE_NONE &&
			spans_add(&segment->spans, SPAN_ELSEWHERE, call->enter, call->exit))
			return -1;
	}
	return 0;
}

static int close_all(struct search *search, int64_t until)
{
	for (int i = 0; i < SEGMENTS; i++)
		if (close_segment(&search->segment[i], until))
			return -1;
	return 0;
}

/*
 * Processes the blocked submissions of one thread from *next on.  Sets *next to the first of
 * another thread.
 */
static int follow_thread(struct search *search, size_t *next)
{
	struct full *full = &search->fulls.full[*next];
	const struct full *end = search->fulls.full + search->fulls.count;
	int64_t thread = full->thread, last = 0;
	struct walk_call call;
	int rc = 0;

	walk_thread_seek(search->walk, thread, 0);
	while (!rc && (rc = walk_thread_next(search->walk, &call)) > 0) {
		rc = follow_wait(search, &call) || follow_work(search, &call) ? -1 : 0;
		while (!rc && full < end && full->thread == thread && full->call == call.id) {
			rc = open_segment(search, full);
			full++;
		}
		if (call.exit != WALK_NEVER)
			last = call.exit;
	}
	idmap_release(&search->streams, free);
	search->streams = (struct idmap){ 0 };
	while (full < end && full->thread == thread)
		full++;
	rc = rc < 0 ? -1 : close_all(search, last);
	for (; *next < (size_t)(full - search->fulls.full) && !rc; (*next)++)
		rc = store(search, &search->fulls.full[*next]);
	return rc;
}

static int open_search(struct search *search, struct db *db)
{
	search->walk = walk_thread_open(db);
	search->room = db_prepare(db, room_sql);
	search->run = db->run;
	for (int i = 0; i < SEGMENTS; i++) {
		search->segment[i].path = order_path_open(db);
		if (!search->segment[i].path)
			return -1;
	}
	return search->walk && search->room ? 0 : -1;
}

static void close_search(struct search *search)
{
	walk_thread_close(search->walk);
	sqlite3_finalize(search->room);
	for (int i = 0; i < SEGMENTS; i++) {
		order_path_close(search->segment[i].path);
		spans_release(&search->segment[i].spans);
	}
	idmap_release(&search->streams, free);
	free(search->fulls.full);
}

int waits_find_queue(struct db *db)
{
	struct search search = { 0 };
	int rc = collect(db->run, &search.fulls);

	if (!rc && search.fulls.count) {
		/* Few runs have such blocks, but those that do may have one for every launch. */
		rc = db_exec(db, "CREATE INDEX IF NOT EXISTS operation_end ON operation (end)") ||
				open_search(&search, db)
			? -1
			: 0;
		for (size_t i = 0; i < search.fulls.count && !rc;)
			rc = follow_thread(&search, &i);
	}
	close_search(&search);
	return rc;
}
