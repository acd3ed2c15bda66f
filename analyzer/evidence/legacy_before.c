/* SPDX-License-Identifier: Apache-2.0 */
#include "legacy_before.h"

#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "digits.h"
#include "idmap.h"
#include "concurrency.h"
#include "run_columns.h"

/* Work of a call in a legacy or blocking stream. */
struct work {
	int64_t start, end; /* of its operations, ns; sorted by start */
	int64_t enter, exit;
	int64_t next;               /* when its thread next submits or waits; RUN_NEVER: never */
	int64_t owner;              /* its stream, or for a legacy stream its thread, negative */
	uint32_t call, op, context; /* op: its operation that ended last */
	uint32_t legacy;
};
_Static_assert(sizeof(struct work) == 64, "digits_sort()");

struct list {
	struct work *work;
	size_t count;
};

/* The work of a context that ended last so far. */
struct ended {
	const struct work *blocking; /* in its blocking streams */
	const struct work *legacy;   /* in its legacy stream ... */
	const struct work *other;    /* ... and by another owner than that */
};

/* The work of an owner that ended last so far. */
struct owner {
	const struct work *last;
};

struct sweep {
	struct legacy_before *before;
	struct idmap contexts, owners; /* struct ended, struct owner */
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

static int goes_on(enum call_kind kind)
{
	return kind_has(kind, K_WORK) || kind_waits(kind) != WAITS_NOTHING;
}

/* Returns when the thread of a call next submits work or waits; RUN_NEVER: never. */
static int64_t next_of(const struct run *run, uint32_t id)
{
	uint32_t next = run_link(run, id)->next;

	while (next && !goes_on((enum call_kind)run_call(run, next)->kind))
		next = run_link(run, next)->next;
	return next ? run_call(run, next)->enter : RUN_NEVER;
}

/* Adds up the operations of a call, of which start and end are known. */
static void add_up(const struct run *run, const struct run_call *call, struct work *work)
{
	uint32_t op = call->last_work;

	do {
		const struct run_work *one = run_work(run, op);
		int64_t end = run_end(run, one, op);

		if (one->start != RUN_NEVER && end != RUN_NEVER) {
			if (one->start < work->start)
				work->start = one->start;
			if (end > work->end || (end == work->end && op < work->op)) {
				work->end = end;
				work->op = op;
			}
		}
		op = one->next;
	} while (op != call->last_work);
}

static int add_call(const struct run *run, uint32_t id, struct list *list)
{
	const struct run_call *call = run_call(run, id);
	const struct run_stream *stream = run_stream(run, call ? call->stream : 0);
	uint32_t legacy = stream->kind == STREAM_KIND_LEGACY;
	struct work work = { .call = id,
		.context = stream->context,
		.legacy = legacy,
		.start = INT64_MAX,
		.end = INT64_MIN },
		    *more;

	if (!call || !call->last_work || !stream->context ||
		!(legacy || stream_is_blocking((enum stream_kind)stream->kind)))
		return 0;
	add_up(run, call, &work);
	if (!work.op)
		return 0;
	work.owner = legacy ? -(int64_t)call->thread : (int64_t)call->stream;
	work.enter = call->enter;
	work.exit = run_exit(run, call, id);
	work.next = next_of(run, id);
	more = array_room(list->work, list->count, sizeof(*more));
	if (!more)
		return -1;
	list->work = more;
	more[list->count++] = work;
	return 0;
}

/* Processes with several threads. */
static int find_shared(const struct run *run, struct map *shared)
{
	struct map seen = { 0 };

	for (size_t i = 1; i < run->thread_count; i++) {
		uint32_t process = run->thread[i].process;

		map_set(map_get(&seen, process, 0) ? shared : &seen, process, 1);
	}
	map_release(&seen);
	return 0;
}

static int read_work(const struct run *run, struct list *list)
{
	struct map shared = { 0 };
	int rc = find_shared(run, &shared);

	for (uint32_t id = 1; id < run_call_end(run) && !rc; id++)
		if (run_call(run, id) &&
			map_get(&shared, run_payload(run, run_call(run, id))->process, 0))
			rc = add_call(run, id, list);
	map_release(&shared);
	return rc;
}

/* Work that started at the same time stays in order of call. */
static int sort_by_start(struct list *list)
{
	list->work = digits_sort(list->work, list->count, sizeof(*list->work));
	return 0;
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
	struct owner *owner = idmap_need(&sweep->owners, work->owner, sizeof(*owner));

	if (!context || !owner ||
		add_pair(sweep->before, work, last_before(context, work), owner->last))
		return -1;
	note_end(context, work);
	raise_to(&owner->last, work);
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
		rc = read_work(db->run, &list);
	if (!rc && list.count)
		rc = sort_by_start(&list) || find_pairs(before, &list) ? -1 : 0;
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
