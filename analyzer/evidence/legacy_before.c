/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence_tables.h"

#include <stdlib.h>

#include "bounds.h"
#include "concurrency.h"
#include "constants.h"
#include "large.h"
#include "radix_sort.h"
#include "id_map.h"
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
_Static_assert(sizeof(struct work) == 64, "radix_sort()");

/*
 * The work of a context that ended last so far.  Legacy work of one owner with nothing in between,
 * each submitted before the one before had ended, is a row: who is behind its end is behind all.
 */
struct ended {
	const struct work *blocking;   /* in its blocking streams */
	const struct work *legacy;     /* in its legacy stream ... */
	const struct work *other;      /* ... and by another owner than that */
	const struct work *legacy_row; /* the first of the row that legacy ends ... */
	const struct work *other_row;  /* ... and of that which other ends */
};

struct sweep {
	struct work *work;
	size_t count;
	struct id_map contexts; /* struct ended */
	struct map owners;      /* owner -> index + 1 of its work that ended last so far */
};

/*
 * Work of processes with several threads, in order of start, then of call.  Needed only if several
 * threads submit, and there is work in a legacy stream.
 */
static void read_work(struct sweep *sweep, const struct run *run, const struct walk_part *part)
{
	struct map threads = { 0 }; /* process -> number of its threads */
	int has_legacy = 0;

	for (uint32_t id = 1; run->threads_share && id < run_work_end(run) && !has_legacy; id++) {
		const struct run_work *work = run_work(run, id);

		has_legacy = work &&
			run_stream(run, run_where(run, work)->stream)->kind == STREAM_KIND_LEGACY;
	}
	if (!has_legacy)
		return;
	for (size_t i = 1; i < run->thread_count; i++)
		map_add(&threads, run->thread[i].process, 1);
	for (uint32_t id = part->first; id < part->end; id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_stream *stream;
		struct work work;

		if (!call || map_get(&threads, run_payload(run, call)->process, 0) <= 1)
			continue;
		stream = run_stream(run, call->stream);
		work = (struct work){ .call = id,
			.context = stream->context,
			.legacy = stream->kind == STREAM_KIND_LEGACY,
			.owner = (int64_t)call->stream,
			.enter = call->enter,
			.exit = run_exit(run, call, id),
			.next = RUN_NEVER,
			.start = INT64_MAX,
			.end = INT64_MIN };
		if (work.legacy)
			work.owner = -(int64_t)call->thread;
		if (!stream->context || !(work.legacy || stream_is_blocking(stream->kind)))
			continue;
		for (uint32_t op = 0; (op = run_next_work(run, call, op));) {
			const struct run_work *one = run_work(run, op);
			int64_t end = run_end(run, one, op);

			if (one->start == RUN_NEVER || end == RUN_NEVER)
				continue;
			work.start = at_most(work.start, one->start);
			if (end > work.end) {
				work.end = end;
				work.op = op;
			}
		}
		if (!work.op)
			continue;
		for (uint32_t next = id;
			work.next == RUN_NEVER && (next = run_link(run, next)->next);) {
			call = run_call(run, next);
			if (kind_has(call->kind, K_WORK) || kind_waits(call->kind) != WAITS_NOTHING)
				work.next = call->enter;
		}
		*large_push(sweep->work, sweep->count) = work;
	}
	map_release(&threads);
	sweep->work = radix_sort_large(sweep->work, sweep->count, sizeof(*sweep->work));
}

/* Since when another work could have overlapped with all that is left of a row, ns. */
static int64_t apart_since(const struct run *run, const struct work *first, const struct work *last,
	const struct work *other)
{
	struct shape shape = shape_of(run, other->op);

	for (const struct work *work = last; work >= first; work--) {
		struct shape one = shape_of(run, work->op);

		if (work->owner == last->owner && work->context == last->context &&
			!shape_can_overlap(&shape, &one))
			return work->end;
	}
	return first->start;
}

/*
 * Goes through the work in order of start: which work ended last, of what the legacy stream orders
 * before it?
 */
void legacy_before_find(struct id_map *pairs, const struct run *run, const struct walk_part *part)
{
	struct sweep sweep = { 0 };

	read_work(&sweep, run, part);
	for (const struct work *work = sweep.work; work < sweep.work + sweep.count; work++) {
		struct ended *context =
			id_map_need(&sweep.contexts, work->context, sizeof(*context));
		const struct work *by = work->legacy ? context->blocking : context->legacy;
		uint64_t number = map_get(&sweep.owners, (uint64_t)work->owner, 0);
		const struct work *own = number ? &sweep.work[number - 1] : NULL, *other = NULL;

		/*
		 * Of other threads' legacy work only rows that can block for long count.  A thread
		 * that hands over to another one and waits outside of CUDA, as for PyTorch's
		 * backward pass, goes on only when the other one has submitted its work: that order
		 * is intended.
		 */
		if (work->legacy && context->legacy && context->legacy->owner != work->owner) {
			context->other = context->legacy;
			context->other_row = context->legacy_row;
			context->legacy = NULL;
		}
		if (work->legacy)
			other = context->other;
		if (other && (!by || other->end > by->end) &&
			other->end - context->other_row->start >= HELD_MIN_NS &&
			!(work->enter >= other->exit && other->next >= work->exit))
			by = other;
		if (by && by->end - work->enter >= HELD_MIN_NS &&
			llabs(work->start - by->end) <= HANDOVER_MAX_NS) {
			struct legacy_pair *pair = id_map_need(pairs, work->call, sizeof(*pair));

			*pair = (struct legacy_pair){
				{ .call = by->call, .op = by->op, .end = by->end },
				own ? own->end : INT64_MIN
			};
			if (by == other)
				pair->ready = at_least(pair->ready,
					apart_since(run, context->other_row, other, work));
		}
		if (!own || work->end > own->end)
			map_set(&sweep.owners, (uint64_t)work->owner,
				(uint64_t)(work - sweep.work) + 1);
		if (work->legacy) {
			if (!context->legacy || work->enter > context->legacy->end ||
				(context->blocking &&
					context->blocking->end > context->legacy->end))
				context->legacy_row = work;
			context->legacy = work;
		} else if (!context->blocking || work->end > context->blocking->end) {
			context->blocking = work;
		}
	}
	id_map_release(&sweep.contexts, free);
	map_release(&sweep.owners);
	large_free(sweep.work);
}
