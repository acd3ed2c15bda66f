/* SPDX-License-Identifier: Apache-2.0 */
/* Calls outside CUDA: creation and joining of threads, and NVTX ranges. */
#include "loader.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

struct open_range {
	uint32_t thread;    /* for a pushed range; 0: a started one */
	uint32_t opened_by; /* thread */
	uint64_t id;        /* for a started range */
	uint64_t name;      /* string */
	int64_t start;      /* ns */
};

/* end: DB_NULL if the range was never closed. */
static int write_range(struct loader *loader, const struct open_range *range, int64_t end)
{
	const struct string_record *text =
		(const struct string_record *)(uintptr_t)map_get(&loader->p.strings, range->name,
			0);

	/*
	 * Calls of a thread come in order of entry, except those during which another thread was
	 * created.
	 */
	if (end != DB_NULL && end < range->start)
		end = range->start;
	return db_run(loader->insert[INSERT_RANGE], "iitiI", loader->process,
		(int64_t)range->opened_by, text ? text->text : "", text ? (size_t)text->length : 0,
		range->start, end);
}

static int64_t time_of(const struct loader *loader, const struct loaded_call *call)
{
	return clock_host(&loader->p.clock, call->enter);
}

static struct open_range range_of(const struct loader *loader, const struct loaded_call *call)
{
	return (struct open_range){
		.opened_by = call->thread,
		.name = call->fields.value[FIELD_string],
		.start = time_of(loader, call),
	};
}

static int open_range(struct loader *loader, struct open_range range)
{
	struct loaded_process *p = &loader->p;
	struct open_range *more = array_room(p->open_range, p->open_range_count, sizeof(*more));

	if (!more)
		return -1;
	p->open_range = more;
	more[p->open_range_count++] = range;
	return 0;
}

/* Closes the thread's innermost pushed range, or the started one with that id. */
static int close_range(struct loader *loader, uint32_t thread, uint64_t id, int64_t end)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = p->open_range_count; i-- > 0;) {
		struct open_range range = p->open_range[i];

		if (range.thread != thread || range.id != id)
			continue;
		memmove(p->open_range + i, p->open_range + i + 1,
			(--p->open_range_count - i) * sizeof(range));
		return write_range(loader, &range, end);
	}
	return 0;
}

/* Stores which calls created and joined the thread with that birth, if it used CUDA. */
static void note_thread(struct loader *loader, const struct loaded_call *call)
{
	uint64_t number = map_get(&loader->p.births, call->fields.value[FIELD_birth], 0);
	struct loaded_thread *thread;

	if (!number || call->failed)
		return;
	thread = &loader->p.thread[number - 1];
	*(call->kind == KIND_THREAD_CREATE ? &thread->made_by : &thread->joined_by) = call->number;
}

int loader_take_host(struct loader *loader, const struct loaded_call *call)
{
	struct open_range range;

	switch (call->kind) {
	case KIND_RANGE_PUSH:
		range = range_of(loader, call);
		range.thread = call->thread;
		return open_range(loader, range);
	case KIND_RANGE_POP:
		return close_range(loader, call->thread, 0, time_of(loader, call));
	case KIND_RANGE_START:
		range = range_of(loader, call);
		range.id = call->fields.value[FIELD_value];
		return open_range(loader, range);
	case KIND_RANGE_END:
		return close_range(loader, 0, call->fields.value[FIELD_value],
			time_of(loader, call));
	case KIND_MARK:
		range = range_of(loader, call);
		return write_range(loader, &range, range.start);
	default:
		if (kind_family(call->kind) == FAMILY_thread)
			note_thread(loader, call);
		if (kind_family(call->kind) == FAMILY_callback)
			loader_take_host_run(loader, call);
		return 0;
	}
}

int loader_write_host(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->open_range_count; i++)
		if (write_range(loader, &p->open_range[i], DB_NULL))
			return -1;
	return 0;
}
