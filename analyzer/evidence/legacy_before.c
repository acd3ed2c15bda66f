/* SPDX-License-Identifier: Apache-2.0 */
#include "legacy_before.h"

#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "idmap.h"
#include "concurrency.h"
#include "run_columns.h"

/* Work of a call in a legacy or blocking stream. */
struct work {
	int64_t call, op, context; /* op: its operation that ended last */
	int64_t owner;             /* its stream, or for a legacy stream its thread, negative */
	int64_t enter, exit, start, end;
	int64_t next; /* when its thread next submits work or waits; RUN_NEVER: never */
	int legacy;
};

struct list {
	struct work *work;
	size_t count;
};

/* The work that ended last so far, of a context or of an owner. */
struct ended {
	const struct work *blocking; /* of a context, in its blocking streams */
	const struct work *legacy;   /* of a context, in its legacy stream ... */
	const struct work *other;    /* ... and by another owner than that */
	const struct work *own;      /* of an owner */
};

struct sweep {
	struct legacy_before *before;
	struct idmap contexts, owners; /* struct ended */
};

/* Needed only if several threads submit, and there is work in a legacy stream. */
static int is_concerned(const struct run *run)
{
	for (uint32_t id = 1; run->threads_share && id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);

		if (work &&
			run_stream(run, run_where(run, work)->stream)->kind == STREAM_KIND_LEGACY)
			return 1;
	}
	return 0;
}

static const char work_sql[] =
	"SELECT o.call, o.id, s.context, c.enter, o.start, o.end, s.kind = 'legacy', "
	"CASE s.kind WHEN 'legacy' THEN -c.thread ELSE s.id END "
	"FROM work o JOIN call c ON c.id = o.call JOIN stream s ON s.id = c.stream "
	"WHERE s.kind IN ('legacy', 'blocking', 'per-thread') AND s.context NOT NULL "
	"AND o.start NOT NULL AND o.end NOT NULL AND (SELECT count(*) FROM thread t "
	" WHERE t.process = o.process) > 1 ORDER BY o.call";

/* Adds an operation to the last call in the list, or a new call. */
static int add_operation(struct list *list, const struct work *work)
{
	struct work *last = list->count ? &list->work[list->count - 1] : NULL, *more;

	if (last && last->call == work->call) {
		if (work->end > last->end) {
			last->end = work->end;
			last->op = work->op;
		}
		if (work->start < last->start)
			last->start = work->start;
		return 0;
	}
	more = array_room(list->work, list->count, sizeof(*more));
	if (!more)
		return -1;
	list->work = more;
	more[list->count++] = *work;
	return 0;
}

static int goes_on(enum call_kind kind)
{
	return kind_has(kind, K_WORK) || kind_waits(kind) != WAITS_NOTHING;
}

static void find_calls(const struct run *run, struct work *work)
{
	const struct run_call *call = run_call(run, (uint32_t)work->call);
	uint32_t next = run_link(run, (uint32_t)work->call)->next;

	while (next && !goes_on((enum call_kind)run_call(run, next)->kind))
		next = run_link(run, next)->next;
	work->exit = run_exit(run, call, work->call);
	work->next = next ? run_call(run, next)->enter : RUN_NEVER;
}

static int read_work(struct db *db, struct list *list)
{
	sqlite3_stmt *q = db_prepare(db, work_sql);
	int rc = q ? 0 : -1;

	while (!rc && (rc = db_step(q)) > 0)
		rc = add_operation(list,
			&(struct work){ .call = sqlite3_column_int64(q, 0),
				.op = sqlite3_column_int64(q, 1),
				.context = sqlite3_column_int64(q, 2),
				.enter = sqlite3_column_int64(q, 3),
				.start = sqlite3_column_int64(q, 4),
				.end = sqlite3_column_int64(q, 5),
				.legacy = sqlite3_column_int(q, 6),
				.owner = sqlite3_column_int64(q, 7) });
	sqlite3_finalize(q);
	for (size_t i = 0; i < list->count && !rc; i++)
		find_calls(db->run, &list->work[i]);
	return rc;
}

static int by_start(const void *a, const void *b)
{
	const struct work *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->call > y->call) - (x->call < y->call);
}

static int by_call(const void *a, const void *b)
{
	const struct legacy_pair *x = a, *y = b;

	return (x->call > y->call) - (x->call < y->call);
}

static int add_pair(struct legacy_before *before, const struct work *work, const struct work *by,
	const struct work *own)
{
	struct legacy_pair *more;

	if (!by || by->end - work->enter < HELD_MIN_NS ||
		llabs(work->start - by->end) > HANDOVER_MAX_NS)
		return 0;
	more = array_room(before->pair, before->count, sizeof(*more));
	if (!more)
		return -1;
	before->pair = more;
	more[before->count++] = (struct legacy_pair){ .call = work->call,
		.by_call = by->call,
		.by_op = by->op,
		.by_end = by->end,
		.own_end = own ? own->end : INT64_MIN };
	return 0;
}

static void raise_to(const struct work **last, const struct work *work)
{
	if (!*last || work->end > (*last)->end)
		*last = work;
}

/*
 * Legacy work of two threads.  A thread that hands over to another one and waits outside of CUDA,
 * as for PyTorch's backward pass, goes on only when the other one has submitted its work: that
 * order is intended.
 */
static int is_handed_over(const struct work *work, const struct work *by)
{
	return work->enter >= by->exit && by->next >= work->exit;
}

/*
 * Returns the work that ended last, of what the legacy stream orders before this work; of other
 * threads' legacy work only what can block for long.
 */
static const struct work *last_before(const struct ended *context, const struct work *work)
{
	const struct work *by = work->legacy ? context->blocking : context->legacy, *other;

	if (!work->legacy || !context->legacy)
		return by;
	other = context->legacy->owner == work->owner ? context->other : context->legacy;
	if (!other || (by && other->end <= by->end) || other->end - other->start < HELD_MIN_NS ||
		is_handed_over(work, other))
		return by;
	return other;
}

static void note_end(struct ended *context, const struct work *work)
{
	if (!work->legacy) {
		raise_to(&context->blocking, work);
		return;
	}
	if (context->legacy && context->legacy->owner != work->owner)
		context->other = context->legacy;
	context->legacy = work;
}

/* Processes the next work in order of start. */
static int sweep_over(struct sweep *sweep, const struct work *work)
{
	struct ended *context = idmap_need(&sweep->contexts, work->context, sizeof(*context));
	struct ended *owner = idmap_need(&sweep->owners, work->owner, sizeof(*owner));

	if (!context || !owner ||
		add_pair(sweep->before, work, last_before(context, work), owner->own))
		return -1;
	note_end(context, work);
	raise_to(&owner->own, work);
	return 0;
}

static int find_pairs(struct legacy_before *before, const struct list *list)
{
	struct sweep sweep = { .before = before };
	int rc = 0;

	for (size_t i = 0; i < list->count && !rc; i++)
		rc = sweep_over(&sweep, &list->work[i]);
	idmap_release(&sweep.contexts, free);
	idmap_release(&sweep.owners, free);
	return rc;
}

int legacy_before_find(struct db *db, struct legacy_before *before)
{
	struct list list = { 0 };
	int rc = 0;

	*before = (struct legacy_before){ 0 };
	if (is_concerned(db->run))
		rc = read_work(db, &list);
	if (!rc && list.count) {
		qsort(list.work, list.count, sizeof(*list.work), by_start);
		rc = find_pairs(before, &list);
	}
	if (before->count)
		qsort(before->pair, before->count, sizeof(*before->pair), by_call);
	free(list.work);
	return rc;
}

void legacy_before_release(struct legacy_before *before)
{
	free(before->pair);
	*before = (struct legacy_before){ 0 };
}

const struct legacy_pair *legacy_before_of(struct legacy_before *before, int64_t call)
{
	while (before->at < before->count && before->pair[before->at].call < call)
		before->at++;
	if (before->at == before->count || before->pair[before->at].call != call)
		return NULL;
	return &before->pair[before->at];
}
