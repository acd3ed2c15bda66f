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
	int64_t enter, start, end;
	int legacy;
};

struct list {
	struct work *work;
	size_t count;
};

/* Latest ends so far: per context by struct work.legacy; per owner at index 0. */
struct ended {
	const struct work *last[2];
};

struct sweep {
	struct legacy_before *before;
	struct idmap contexts, owners; /* struct ended */
};

/* Needed only if several threads submit, to the legacy stream and to blocking streams. */
static int is_concerned(const struct run *run)
{
	int legacy = 0, blocking = 0;

	if (!run->threads_share)
		return 0;
	for (uint32_t id = 1; id < run_work_end(run) && !(legacy && blocking); id++) {
		const struct run_work *work = run_work(run, id);
		enum stream_kind kind = work
			? (enum stream_kind)run_stream(run, run_where(run, work)->stream)->kind
			: STREAM_KIND_UNKNOWN;

		legacy |= kind == STREAM_KIND_LEGACY;
		blocking |= stream_is_blocking(kind);
	}
	return legacy && blocking;
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

/* Processes the next work in order of start. */
static int sweep_over(struct sweep *sweep, const struct work *work)
{
	struct ended *context = idmap_need(&sweep->contexts, work->context, sizeof(*context));
	struct ended *owner = idmap_need(&sweep->owners, work->owner, sizeof(*owner));

	if (!context || !owner ||
		add_pair(sweep->before, work, context->last[!work->legacy], owner->last[0]))
		return -1;
	raise_to(&context->last[work->legacy], work);
	raise_to(&owner->last[0], work);
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
