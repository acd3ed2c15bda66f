/* SPDX-License-Identifier: Apache-2.0 */
/* What calls outside CUDA say: who made and joined a thread, and the ranges that NVTX names. */
#include "loader.h"

#include <stdlib.h>

#include "array.h"

struct open_range {
	uint32_t thread;             /* of a pushed one; 0: started */
	uint64_t id;                 /* of a started one */
	size_t call;                 /* that opened it, index */
};

struct ranges_open {
	struct open_range *range;
	size_t count;
};

static int64_t time_of(struct loader *loader, size_t call)
{
	return clock_host(&loader->p.clock, loader->p.call[call].enter);
}

/* closed: the call that ended it, index; SIZE_MAX: none did. */
static int write_range(struct loader *loader, size_t opened, size_t closed)
{
	struct loaded_process *p = &loader->p;
	struct call_fields fields = loader_fields(loader, &p->call[opened]);
	const struct string_record *text = (const struct string_record *)(uintptr_t)map_get(
		&p->strings, fields.value[FIELD_string], 0);

	return db_run(loader->insert[INSERT_RANGE], "iitiI", loader->process,
		(int64_t)p->call[opened].thread, text ? text->text : "",
		text ? (size_t)text->length : 0, time_of(loader, opened),
		closed == SIZE_MAX ? DB_NULL : time_of(loader, closed));
}

static int open_range(struct ranges_open *open, struct open_range range)
{
	struct open_range *more = array_room(open->range, open->count, sizeof(*more));

	if (!more)
		return -1;
	open->range = more;
	more[open->count++] = range;
	return 0;
}

/* The thread's innermost pushed range, or the one that was started with that id. */
static int close_range(struct loader *loader, struct ranges_open *open, uint32_t thread,
	uint64_t id, size_t call)
{
	for (size_t i = open->count; i-- > 0;) {
		struct open_range *range = &open->range[i];
		size_t opened = range->call;

		if (range->thread != thread || range->id != id)
			continue;
		for (open->count--; i < open->count; i++)
			open->range[i] = open->range[i + 1];
		return write_range(loader, opened, call);
	}
	return 0;
}

/* Who made and joined the thread with that birth, if it was one that used CUDA. */
static int note_thread(struct loader *loader, uint64_t birth, size_t call, int made)
{
	uint64_t number = map_get(&loader->p.births, birth, 0);
	struct loaded_thread *thread;

	if (!number)
		return 0;
	thread = &loader->p.thread[number - 1];
	*(made ? &thread->made_by : &thread->joined_by) = (uint32_t)call + 1;
	return 0;
}

static int take_call(struct loader *loader, struct ranges_open *open, size_t index)
{
	const struct loaded_call *call = &loader->p.call[index];
	struct call_fields fields = loader_fields(loader, call);

	switch (loader_call_kind(loader, call)) {
	case KIND_THREAD_CREATE:
		return note_thread(loader, fields.value[FIELD_birth], index, 1);
	case KIND_THREAD_JOIN:
		return note_thread(loader, fields.value[FIELD_birth], index, 0);
	case KIND_RANGE_PUSH:
		return open_range(open, (struct open_range){ call->thread, 0, index });
	case KIND_RANGE_POP:
		return close_range(loader, open, call->thread, 0, index);
	case KIND_RANGE_START:
		return open_range(open, (struct open_range){ 0, fields.value[FIELD_value],
			index });
	case KIND_RANGE_END:
		return close_range(loader, open, 0, fields.value[FIELD_value], index);
	case KIND_MARK:
		return write_range(loader, index, index);
	default:
		return 0;
	}
}

int loader_write_host(struct loader *loader)
{
	struct ranges_open open = { 0 };
	int rc = 0;

	for (size_t i = 0; i < loader->p.call_count && !rc; i++)
		rc = take_call(loader, &open, i);
	for (size_t i = 0; i < open.count && !rc; i++)
		rc = write_range(loader, open.range[i].call, SIZE_MAX);
	free(open.range);
	return rc;
}
