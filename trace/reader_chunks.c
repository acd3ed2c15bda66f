/* SPDX-License-Identifier: Apache-2.0 */
#include "reader_chunks.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A traced program has one window per thread; a file may also consist of windows only. */
#define WINDOWS_MOST_BYTES (256u << 20)
/* Copying a window takes less than the millisecond in which a thread may fill it. */
#define COPY_TRIES 16

struct window {
	uint64_t round, copied; /* its current round, and the first one not copied */
	uint32_t number;
	uint32_t copies;
};

struct chunk_scan {
	struct trace_reader *reader;
	struct window *window;
	size_t window_count, window_room;
	uint32_t *copy;
	size_t copy_count, copy_room;
	size_t copied_bytes; /* of windows */
	uint64_t records;    /* bytes */
	uint64_t chunks;     /* with a header */
	uint64_t end;        /* of the file, at least, if all of these chunks are whole */
	uint64_t gaps;       /* chunks that others prove to have existed */
	int changing;        /* a window was written to while it was copied */
};

void reader_note(struct trace_reader *reader, const char *format, ...)
{
	va_list values;

	if (reader->damaged++ || reader->error[0])
		return;
	va_start(values, format);
	vsnprintf(reader->error, sizeof(reader->error), format, values);
	va_end(values);
}

static int out_of_memory(struct trace_reader *reader)
{
	snprintf(reader->error, sizeof(reader->error), "out of memory");
	return -1;
}

static size_t offset_of(const struct trace_reader *reader, uint64_t number)
{
	return reader->header->header_size + (size_t)number * reader->header->chunk_size;
}

size_t reader_records(const struct trace_reader *reader, size_t offset, uint64_t committed)
{
	size_t room = reader->header->chunk_size, left = reader->size - offset;

	room = (left < room ? left : room) - sizeof(struct chunk_header);
	return (committed < room ? (size_t)committed : room) & ~(size_t)(TRACE_ALIGN - 1);
}

/* Reads what the file contains now; returns the number of bytes, 0 beyond its end. */
static size_t read_at(const struct trace_reader *reader, size_t offset, void *to, size_t size)
{
	ssize_t n;

	if (reader->fd < 0) {
		memcpy(to, reader->base + offset, size);
		return size;
	}
	n = pread(reader->fd, to, size, (off_t)offset);
	return n < 0 ? 0 : (size_t)n;
}

/*
 * Returns the first chunk at or after number that is not a hole of the file; count if there is
 * none.
 */
static uint64_t skip_hole(const struct trace_reader *reader, uint64_t number, uint64_t count)
{
	size_t offset = offset_of(reader, number);
	off_t data = reader->fd < 0 ? -1 : lseek(reader->fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return reader->fd >= 0 && errno == ENXIO ? count : number;
	return (size_t)data <= offset
		? number
		: number + ((size_t)data - offset) / reader->header->chunk_size;
}

/* Number of chunks with space for a header. */
static uint64_t chunk_count(const struct trace_reader *reader)
{
	size_t first = reader->header->header_size, size = reader->header->chunk_size;

	return (reader->size - first) / size +
		((reader->size - first) % size >= sizeof(struct chunk_header));
}

/* Calls use for each non-empty chunk.  Returns 0, or -1 if use fails. */
static int for_each_chunk(struct chunk_scan *scan,
	int (*use)(struct chunk_scan *scan, uint32_t number, const struct chunk_header *chunk))
{
	const struct trace_reader *reader = scan->reader;
	uint64_t count = chunk_count(reader), data = 0;

	for (uint64_t number = 0; number < count; number++) {
		struct chunk_header chunk;

		/* One system call covers many chunks if the file has no holes. */
		if (number >= data) {
			number = skip_hole(reader, number, count);
			data = number + 1;
			if (number == count)
				break;
		}
		if (read_at(reader, offset_of(reader, number), &chunk, sizeof(chunk)) <
			sizeof(chunk))
			break;
		if (chunk.magic)
			data = number + 64;
		if ((chunk.magic || chunk.committed) && use(scan, (uint32_t)number, &chunk))
			return -1;
	}
	return 0;
}

/*
 * Returns the bytes of complete records at the window's start, which may have changed while copied.
 */
static uint64_t trim(const struct chunk_header *window, uint64_t bytes)
{
	const char *first = (const char *)(window + 1);
	uint64_t at = 0, last = 0;

	while (at < bytes) {
		const struct record *record = (const struct record *)(first + at);

		if (!record->words || record->words * (uint64_t)TRACE_ALIGN > bytes - at)
			return at;
		last = at;
		at += record->words * (uint64_t)TRACE_ALIGN;
	}
	/* Only an enter record is ever removed, and another one may replace it. */
	return at && ((const struct record *)(first + last))->type == RECORD_ENTER ? last : at;
}

/* Adds the record that announces the call in progress (struct enter_record), if there is one. */
static uint64_t add_announced(struct chunk_header *window, size_t records, size_t read)
{
	const struct enter_record *announced =
		(const struct enter_record *)((const char *)(window + 1) + records);

	if (records + ENTER_BYTES > read || announced->head.type != RECORD_ENTER ||
		record_bytes(&announced->head) != ENTER_BYTES || !announced->enter)
		return window->committed;
	return window->committed = records + ENTER_BYTES;
}

/*
 * Copies a window's contents to private pages, isolated from further writes by its thread.  Returns
 * the bytes copied, 0 if none could be copied consistently.
 */
static uint64_t copy_window(struct chunk_scan *scan, size_t offset,
	const struct chunk_header *found)
{
	struct trace_reader *reader = scan->reader;
	struct chunk_header *window = (struct chunk_header *)(reader->base + offset);
	struct chunk_header header = *found, after;

	for (unsigned tries = 0; tries < COPY_TRIES; tries++, header = after) {
		size_t records = reader_records(reader, offset, header.committed);
		size_t more = reader_records(reader, offset, records + ENTER_BYTES);
		size_t bytes = sizeof(header) + more;

		if (read_at(reader, offset, window, bytes) < bytes ||
			read_at(reader, offset, &after, sizeof(after)) < sizeof(after))
			break;
		*window = header;
		if (after.round == header.round && after.committed == header.committed)
			return reader->header->closed || header.committed != records
				? window->committed
				: add_announced(window, records, more);
		scan->changing = 1;
		if (after.round != header.round)
			continue;
		window->committed = trim(window,
			after.committed < records ? reader_records(reader, offset, after.committed)
						  : records);
		return window->committed;
	}
	memset(window, 0, sizeof(*window));
	return 0;
}

/* A closed trace hardly changes any more. */
static int must_copy(const struct trace_reader *reader, size_t copied)
{
	return reader->fd >= 0 && (copied < WINDOWS_MOST_BYTES || !reader->header->closed);
}

static int find_window(struct chunk_scan *scan, uint32_t number, const struct chunk_header *chunk)
{
	struct trace_reader *reader = scan->reader;
	size_t offset = offset_of(reader, number);

	if (chunk->magic != TRACE_CHUNK_MAGIC || chunk->home)
		return 0;
	if (must_copy(reader, scan->copied_bytes)) {
		if (scan->copied_bytes >= WINDOWS_MOST_BYTES) {
			reader_note(reader,
				"offset %zu: not read, as more than %u MiB are still "
				"being written",
				offset, WINDOWS_MOST_BYTES >> 20);
			return 0;
		}
		scan->copied_bytes += sizeof(*chunk) + (size_t)copy_window(scan, offset, chunk);
		chunk = (const struct chunk_header *)(reader->base + offset);
	}
	if (scan->window_count == scan->window_room) {
		size_t room = scan->window_room ? 2 * scan->window_room : 64;
		struct window *more = realloc(scan->window, room * sizeof(*more));

		if (!more)
			return out_of_memory(reader);
		scan->window = more;
		scan->window_room = room;
	}
	scan->window[scan->window_count++] = (struct window){
		.number = number,
		/* It could not be copied: whatever there is of it. */
		.round = reader->copied && !chunk->magic ? UINT64_MAX : chunk->round,
	};
	return 0;
}

static struct window *window_numbered(const struct chunk_scan *scan, uint32_t number)
{
	size_t low = 0, high = scan->window_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (scan->window[middle].number == number)
			return &scan->window[middle];
		if (scan->window[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Is this a window that was opened after the windows were scanned? */
static int is_window(const struct trace_reader *reader, uint32_t number)
{
	struct chunk_header chunk;

	return number < chunk_count(reader) &&
		read_at(reader, offset_of(reader, number), &chunk, sizeof(chunk)) ==
		sizeof(chunk) &&
		chunk.magic == TRACE_CHUNK_MAGIC && !chunk.home;
}

/* Updates the expected file size: a window is allocated in full, a copy up to its contents. */
static void note_chunk(struct chunk_scan *scan, size_t offset, const struct chunk_header *chunk)
{
	struct trace_reader *reader = scan->reader;
	size_t room = reader->header->chunk_size - sizeof(*chunk);
	uint64_t end = offset + sizeof(*chunk) + room;

	scan->chunks++;
	if (chunk->committed > room || chunk->committed % TRACE_ALIGN)
		reader_note(reader, "offset %zu: chunk claims %llu bytes of records", offset,
			(unsigned long long)chunk->committed);
	else if (chunk->home)
		end = offset + sizeof(*chunk) + chunk->committed;
	if (end > scan->end)
		scan->end = end;
}

/* Copies made after the file's size was read are ignored. */
static int has_grown(const struct chunk_scan *scan, uint64_t end)
{
	const struct trace_reader *reader = scan->reader;
	struct stat now;

	return end > reader->size && reader->fd >= 0 && !fstat(reader->fd, &now) &&
		(uint64_t)now.st_size > reader->size && reader->size < TRACE_MOST_BYTES;
}

/* Of a ring: what is no longer part of it, or not yet. */
static int is_left_out(const struct trace_reader *reader, const struct chunk_header *chunk)
{
	uint32_t generation = reader->header->ring.generation;

	return chunk->home &&
		((chunk->before && chunk->before <= generation) ||
			(chunk->home == 1 && chunk->round >> 32 > generation));
}

static int find_copy(struct chunk_scan *scan, uint32_t number, const struct chunk_header *chunk)
{
	struct trace_reader *reader = scan->reader;
	size_t offset = offset_of(reader, number);
	struct window *home;

	if (chunk->magic != TRACE_CHUNK_MAGIC) {
		reader_note(reader, "offset %zu: no chunk here", offset);
		return 0;
	}
	if (is_left_out(reader, chunk))
		return 0;
	if (has_grown(scan, offset + sizeof(*chunk) + chunk->committed))
		return 0;
	note_chunk(scan, offset, chunk);
	if (reader->copied && chunk->home)
		read_at(reader, offset, reader->base + offset,
			sizeof(*chunk) + reader_records(reader, offset, chunk->committed));
	/* A window, or one that was opened since. */
	if (!chunk->home || window_numbered(scan, number))
		return 0;
	home = window_numbered(scan, chunk->home - 1);
	if (!home && !is_window(reader, chunk->home - 1)) {
		reader_note(reader, "offset %zu: copy of chunk %u, which is no window", offset,
			chunk->home - 1);
	} else if (home) {
		home->copies++;
		if (chunk->round >= home->copied)
			home->copied = chunk->round + 1;
	}
	if (scan->copy_count == scan->copy_room) {
		size_t room = scan->copy_room ? 2 * scan->copy_room : 64;
		uint32_t *more = realloc(scan->copy, room * sizeof(*more));

		if (!more)
			return out_of_memory(reader);
		scan->copy = more;
		scan->copy_room = room;
	}
	scan->copy[scan->copy_count++] = number;
	scan->records += reader_records(reader, offset, chunk->committed);
	return 0;
}

/* The file may have grown: copies made after the windows were scanned are needed. */
static int grow(struct trace_reader *reader)
{
	struct stat now;
	size_t size;
	void *at;

	if (reader->fd < 0 || fstat(reader->fd, &now) || (uint64_t)now.st_size <= reader->size)
		return 0;
	size = (uint64_t)now.st_size < TRACE_MOST_BYTES ? (size_t)now.st_size
							: (size_t)TRACE_MOST_BYTES;
	lost_pages_unwatch(&reader->pages);
	at = mremap(reader->base, reader->mapped, size, MREMAP_MAYMOVE);
	if (at == MAP_FAILED) {
		lost_pages_watch(&reader->pages, reader->base, reader->mapped);
		return 0;
	}
	reader->base = at;
	reader->size = reader->mapped = size;
	lost_pages_watch(&reader->pages, at, size);
	return 0;
}

/* Chunks of a ring are used again: the rounds of a window tell their order. */
static int by_round(const void *a, const void *b, void *argument)
{
	const struct trace_reader *reader = argument;
	const struct chunk_header *x =
		(const void *)(reader->base + offset_of(reader, *(const uint32_t *)a));
	const struct chunk_header *y =
		(const void *)(reader->base + offset_of(reader, *(const uint32_t *)b));

	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	return (x->round > y->round) - (x->round < y->round);
}

/*
 * Chunks of a ring that is written to are not in the order of time: of a copy that was made after
 * the windows were scanned, the one before may be where the scan had been already.
 */
static void drop_after_gaps(struct chunk_scan *scan)
{
	const struct trace_reader *reader = scan->reader;
	const struct chunk_header *before = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < scan->window_count; i++)
		scan->window[i].copied = 0;
	for (size_t i = 0; i < scan->copy_count; i++) {
		const struct chunk_header *chunk =
			(const void *)(reader->base + offset_of(reader, scan->copy[i]));
		struct window *home = window_numbered(scan, chunk->home - 1);
		int follows =
			before && before->home == chunk->home && before->round + 1 == chunk->round;

		if (!home || (chunk->home > 1 && chunk->round > home->round && !follows))
			continue;
		home->copied = chunk->round + 1;
		before = chunk;
		scan->copy[kept++] = scan->copy[i];
	}
	scan->copy_count = kept;
}

/* Order: the first chunk, with the call table; then copies; then windows not copied since. */
static int put_in_order(struct chunk_scan *scan)
{
	struct trace_reader *reader = scan->reader;
	size_t count = 0;

	reader->order = calloc(scan->window_count + scan->copy_count + 1, sizeof(*reader->order));
	reader->window = calloc(scan->window_count + 1, sizeof(*reader->window));
	if (!reader->order || !reader->window)
		return out_of_memory(reader);
	if (scan->window_count && !scan->window[0].number)
		reader->order[count++] = 0;
	if (scan->copy_count && reader->header->ring.generation)
		qsort_r(scan->copy, scan->copy_count, sizeof(*scan->copy), by_round, reader);
	if (reader->copied)
		drop_after_gaps(scan);
	for (size_t i = 0; i < scan->copy_count; i++)
		reader->order[count++] = scan->copy[i];
	for (size_t i = 0; i < scan->window_count; i++) {
		const struct window *window = &scan->window[i];
		size_t offset = offset_of(reader, window->number);
		const struct chunk_header *chunk =
			(const struct chunk_header *)(reader->base + offset);

		reader->window[reader->window_count++] = window->number;
		if (window->number && window->round >= window->copied)
			reader->order[count++] = window->number;
		if (!window->number || window->round >= window->copied)
			scan->records += reader_records(reader, offset, chunk->committed);
		if (window->round > window->copies)
			scan->gaps += window->round - window->copies;
	}
	reader->order_count = count;
	return 0;
}

static void count_missing(struct chunk_scan *scan)
{
	struct trace_reader *reader = scan->reader;
	const struct file_header *header = reader->header;
	int64_t chunks = (int64_t)(header->chunks - (uint64_t)header->ring.fewer_chunks);
	int64_t written = (int64_t)(header->written - (uint64_t)header->ring.fewer_bytes);
	uint64_t missing = 0,
		 gaps = chunks > (int64_t)scan->chunks ? (uint64_t)chunks - scan->chunks : 0;

	if (gaps > UINT32_MAX)
		gaps = UINT32_MAX;
	/* A ring has rounds without their copies. */
	if (!header->ring.generation && scan->gaps > gaps)
		gaps = scan->gaps < UINT32_MAX ? scan->gaps : UINT32_MAX;
	missing = gaps * header->chunk_size;
	if (header->closed && !scan->changing && written > (int64_t)scan->records &&
		(uint64_t)written - scan->records > missing)
		missing = (uint64_t)written - scan->records;
	if (scan->end > reader->size && scan->end - reader->size > missing)
		missing = scan->end - reader->size;
	reader->missing = missing < INT64_MAX ? missing : INT64_MAX;
	if (header->closed && header->version_minor >= 1 && !header->written)
		reader_note(reader, "offset 0: closed, but its header gives no size");
}

int reader_find_chunks(struct trace_reader *reader)
{
	struct chunk_scan scan = { .reader = reader };
	int rc = for_each_chunk(&scan, find_window) || grow(reader) ||
			for_each_chunk(&scan, find_copy) || put_in_order(&scan)
		? -1
		: 0;

	if (!rc)
		count_missing(&scan);
	reader->damaged_chunks = reader->damaged;
	free(scan.window);
	free(scan.copy);
	return rc;
}
