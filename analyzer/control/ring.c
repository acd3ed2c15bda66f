/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"
#include "reader.h"
#include "ring_lives.h"
#include "settings.h"
#include "since.h"
#include "traced.h"

#define LOOK_NS UINT64_C(100000000)
/*
 * A ring is cut when it is that much too long, or has two thirds of its size: to a half.  What is
 * cut off is used again after the next time only.
 */
#define LONGER_PART 8

struct numbers {
	uint32_t *number;
	size_t count;
};

struct ringed_process {
	uint64_t identity;
	uint32_t generation;  /* that was made last, in vain or not */
	uint64_t due;         /* by time: the next cut, CLOCK_MONOTONIC ns */
	struct numbers spare; /* chunks that are free; the recorder gets them by and by */
	/* Likewise after the next cut: somebody may be reading them. */
	struct numbers waiting;
};

/* A chunk of records in the trace. */
struct ring_chunk {
	size_t offset;
	uint64_t bytes, last; /* last: entry of a call, ticks; 0: it has none */
	int is_copy;          /* not a window, which is written to */
	int is_needed;        /* it has records of what is kept */
};

struct cut {
	struct trace_reader reader;
	struct trace_since since;
	const struct call_type_record **type;
	struct ring_chunk *chunk;
	size_t chunks;
	struct ring_record *list; /* of copies; those that stay of old ones */
	size_t count;
	uint64_t newest, before;                       /* ticks: the last call; the last cut */
	const struct calibration_record *first, *last; /* readings of the clocks */
	const struct window_record *window;            /* the last change before the cut */
	size_t highest;                                /* 1 + the call with since.correlation */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int ring_read_size(const char *text, struct ring *ring)
{
	size_t length = strlen(text);
	char *digits = xstrdup(text);
	int is_time = length && text[length - 1] == 's', is_right;

	/* "64MiB" is "64M". */
	if (length > 2 && !strcmp(text + length - 2, "iB"))
		digits[length - 2] = '\0';
	else if (is_time)
		digits[length - 1] = '\0';
	is_right = is_time ? setting_seconds(digits, &ring->ns) && ring->ns
			   : setting_size(digits, &ring->bytes);
	free(digits);
	return is_right;
}

/* --- what there is --- */

static struct ring_chunk *chunk_of(struct cut *cut)
{
	size_t offset = cut->reader.chunk;
	const struct chunk_header *header = (const void *)(cut->reader.base + offset);
	struct ring_chunk *last = cut->chunks ? &cut->chunk[cut->chunks - 1] : NULL;

	if (last && last->offset == offset)
		return last;
	last = array_push(cut->chunk, cut->chunks);
	*last = (struct ring_chunk){ .offset = offset,
		.bytes = header->committed,
		.is_copy = header->home != 0 };
	return last;
}

static void scan(struct cut *cut)
{
	const struct record *record;

	while (trace_next(&cut->reader, &record)) {
		struct ring_chunk *chunk = chunk_of(cut);
		uint64_t ticks = 0;

		if (record->type == RECORD_CALL_TYPE)
			cut->type[((const struct call_type_record *)record)->call] =
				(const void *)record;
		else if (record->type == RECORD_CALL)
			ticks = ((const struct call_record *)record)->enter;
		else if (record->type == RECORD_ENTER)
			ticks = ((const struct enter_record *)record)->enter;
		else if (record->type == RECORD_CALIBRATION) {
			cut->last = (const void *)record;
			cut->first = cut->first ? cut->first : cut->last;
		} else if (record->type == RECORD_WINDOW &&
			((const struct window_record *)record)->cause == WINDOW_RING)
			cut->before = ((const struct window_record *)record)->ticks;
		if (ticks > chunk->last)
			chunk->last = ticks;
		if (ticks > cut->newest)
			cut->newest = ticks;
	}
	trace_rewind(&cut->reader);
}

static int by_last(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * By size: half of it is kept.  Chunks of device operations alone go with the calls, so the oldest
 * part of the chunks with calls is as large as that of all.
 */
static uint64_t since_of_size(const struct cut *cut, uint64_t bytes)
{
	uint64_t *last = xcalloc(cut->chunks + 1, sizeof(*last)), since;
	uint64_t keep = bytes / 2 / cut->reader.header->chunk_size;
	size_t count = 0, left;

	for (size_t i = 0; i < cut->chunks; i++)
		if (cut->chunk[i].is_copy && cut->chunk[i].last)
			last[count++] = cut->chunk[i].last;
	qsort(last, count, sizeof(*last), by_last);
	left = (size_t)((double)count * (double)keep / (double)cut->chunks);
	since = left < count ? last[count - left - 1] + 1 : 0;
	free(last);
	return since;
}

static uint64_t since_of_time(const struct cut *cut, uint64_t ns)
{
	uint64_t ticks, real;

	if (cut->reader.header->clock != CLOCK_TICKS_TSC)
		return cut->newest > ns ? cut->newest - ns : 0;
	if (!cut->first || cut->last->realtime_ns <= cut->first->realtime_ns)
		return 0;
	real = cut->last->realtime_ns - cut->first->realtime_ns;
	ticks = (uint64_t)((double)ns * (double)(cut->last->ticks - cut->first->ticks) /
		(double)real);
	return cut->newest > ticks ? cut->newest - ticks : 0;
}

/* --- what stays --- */

static int has_time(const struct record *record)
{
	return record->type == RECORD_CALL || record->type == RECORD_ENTER ||
		record->type == RECORD_HOST_RUN || record->type == RECORD_WINDOW ||
		record->type == RECORD_USAGE ||
		(record->type == RECORD_DEVICE &&
			((const struct device_record *)record)->correlation);
}

/* Between two threads' records in a chunk of several; written anew. */
static int is_mark(const struct record *record)
{
	const struct thread_record *thread = (const struct thread_record *)record;

	return record->type == RECORD_THREAD && !thread->name_length && !thread->birth;
}

static void list_old(struct cut *cut)
{
	struct ring_chunk *chunk = cut->chunk;
	const struct record *record;

	while (trace_next(&cut->reader, &record))
		since_note(&cut->since, record);
	trace_rewind(&cut->reader);
	while (trace_next(&cut->reader, &record)) {
		while (chunk->offset != cut->reader.chunk)
			chunk++;
		if (chunk->is_copy && chunk->last < cut->since.ticks)
			*array_push(cut->list, cut->count) = (struct ring_record){
				.record = record,
				.thread = cut->reader.thread,
				.chunk = (uint32_t)(chunk - cut->chunk),
			};
		else
			chunk->is_needed = 1;
	}
	trace_rewind(&cut->reader);
}

/*
 * A copy all of whose records are before the cut is replaced.  The work with the highest
 * correlation stays, as it tells which device operations come too late.
 */
static void choose(struct cut *cut)
{
	uint32_t correlation = 0;

	list_old(cut);
	for (size_t i = 0; i < cut->count; i++)
		if (has_time(cut->list[i].record) &&
			!since_is_before(&cut->since, cut->list[i].record))
			cut->chunk[cut->list[i].chunk].is_needed = 1;
	for (size_t i = 0; i < cut->count; i++) {
		struct ring_record *at = &cut->list[i];
		const struct window_record *window = (const struct window_record *)at->record;
		const struct call_record *call = (const struct call_record *)at->record;

		at->removed = cut->chunk[at->chunk].is_needed || is_mark(at->record) ||
			since_leaves_out(&cut->since, at->record) ||
			at->record->type == RECORD_DEVICE || at->record->type == RECORD_ENTER ||
			(at->record->type == RECORD_CALIBRATION &&
				(const void *)at->record != cut->first);
		if (cut->chunk[at->chunk].is_needed)
			continue;
		if (at->record->type == RECORD_WINDOW && window->cause != WINDOW_RING &&
			(!cut->window || window->ticks >= cut->window->ticks))
			cut->window = window;
		if (at->record->type == RECORD_CALL && cut->since.is_work[call->call] &&
			call->correlation > correlation) {
			correlation = call->correlation;
			cut->highest = i + 1;
		}
	}
}

/* The last reading of the clocks of those that go: what follows begins between it and the next. */
static void keep_last_reading(struct cut *cut)
{
	for (size_t i = cut->count; i-- > 0;)
		if (cut->list[i].record->type == RECORD_CALIBRATION &&
			!cut->chunk[cut->list[i].chunk].is_needed) {
			cut->list[i].removed = 0;
			return;
		}
}

/* --- the new chunks --- */

struct maker {
	const struct cut *cut;
	struct file_header *header;
	struct ringed_process *process;
	int fd;
	uint32_t generation, thread;
	char *bytes;   /* the chunk that is filled */
	uint64_t used; /* of it, records */
	struct numbers made;
	uint64_t made_bytes;
};

static void note_number(struct numbers *numbers, uint32_t number)
{
	*array_push(numbers->number, numbers->count) = number;
}

static void move_numbers(struct numbers *to, struct numbers *from)
{
	for (size_t i = 0; i < from->count; i++)
		note_number(to, from->number[i]);
	from->count = 0;
}

static size_t offset_of(const struct maker *maker, uint32_t number)
{
	return maker->header->header_size + (size_t)number * maker->header->chunk_size;
}

/* Writes the chunk: 0, or -1 if there is no space. */
static int write_chunk(struct maker *maker)
{
	struct chunk_header *chunk = (struct chunk_header *)maker->bytes;
	struct numbers *spare = &maker->process->spare;
	size_t bytes = sizeof(*chunk) + maker->used;
	uint32_t number;

	if (!maker->used)
		return 0;
	number = spare->count
		? spare->number[--spare->count]
		: __atomic_fetch_add(&maker->header->chunk_count, 1, __ATOMIC_RELAXED);
	*chunk = (struct chunk_header){ .magic = TRACE_CHUNK_MAGIC,
		.committed = maker->used,
		.home = 1,
		.round = (uint64_t)maker->generation << 32 | maker->made.count };
	note_number(&maker->made, number);
	maker->made_bytes += maker->used;
	maker->used = 0;
	maker->thread = 0;
	return pwrite(maker->fd, chunk, bytes, (off_t)offset_of(maker, number)) == (ssize_t)bytes
		? 0
		: -1;
}

static int put(struct maker *maker, const struct record *record)
{
	size_t bytes = record_bytes(record);
	char *at = maker->bytes + sizeof(struct chunk_header);

	if (maker->used + bytes > maker->header->chunk_size - sizeof(struct chunk_header) &&
		write_chunk(maker))
		return -1;
	memcpy(at + maker->used, record, bytes);
	maker->used += bytes;
	return 0;
}

static int put_of_thread(struct maker *maker, const struct ring_record *at)
{
	struct thread_record mark = { .head = { sizeof(mark) / TRACE_ALIGN, RECORD_THREAD, 0 },
		.thread = at->thread };
	size_t bytes = record_bytes(at->record) + sizeof(mark);

	/* The mark and what it is for are in one chunk. */
	if (maker->used + bytes > maker->header->chunk_size - sizeof(struct chunk_header) &&
		write_chunk(maker))
		return -1;
	if (at->thread != maker->thread && put(maker, &mark.head))
		return -1;
	maker->thread = at->thread;
	return put(maker, at->record);
}

static int put_window(struct maker *maker, int open, int cause, uint64_t ticks)
{
	struct window_record window = {
		.head = { sizeof(window) / TRACE_ALIGN, RECORD_WINDOW, 0 },
		.open = (uint16_t)open,
		.cause = (uint16_t)cause,
		.ticks = ticks,
	};

	return put(maker, &window.head);
}

static int make(struct maker *maker)
{
	const struct cut *cut = maker->cut;
	const struct window_record *window = cut->window;
	uint64_t since = cut->since.ticks;

	if (put_window(maker, 1, WINDOW_RING, since) ||
		(window && !window->open && put_window(maker, 0, window->cause, since + 1)))
		return -1;
	for (size_t i = 0; i < cut->count; i++)
		if (!cut->list[i].removed && put_of_thread(maker, &cut->list[i]))
			return -1;
	return write_chunk(maker);
}

/*
 * The new chunks count, and the replaced ones no longer do, from the store of the generation on.
 * Before it there are too few chunks for what the header says, never too many: that is no damage.
 */
static int replace(struct maker *maker)
{
	const struct cut *cut = maker->cut;
	struct trace_ring *ring = &maker->header->ring;
	int64_t chunks = 0, bytes = 0;

	for (size_t i = 0; i < cut->chunks; i++) {
		const struct ring_chunk *chunk = &cut->chunk[i];
		off_t before = (off_t)(chunk->offset + offsetof(struct chunk_header, before));

		if (!chunk->is_copy || chunk->is_needed)
			continue;
		if (pwrite(maker->fd, &maker->generation, sizeof(maker->generation), before) !=
			sizeof(maker->generation))
			return -1;
		chunks++;
		bytes += (int64_t)chunk->bytes;
	}
	__atomic_fetch_add(&ring->fewer_chunks, chunks, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ring->fewer_bytes, bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->generation, maker->generation, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&ring->fewer_chunks, (int64_t)maker->made.count, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&ring->fewer_bytes, (int64_t)maker->made_bytes, __ATOMIC_RELAXED);
	/* Not before: a reader of the last generation may have them still (trace/reader.c). */
	move_numbers(&maker->process->spare, &maker->process->waiting);
	for (size_t i = 0; i < cut->chunks; i++)
		if (cut->chunk[i].is_copy && !cut->chunk[i].is_needed)
			note_number(&maker->process->waiting,
				(uint32_t)((cut->chunk[i].offset - maker->header->header_size) /
					maker->header->chunk_size));
	return 0;
}

static void cut_off(struct cut *cut, const struct traced *traced, struct ringed_process *process)
{
	struct maker maker = { .cut = cut,
		.header = traced->header,
		.process = process,
		.fd = open(traced->trace, O_WRONLY | O_CLOEXEC | O_NOFOLLOW),
		.generation = ++process->generation,
		.bytes = xcalloc(traced->header->chunk_size, 1) };

	/* Chunks made in vain are free: nothing says that they count. */
	if (maker.fd >= 0 && (make(&maker) || replace(&maker)))
		move_numbers(&process->spare, &maker.made);
	if (maker.fd >= 0)
		close(maker.fd);
	free(maker.made.number);
	free(maker.bytes);
}

static void cut_trace(const struct ring *ring, const struct traced *traced,
	struct ringed_process *process)
{
	struct cut cut = { 0 };

	cut.since.is_work = xcalloc(CALL_NUMBERS, 1);
	cut.type = xcalloc(CALL_NUMBERS, sizeof(*cut.type));
	if (!trace_open(&cut.reader, traced->trace)) {
		scan(&cut);
		cut.since.ticks =
			ring->ns ? since_of_time(&cut, ring->ns) : since_of_size(&cut, ring->bytes);
	}
	if (cut.since.ticks > cut.before) {
		choose(&cut);
		keep_last_reading(&cut);
		ring_lives_cancel(cut.list, cut.count, cut.type);
		if (cut.highest)
			cut.list[cut.highest - 1].removed = 0;
		cut_off(&cut, traced, process);
	}
	trace_close(&cut.reader);
	free(cut.since.is_work);
	free(cut.type);
	free(cut.chunk);
	free(cut.list);
}

/* --- when --- */

static struct ringed_process *process_of(struct ring *ring, const struct traced *traced)
{
	struct ringed_process *process;

	for (size_t i = 0; i < ring->count; i++)
		if (ring->process[i].identity == traced->header->identity)
			return &ring->process[i];
	process = array_push(ring->process, ring->count);
	*process = (struct ringed_process){ .identity = traced->header->identity,
		.generation = traced->header->ring.generation };
	return process;
}

static void hand_out(const struct traced *traced, struct ringed_process *process)
{
	struct trace_ring *ring = &traced->header->ring;

	for (unsigned i = 0; i < TRACE_RING_FREE && process->spare.count; i++)
		if (!__atomic_load_n(&ring->free[i], __ATOMIC_ACQUIRE))
			__atomic_store_n(&ring->free[i],
				process->spare.number[--process->spare.count] + 1,
				__ATOMIC_RELEASE);
}

static int is_due(const struct ring *ring, const struct traced *traced,
	struct ringed_process *process, uint64_t now)
{
	const struct file_header *header = traced->header;
	uint64_t chunks = (uint64_t)(header->chunks - header->ring.fewer_chunks);

	if (ring->bytes)
		return chunks * header->chunk_size > ring->bytes / 3 * 2;
	if (!process->due)
		process->due = now + ring->ns + ring->ns / LONGER_PART;
	if (now < process->due)
		return 0;
	process->due = now + ring->ns / LONGER_PART;
	return 1;
}

void ring_look(struct ring *ring)
{
	uint64_t now = now_ns();
	struct traced_list list;

	if (!(ring->ns || ring->bytes) || now < ring->next || traced_find(&list, ring->folder))
		return;
	ring->next = now + LOOK_NS;
	for (size_t i = 0; i < list.count; i++) {
		struct ringed_process *process = process_of(ring, &list.item[i]);

		if (list.item[i].header->closed)
			continue;
		if (is_due(ring, &list.item[i], process, now))
			cut_trace(ring, &list.item[i], process);
		hand_out(&list.item[i], process);
	}
	traced_release(&list);
}

void ring_release(struct ring *ring)
{
	for (size_t i = 0; i < ring->count; i++) {
		free(ring->process[i].spare.number);
		free(ring->process[i].waiting.number);
	}
	free(ring->process);
}
