/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <stdlib.h>

#include "record.h"

/* Work on memory: 1 + a kernel, or 1 + a type of call below KERNELS; 0: none. */
#define KERNELS (UINT32_C(1) << 16)

struct thread_work {
	uint32_t unnamed; /* the only one in default streams, by calls that can name a stream */
	uint32_t named;   /* the only one in other streams */
};

static int is_of_host(const struct run_allocation *allocation)
{
	return allocation->kind == ALLOCATION_PINNED || allocation->kind == ALLOCATION_REGISTERED;
}

static int is_default(const struct run *run, int64_t stream)
{
	uint32_t kind = run_stream(run, stream)->kind;

	return kind == STREAM_KIND_LEGACY || kind == STREAM_KIND_THREAD;
}

/* The only one of its kind so far, one more, 0: none. */
static uint32_t only(uint32_t one, uint32_t more)
{
	return !one || one == more ? more : USAGE_SEVERAL;
}

static void note_stream(struct shared *shared, const struct run *run, uint32_t stream)
{
	if (stream && !is_default(run, stream))
		shared->named = only(shared->named, stream);
}

/* --- memory --- */

struct shared *usage_need(struct idmap *map, const struct run *run, int64_t allocation)
{
	struct shared *shared = idmap_need(map, allocation, sizeof(*shared));

	if (shared)
		shared->on_host = is_of_host(run_allocation(run, allocation));
	return shared;
}

/* An allocation is used in a call's stream; first: allocation -> 1 + the first such stream. */
static int note_use(struct usage *usage, const struct run *run, struct map *first, uint32_t id,
	uint32_t user, int early)
{
	const struct run_call *call = run_call(run, user);
	uint64_t stream = UINT64_C(1) + (call ? call->stream : 0), before;
	struct shared *shared;

	if (!id || !call)
		return 0;
	id = run_memory(run, id);
	before = map_get(first, id, 0);
	if (!before && map_set(first, id, stream))
		return -1;
	if (!early && (!before || before == stream) &&
		run_allocation(run, id)->kind != ALLOCATION_GRAPH)
		return 0;
	shared = usage_need(&usage->shared, run, id);
	if (!shared)
		return -1;
	shared->home = (uint32_t)((before ? before : stream) - 1);
	note_stream(shared, run, shared->home);
	note_stream(shared, run, call->stream);
	return 0;
}

/* What streams allocate and free they use. */
static int note_lives(struct usage *usage, const struct run *run, struct map *first)
{
	for (uint32_t id = 1; id < run->allocations.count; id++) {
		const struct run_allocation *allocation = run_allocation(run, id);

		if (allocation->kind == ALLOCATION_ASYNC &&
			(note_use(usage, run, first, id, allocation->created, 0) ||
				note_use(usage, run, first, id, allocation->freed, 0)))
			return -1;
	}
	return 0;
}

/* Calls come in order; the cursor stays at the call. */
static int begins_early(struct run_cursor *objects, int64_t call)
{
	struct run_cursor at;
	const struct run_object *object = run_cursor_at(objects, call);

	for (at = *objects; object; at.at++, object = run_cursor_at(&at, call))
		if (object->role == OBJECT_ATTRIBUTES)
			return (object->object & LAUNCH_PROGRAMMATIC) != 0;
	return 0;
}

/* --- threads --- */

static uint32_t work_of(const struct run *run, const struct run_call *call)
{
	uint32_t kernel = run_payload(run, call)->kernel;

	return kernel ? KERNELS + kernel : UINT32_C(1) + call->type;
}

static int note_work(struct usage *usage, const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	struct thread_work *work;
	uint32_t *which;

	if (!call || !call->stream)
		return 0;
	work = idmap_need(&usage->threads, call->thread, sizeof(*work));
	if (!work)
		return -1;
	which = is_default(run, call->stream) ? &work->unnamed : &work->named;
	if (which == &work->named || !kind_has(call->kind, K_DEFAULT_STREAM))
		*which = only(*which, work_of(run, call));
	return 0;
}

int usage_find(struct usage *usage, const struct run *run)
{
	const struct run_operand *row = (const struct run_operand *)run->operands.rows;
	const struct run_operand *end = run_rows_end(&run->operands);
	struct run_cursor objects = { .rows = &run->objects };
	struct map first = { 0 };
	uint32_t last = 0;
	int rc = 0;

	for (; row < end && !rc; row++) {
		rc = note_use(usage, run, &first, row->allocation, row->call,
			begins_early(&objects, row->call));
		if (!rc && row->call != last)
			rc = note_work(usage, run, row->call);
		last = row->call;
	}
	if (!rc)
		rc = note_lives(usage, run, &first);
	map_release(&first);
	return rc;
}

int usage_lacks_stream(const struct usage *usage, const struct run *run,
	const struct operation_point *call)
{
	const struct thread_work *work = idmap_get(&usage->threads, call->thread);
	const struct run_call *row = run_call(run, call->call);

	if (!work || !row || !is_default(run, call->stream) || work->named != USAGE_SEVERAL)
		return 0;
	return work->unnamed == (kind_has(call->kind, K_DEFAULT_STREAM) ? 0 : work_of(run, row));
}

/* --- the end --- */

static void free_shared(void *object)
{
	struct shared *shared = object;

	if (!shared)
		return;
	history_release(&shared->history);
	free(shared);
}

void usage_forget(struct usage *usage, const struct run *run, uint32_t allocation)
{
	const struct run_allocation *part = run_allocation(run, allocation), *whole;
	struct shared *shared;

	if (!part->same && !part->has_parts) {
		free_shared(idmap_take(&usage->shared, allocation));
		return;
	}
	shared = idmap_get(&usage->shared, run_memory(run, allocation));
	whole = run_allocation(run, run_memory(run, allocation));
	if (shared)
		history_forget(&shared->history, whole->address + part->shift,
			whole->address + part->shift + part->bytes);
}

void usage_free_shared(struct idmap *map)
{
	idmap_release(map, free_shared);
}

void usage_release(struct usage *usage)
{
	usage_free_shared(&usage->shared);
	idmap_release(&usage->threads, free);
}
