/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host does outside CUDA's calls: creation and joining of threads, NVTX ranges, NVTX names
 * of streams, runs of host functions, use of processors.
 */
#include "loader.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "load_accept.h"
#include "memory.h"

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
	return db_add(loader->db,
		ROW(range, loader->process, range->opened_by,
			cell_bytes(text ? text->text : "", text ? (size_t)text->length : 0),
			range->start, end));
}

static int64_t time_of(const struct loader *loader, const struct loaded_call *call)
{
	return clock_host_ns(&loader->p.clock, call->enter);
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

	*array_push(p->open_range, p->open_range_count) = range;
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
	case KIND_STREAM_NAME:
		if (call->stream)
			loader->p.stream[call->stream - 1].name = call->fields.value[FIELD_string];
		return 0;
	default:
		if (kind_family(call->kind) == FAMILY_thread)
			note_thread(loader, call);
		if (kind_family(call->kind) == FAMILY_callback)
			loader_take_host_run(loader, call);
		return 0;
	}
}

size_t loader_stream_name(const struct loader *loader, const struct loaded_stream *stream,
	char name[STREAM_NAME_BYTES])
{
	const struct string_record *text =
		(const struct string_record *)(uintptr_t)map_get(&loader->p.strings, stream->name,
			0);
	size_t length = text ? text->length : 0;

	if (length > STREAM_NAME_BYTES)
		for (length = STREAM_NAME_BYTES; length && (text->text[length] & 0xc0) == 0x80;)
			length--;
	/* Texts quote names of the program's with backticks. */
	for (size_t i = 0; i < length; i++)
		name[i] = iscntrl((unsigned char)text->text[i]) || text->text[i] == '`'
			? ' '
			: text->text[i];
	return length;
}

void loader_note_usage(struct loader *loader, uint32_t thread, const struct usage_record *record)
{
	struct loaded_process *p = &loader->p;

	*array_push(p->usage, p->usage_count) = (struct loaded_usage){ record, thread };
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct loaded_usage *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->record->ticks != y->record->ticks)
		return x->record->ticks < y->record->ticks ? -1 : 1;
	return (x->record > y->record) - (x->record < y->record);
}

/* The latest reading of a thread. */
struct reading {
	uint32_t thread;
	int64_t time;
	uint64_t cpu; /* ns; without switches it went on with the clock */
	uint32_t voluntary, involuntary;
};

/* Writes what was used since the reading before, if that is of the same thread. */
static int write_usage(struct loader *loader, const struct usage_record *usage,
	const struct reading *last, struct reading *now)
{
	uint64_t lasted = (uint64_t)(now->time - last->time), used;
	int64_t off;

	if (last->thread != now->thread)
		return 0;
	if (usage->head.flags & USAGE_STAYED)
		now->cpu = last->cpu + lasted;
	/* Another thread got the id. */
	if (now->cpu < last->cpu)
		return 0;
	used = now->cpu - last->cpu;
	/* The clocks differ a little. */
	off = used > lasted ? 0 : (int64_t)(lasted - used);
	return db_add(loader->db,
		ROW(usage, now->thread, last->time, now->time, off,
			now->voluntary - last->voluntary, now->involuntary - last->involuntary));
}

static int write_usages(struct loader *loader)
{
	struct loaded_process *p = &loader->p;
	struct reading last = { 0 };

	if (p->usage_count)
		qsort(p->usage, p->usage_count, sizeof(*p->usage), by_thread_and_time);
	for (size_t i = 0; i < p->usage_count; i++) {
		const struct usage_record *usage = p->usage[i].record;
		int64_t time = clock_host_ns(&p->clock, usage->ticks);
		struct reading now = { p->usage[i].thread, time, usage->cpu_ns, usage->voluntary,
			usage->involuntary };
		int rc;

		if (!loader_accept_usage(loader, usage))
			continue;
		if (usage->head.flags & USAGE_CLOCK) {
			rc = db_add(loader->db,
				ROW(clock_read, now.thread, time,
					map_get(&p->sites, usage->site, 0) ?: DB_NULL));
		} else if (usage->head.flags & USAGE_ASLEEP) {
			rc = db_add(loader->db,
				ROW(asleep, loader->process, time,
					map_get(&p->sites, usage->site, 0) ?: DB_NULL));
		} else {
			rc = write_usage(loader, usage, &last, &now);
			last = now;
		}
		if (rc)
			return -1;
	}
	return 0;
}

int loader_write_host(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	if (write_usages(loader))
		return -1;
	for (size_t i = 0; i < p->open_range_count; i++)
		if (write_range(loader, &p->open_range[i], DB_NULL))
			return -1;
	return 0;
}

/* --- runs of host functions (RECORD_HOST_RUN) --- */

static uint64_t key_of(uint32_t thread, uint64_t ticks)
{
	uint64_t pair[] = { thread, ticks };

	return map_hash_words(pair, 2);
}

/* Of what does not change when a run returns. */
static uint64_t key_of_run(uint32_t thread, const struct host_run_record *record)
{
	uint64_t words[] = { thread, record->enter, record->caller, record->called,
		record->function, record->data };

	return map_hash_words(words, sizeof(words) / sizeof(*words));
}

/* A run that had begun, and had returned when it was recorded again. */
static struct loaded_host_run *begun(struct loaded_process *p, uint64_t key)
{
	uint64_t number = p->open_host_runs.count ? map_get(&p->open_host_runs, key, 0) : 0;

	return number && !p->host_run[number - 1].record->exit ? &p->host_run[number - 1] : NULL;
}

void loader_note_host_run(struct loader *loader, uint32_t thread,
	const struct host_run_record *record)
{
	struct loaded_process *p = &loader->p;
	uint64_t key = key_of_run(thread, record);
	struct loaded_host_run *known = begun(p, key);

	if (known) {
		known->record = record;
		return;
	}
	*array_push(p->host_run, p->host_run_count) = (struct loaded_host_run){ record, thread, 0 };
	if (!record->exit)
		map_set(&p->open_host_runs, key, p->host_run_count);
	if (record->called)
		map_set(&p->host_calls, key_of(record->caller, record->called), p->host_run_count);
}

void loader_take_host_run(struct loader *loader, const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	uint32_t tid = p->thread[call->thread - loader->thread - 1].tid;
	uint64_t number = map_get(&p->host_calls, key_of(tid, call->enter), 0);

	if (!number || call->failed)
		return;
	if (p->host_run[number - 1].record->caller == tid &&
		p->host_run[number - 1].record->called == call->enter)
		p->host_run[number - 1].call = call->number;
}

int loader_write_host_runs(struct loader *loader)
{
	struct loaded_process *p = &loader->p;

	for (size_t i = 0; i < p->host_run_count; i++) {
		const struct loaded_host_run *run = &p->host_run[i];
		const struct host_run_record *record = run->record;
		int64_t exit = DB_NULL;

		if (!loader_accept_host_run(loader, record))
			continue;
		if (record->exit)
			exit = loader_host_time(loader, record->exit);
		if (db_add(loader->db,
			    ROW(host_run, loader->process, run->thread,
				    run->call ? loader->call + run->call : DB_NULL,
				    loader_host_time(loader, record->enter), exit, record->function,
				    record->data)))
			return -1;
	}
	return 0;
}
