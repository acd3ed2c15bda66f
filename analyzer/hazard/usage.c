/* SPDX-License-Identifier: Apache-2.0 */
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "kinds.h"
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

/* --- memory --- */

struct shared *usage_need(const struct usage *usage, struct id_map *map, int64_t allocation)
{
	struct shared *shared = id_map_need(map, allocation, sizeof(*shared));

	shared->use = usage->use[allocation];
	shared->users = shared->use.users ? &usage->users[shared->use.users - 1] : NULL;
	shared->on_host = is_of_host(run_allocation(usage->run, allocation));
	return shared;
}

/* A use of an allocation by a call's stream.  A call without a stream makes a graph node. */
struct one_use {
	uint32_t allocation, call, stream;
	int early; /* it may begin before earlier work of its stream has ended */
};

/* Returns 0, or -1 after a message. */
typedef int note_function(struct usage *usage, const struct one_use *one);

static int note_sharing(struct usage *usage, const struct one_use *one)
{
	const struct run *run = usage->run;
	struct use *use = &usage->use[one->allocation];

	if (!use->first)
		use->first = 1 + one->stream;
	if (one->early || use->first != 1 + one->stream ||
		run_allocation(run, one->allocation)->kind == ALLOCATION_GRAPH)
		use->is_shared = 1;
	if (one->stream && !is_default(run, one->stream))
		use->named = only(use->named, one->stream);
	return 0;
}

static int note_user(struct usage *usage, const struct one_use *one)
{
	const struct use *use = &usage->use[one->allocation];

	if (!use->is_shared)
		return 0;
	return users_add(&usage->users[use->users - 1], one->stream, one->call,
		one->early ||
			run_allocation(usage->run, one->allocation)->kind == ALLOCATION_GRAPH);
}

static int note_one(struct usage *usage, struct one_use one, note_function *note)
{
	const struct run *run = usage->run;
	const struct run_call *call = run_call(run, one.call);

	if (one.call < usage->part.first || one.call >= usage->part.end)
		return 0;
	if (!one.allocation || !call || !call->stream || one.allocation >= run->allocations.count)
		return 0;
	one.stream = call->stream;
	one.allocation = run_memory(run, one.allocation);
	return note(usage, &one);
}

/* Also notes the allocations whose memory its addresses access. */
static int note_use(struct usage *usage, struct one_use use, note_function *note)
{
	const struct run_twin *end, *twin;
	uint32_t id = use.allocation;

	if (note_one(usage, use, note))
		return -1;
	if (!run_allocation(usage->run, id)->has_twins)
		return 0;
	for (twin = run_twins(usage->run, id, &end); twin < end; twin++) {
		use.allocation = twin->other;
		if (note_one(usage, use, note))
			return -1;
	}
	return 0;
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

/* Further properties of a call. */
struct properties {
	int early;    /* it may begin before the previous operation of its stream ends */
	int captured; /* it makes a graph node and uses nothing itself */
};

/* --- threads --- */

static uint32_t work_of(const struct run *run, const struct run_call *call)
{
	uint32_t kernel = run_payload(run, call)->kernel;

	return kernel ? KERNELS + kernel : UINT32_C(1) + call->type;
}

static void note_work(struct usage *usage, uint32_t id)
{
	const struct run *run = usage->run;
	const struct run_call *call = run_call(run, id);
	struct thread_work *work;
	uint32_t *which;

	if (!call || !call->stream)
		return;
	work = id_map_need(&usage->threads, call->thread, sizeof(*work));
	which = is_default(run, call->stream) ? &work->unnamed : &work->named;
	if (which == &work->named || !kind_has(call->kind, K_DEFAULT_STREAM))
		*which = only(*which, work_of(run, call));
}

/* with_work: also notes the work of threads. */
static int note_uses(struct usage *usage, note_function *note, int with_work)
{
	const struct run *run = usage->run;
	const struct run_operand *row = run_rows_from(&run->operands, usage->part.first);
	const struct run_operand *end = run_rows_from(&run->operands, usage->part.end);
	struct run_cursor objects = { .rows = &run->objects };
	uint32_t last = 0;

	for (; row < end; last = row++->call) {
		/* Calls must come in order; the cursor stays at the call. */
		struct properties properties = { 0 };
		struct run_cursor at;
		const struct run_object *object = run_cursor_at(&objects, row->call);

		for (at = objects; object; at.at++, object = run_cursor_at(&at, row->call)) {
			if (object->role == OBJECT_ATTRIBUTES)
				properties.early |= (object->object & LAUNCH_PROGRAMMATIC) != 0;
			properties.captured |= object->role == OBJECT_CAPTURED;
		}
		int early = properties.early || row->role == OPERAND_SRC_ANY;

		if (!properties.captured &&
			note_use(usage, (struct one_use){ row->allocation, row->call, 0, early },
				note))
			return -1;
		if (with_work && row->call != last)
			note_work(usage, row->call);
	}
	/* A stream uses what it allocates and frees. */
	for (uint32_t id = 1; id < usage->run->allocations.count; id++) {
		const struct run_allocation *allocation = run_allocation(usage->run, id);

		if (allocation->kind != ALLOCATION_ASYNC)
			continue;
		if (note_use(usage, (struct one_use){ id, allocation->created, 0, 0 }, note) ||
			note_use(usage, (struct one_use){ id, allocation->freed, 0, 0 }, note))
			return -1;
	}
	return 0;
}

int usage_frees_on_host(const struct run *run, uint32_t allocation)
{
	const struct run_allocation *row = run_allocation(run, allocation);
	const struct run_call *freed = run_call(run, row->freed);

	return row->kind == ALLOCATION_ASYNC && freed && freed->kind == KIND_FREE_DEVICE;
}

/* The host's use has no stream that could be ordered after others. */
static void note_host_frees(struct usage *usage)
{
	for (uint32_t id = 1; id < usage->run->allocations.count; id++) {
		struct use *use = &usage->use[run_memory(usage->run, id)];

		if (!usage_frees_on_host(usage->run, id))
			continue;
		use->is_shared = 1;
		if (use->users)
			usage->users[use->users - 1].any = 1;
	}
}

static void make_users(struct usage *usage)
{
	for (size_t i = 0; i < usage->run->allocations.count; i++)
		if (usage->use[i].is_shared)
			usage->use[i].users = ++usage->users_count;
	usage->users = xcalloc(usage->users_count + 1, sizeof(*usage->users));
}

int usage_find(struct usage *usage, const struct run *run, const struct walk_part *part)
{
	usage->run = run;
	usage->part = *part;
	usage->use = xcalloc(run->allocations.count + 1, sizeof(*usage->use));
	if (note_uses(usage, note_sharing, 1))
		return -1;
	note_host_frees(usage);
	make_users(usage);
	note_host_frees(usage);
	return usage->users_count ? note_uses(usage, note_user, 0) : 0;
}

int usage_lacks_stream(const struct usage *usage, const struct operation_point *call)
{
	const struct thread_work *work = id_map_get(&usage->threads, call->thread);
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
		free_shared(id_map_take(&usage->shared, allocation));
		return;
	}
	shared = id_map_get(&usage->shared, run_memory(run, allocation));
	whole = run_allocation(run, run_memory(run, allocation));
	if (shared)
		history_forget(&shared->history, whole->address + part->shift,
			whole->address + part->shift + part->bytes);
}

void usage_free_shared(struct id_map *map)
{
	id_map_release(map, free_shared);
}

void usage_release(struct usage *usage)
{
	usage_free_shared(&usage->shared);
	id_map_release(&usage->threads, free);
	for (uint32_t i = 0; usage->users && i < usage->users_count; i++)
		users_release(&usage->users[i]);
	free(usage->users);
	free(usage->use);
}
