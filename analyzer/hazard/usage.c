/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>

#include "record.h"

/* A kind of work: KERNELS + a kernel, or 1 + a type of call; 0: none. */
#define KERNELS (UINT32_C(1) << 16)

struct thread_work {
	uint32_t unnamed; /* the only kind in default streams, from calls that can name a stream */
	uint32_t named;   /* the only kind in other streams */
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

/* Returns the only kind so far (0: none) combined with one more. */
static uint32_t only(uint32_t one, uint32_t more)
{
	return !one || one == more ? more : USAGE_SEVERAL;
}

static void note_stream(struct use *use, const struct run *run, uint32_t stream)
{
	if (stream && !is_default(run, stream))
		use->named = only(use->named, stream);
}

/* --- memory --- */

struct shared *usage_need(const struct usage *usage, struct idmap *map, int64_t allocation)
{
	struct shared *shared = idmap_need(map, allocation, sizeof(*shared));

	if (shared) {
		shared->use = usage->use[allocation];
		shared->on_host = is_of_host(run_allocation(usage->run, allocation));
	}
	return shared;
}

/* Notes that a call's stream uses an allocation.  A call without a stream makes a graph node. */
static void note_one(struct usage *usage, uint32_t id, uint32_t user, int early)
{
	const struct run *run = usage->run;
	const struct run_call *call = run_call(run, user);
	struct use *use;

	if (!id || !call || !call->stream || id >= run->allocations.count)
		return;
	id = run_memory(run, id);
	use = &usage->use[id];
	if (!use->first)
		use->first = 1 + call->stream;
	if (early || use->first != 1 + call->stream ||
		run_allocation(run, id)->kind == ALLOCATION_GRAPH)
		use->is_shared = 1;
	note_stream(use, run, call->stream);
}

/* Also notes the allocations whose memory its addresses access. */
static void note_use(struct usage *usage, uint32_t id, uint32_t user, int early)
{
	const struct run_twin *end, *twin;

	note_one(usage, id, user, early);
	if (!run_allocation(usage->run, id)->has_twins)
		return;
	for (twin = run_twins(usage->run, id, &end); twin < end; twin++)
		note_one(usage, twin->other, user, early);
}

int usage_is_shared_through(const struct usage *usage, uint32_t allocation)
{
	const struct run_twin *end, *twin;

	if (usage_is_shared(usage, run_memory(usage->run, allocation)))
		return 1;
	if (!run_allocation(usage->run, allocation)->has_twins)
		return 0;
	for (twin = run_twins(usage->run, allocation, &end); twin < end; twin++)
		if (usage_is_shared(usage, twin->other))
			return 1;
	return 0;
}

/* A stream uses what it allocates and frees. */
static void note_lives(struct usage *usage)
{
	for (uint32_t id = 1; id < usage->run->allocations.count; id++) {
		const struct run_allocation *allocation = run_allocation(usage->run, id);

		if (allocation->kind != ALLOCATION_ASYNC)
			continue;
		note_use(usage, id, allocation->created, 0);
		note_use(usage, id, allocation->freed, 0);
	}
}

/* Further properties of a call. */
struct properties {
	int early;    /* it may begin before the previous operation of its stream ends */
	int captured; /* it makes a graph node and uses nothing itself */
};

/* Calls must come in order; the cursor stays at the call. */
static struct properties properties_of(struct run_cursor *objects, int64_t call)
{
	struct properties properties = { 0 };
	struct run_cursor at;
	const struct run_object *object = run_cursor_at(objects, call);

	for (at = *objects; object; at.at++, object = run_cursor_at(&at, call)) {
		if (object->role == OBJECT_ATTRIBUTES)
			properties.early |= (object->object & LAUNCH_PROGRAMMATIC) != 0;
		properties.captured |= object->role == OBJECT_CAPTURED;
	}
	return properties;
}

/* --- threads --- */

static uint32_t work_of(const struct run *run, const struct run_call *call)
{
	uint32_t kernel = run_payload(run, call)->kernel;

	return kernel ? KERNELS + kernel : UINT32_C(1) + call->type;
}

static int note_work(struct usage *usage, uint32_t id)
{
	const struct run *run = usage->run;
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
	uint32_t last = 0;

	usage->run = run;
	usage->use = calloc(run->allocations.count + 1, sizeof(*usage->use));
	if (!usage->use) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (; row < end; row++) {
		struct properties properties = properties_of(&objects, row->call);

		if (!properties.captured)
			note_use(usage, row->allocation, row->call,
				properties.early || row->role == OPERAND_SRC_ANY);
		if (row->call != last && note_work(usage, row->call))
			return -1;
		last = row->call;
	}
	note_lives(usage);
	return 0;
}

int usage_lacks_stream(const struct usage *usage, const struct operation_point *call)
{
	const struct thread_work *work = idmap_get(&usage->threads, call->thread);
	const struct run_call *row = run_call(usage->run, call->call);

	if (!work || !row || !is_default(usage->run, call->stream) || work->named != USAGE_SEVERAL)
		return 0;
	return work->unnamed ==
		(kind_has(call->kind, K_DEFAULT_STREAM) ? 0 : work_of(usage->run, row));
}

/* --- release --- */

static void free_shared(void *object)
{
	struct shared *shared = object;

	if (!shared)
		return;
	history_release(&shared->history);
	free(shared);
}

void usage_forget(struct usage *usage, uint32_t allocation)
{
	const struct run *run = usage->run;
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
	free(usage->use);
}
