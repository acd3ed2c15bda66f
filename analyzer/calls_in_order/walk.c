/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <stdlib.h>

#include "bounds.h"
#include "memory.h"
#include "run_columns.h"
#include "stretches.h"
#include "unknown.h"
#include "walk_order.h"

struct walk_run {
	const struct run *run;
	struct run *own;
	struct stretches stretches;
	struct walk_known known;
};

static void read_call(const struct run *run, const struct run_call *row, int64_t id,
	struct walk_call *call)
{
	const struct run_payload *payload = run_payload(run, row);
	const struct run_stream *stream = run_stream(run, row->stream);
	const struct run_context *context = run_context(run, run_context_of(run, row));

	*call = (struct walk_call){
		.id = id,
		.process = payload->process,
		.thread = row->thread,
		.enter = row->enter,
		.exit = run_exit(run, row, id),
		.result = payload->result,
		.context = payload->context,
		.stream = row->stream,
		.event = payload->event,
		.ptr = payload->ptr,
		.green = context->green,
		.kernel = payload->kernel,
		.bytes = payload->bytes,
		.type = row->type,
		.kind = row->kind,
		.direction = payload->direction,
		.src = payload->src,
		.dst = payload->dst,
		.stream_kind = (enum stream_kind)stream->kind,
		.stream_context = stream->context,
		.device = context->device,
		.op_start = WALK_NEVER,
		.op_end = WALK_NEVER,
		.ran = WALK_NEVER,
		.ran_last = WALK_NEVER,
		.unknown = call_is_unknown(row),
	};
}

static void add_op(const struct run *run, int64_t id, struct walk_call *call)
{
	const struct run_work *work = run_work(run, id);
	int64_t start = work->start, end = run_end(run, work, id);

	if (start < call->op_start)
		call->op_start = start;
	if (!call->op ||
		(end != WALK_NEVER && (call->op_end == WALK_NEVER || end > call->op_end))) {
		call->op = id;
		call->op_end = end;
		call->end_is_limit = run_where(run, work)->end_is_limit;
	}
	if (start != WALK_NEVER && end != WALK_NEVER)
		call->op_busy += run_busy_end(run, work, id) - start;
}

/* Reads the overhead intervals of a call in order of start; overlapping ones count once. */
static void read_overhead(struct run_cursor *cursor, struct walk_call *call)
{
	const struct run_overhead *row;
	int64_t covered = call->enter;

	for (; (row = run_cursor_at(cursor, call->id)); cursor->at++) {
		int64_t start = clamp(row->start, covered, call->exit);
		int64_t end = clamp(row->end, start, call->exit);

		call->overhead += end - start;
		covered = end;
	}
}

struct walk_run *walk_open(struct db *db)
{
	struct walk_run *walk = xcalloc(1, sizeof(*walk));

	walk->run = run_of(db, &walk->own);
	if (walk->run && !stretches_load(&walk->stretches, db) &&
		!walk_known_find(&walk->known, db, walk->run))
		return walk;
	walk_close(walk);
	return NULL;
}

void walk_close(struct walk_run *walk)
{
	if (!walk)
		return;
	stretches_release(&walk->stretches);
	walk_known_release(&walk->known);
	run_close(walk->own);
	free(walk);
}

/* Joins the parts from that of a process on, which has a call beyond them. */
static void join_parts(struct walk_part *part, size_t *count, uint32_t first)
{
	while (*count > 1 && part[*count - 2].end > first) {
		part[*count - 2].end = part[*count - 1].end;
		--*count;
	}
}

size_t walk_parts(const struct walk_run *walk, struct walk_part **part)
{
	const struct run *run = walk->run;
	struct map first = { 0 }; /* process -> its first call */
	uint32_t last = 0;
	size_t count = 0;

	*part = NULL;
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		uint32_t process = call ? run_payload(run, call)->process : 0, since;

		if (!call || call->kind == KIND_RUNTIME)
			continue;
		if (count && process == last) {
			(*part)[count - 1].end = id + 1;
			continue;
		}
		last = process;
		since = (uint32_t)map_get(&first, process, id);
		map_set(&first, process, since);
		*array_push(*part, count) = (struct walk_part){ .first = id, .end = id + 1 };
		join_parts(*part, &count, since);
	}
	for (size_t i = 0; i < count; i++)
		(*part)[i].number = (uint32_t)i;
	map_release(&first);
	return count;
}

int walk_part(const struct walk_run *walk, const struct walk_part *part,
	int (*visit)(void *arg, const struct walk_call *call), void *arg)
{
	const struct run *run = walk->run;
	struct run_cursor overhead = { .rows = &run->overheads };
	struct walk_order order;
	struct walk_call call;
	int rc = 0;

	walk_order_begin(&order, &walk->known);
	for (uint32_t id = part->first; !rc && id < part->end; id++) {
		const struct run_call *row = run_call(run, id);

		if (!row || row->kind == KIND_RUNTIME)
			continue;
		read_call(run, row, id, &call);
		call.stretch = stretches_find(&walk->stretches, call.process, call.enter);
		for (uint32_t op = 0; (op = run_next_work(run, row, op));)
			add_op(run, op, &call);
		read_overhead(&overhead, &call);
		walk_order_fill(&order, &call);
		rc = visit(arg, &call);
	}
	return rc ? -1 : 0;
}

int walk(struct db *db, int (*visit)(void *arg, const struct walk_call *call), void *arg)
{
	struct walk_run *walk = walk_open(db);
	struct walk_part all = { .first = 1, .end = walk ? run_call_end(walk->run) : 1 };
	int rc = walk ? walk_part(walk, &all, visit, arg) : -1;

	walk_close(walk);
	return rc;
}

struct walk_thread {
	const struct run *run;
	struct run *own;
	struct stretches stretches;
	uint32_t next; /* call; 0: the end */
};

struct walk_thread *walk_thread_open(struct db *db)
{
	struct walk_thread *walk = xcalloc(1, sizeof(*walk));

	walk->run = run_of(db, &walk->own);
	if (walk->run && !stretches_load(&walk->stretches, db))
		return walk;
	walk_thread_close(walk);
	return NULL;
}

/*
 * Follows the list of the thread's calls from its first call on; before that it checks all later
 * calls.
 */
void walk_thread_seek(struct walk_thread *walk, int64_t thread, int64_t after_call)
{
	const struct run *run = walk->run;
	const struct run_call *after = run_call(run, after_call);

	walk->next =
		thread > 0 && thread < (int64_t)run->thread_count ? run->thread[thread].first : 0;
	if (after && after->thread == thread)
		walk->next = run_link(run, after_call)->next;
	while (walk->next && walk->next <= after_call)
		walk->next = run_link(run, walk->next)->next;
}

int walk_thread_next(struct walk_thread *walk, struct walk_call *call)
{
	const struct run_call *row;
	uint32_t id;

	do {
		id = walk->next;
		if (!id)
			return 0;
		row = run_call(walk->run, id);
		walk->next = run_link(walk->run, id)->next;
	} while (row->kind == KIND_RUNTIME);
	read_call(walk->run, row, id, call);
	call->stretch = stretches_find(&walk->stretches, call->process, call->enter);
	if (walk_submits(call))
		for (uint32_t op = 0; (op = run_next_work(walk->run, row, op));)
			add_op(walk->run, op, call);
	return 1;
}

void walk_thread_close(struct walk_thread *walk)
{
	if (!walk)
		return;
	stretches_release(&walk->stretches);
	run_close(walk->own);
	free(walk);
}

int walk_submits(const struct walk_call *call)
{
	return kind_has(call->kind, K_WORK);
}
