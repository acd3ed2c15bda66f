/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"
#include "reader_chunks.h"
#include "since.h"

__attribute__((format(printf, 2, 3))) static int refuse(struct trace_reader *reader,
	const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(reader->error, sizeof(reader->error), format, values);
	va_end(values);
	return -1;
}

#define RING_TRIES 16

/* Members that the file's version lacks are zeros. */
static int read_header(struct trace_reader *reader)
{
	static const size_t of_version_0 = offsetof(struct file_header, written);
	struct file_header *header = &reader->start;
	ssize_t known = sizeof(*header);

	if (reader->fd >= 0) {
		known = pread(reader->fd, header, sizeof(*header), 0);
	} else {
		known = reader->size < sizeof(*header) ? (ssize_t)reader->size : known;
		memcpy(header, reader->base, (size_t)known);
	}
	if (known < 0)
		return refuse(reader, "cannot read: %s", strerror(errno));
	if (!known)
		return refuse(reader, "empty or not a regular file");
	if (known < (ssize_t)of_version_0)
		return refuse(reader, "not a cufence trace, or cut within its header");
	if (memcmp(header->magic, TRACE_MAGIC, 8))
		return refuse(reader, "not a cufence trace");
	if (header->version_major != TRACE_VERSION_MAJOR)
		return refuse(reader, "trace format %u.%u; this program reads %u.x",
			header->version_major, header->version_minor, TRACE_VERSION_MAJOR);
	if (header->header_size < of_version_0 || header->header_size % TRACE_ALIGN ||
		header->header_size > TRACE_CHUNK_MOST)
		return refuse(reader, "offset 12: header size %u", header->header_size);
	if (header->chunk_size < TRACE_CHUNK_LEAST || header->chunk_size > TRACE_CHUNK_MOST ||
		header->chunk_size % TRACE_ALIGN)
		return refuse(reader, "offset 16: chunk size %u", header->chunk_size);
	if (header->version_minor < 1 || header->header_size < sizeof(*header) ||
		known < (ssize_t)sizeof(*header))
		memset((char *)header + of_version_0, 0, sizeof(*header) - of_version_0);
	reader->header = header;
	return 0;
}

static int read_chunks(struct trace_reader *reader)
{
	if (reader->header->header_size > reader->size)
		return refuse(reader, "cut within its header");
	reader->call_fields = calloc(CALL_NUMBERS, 1);
	if (!reader->call_fields)
		return refuse(reader, "out of memory");
	reader->copied =
		reader->fd >= 0 && reader->header->ring.generation && !reader->header->closed;
	return reader_find_chunks(reader);
}

int trace_open_memory(struct trace_reader *reader, const void *bytes, size_t size)
{
	*reader = (struct trace_reader){ .base = (uint8_t *)(uintptr_t)bytes,
		.size = size,
		.fd = -1 };
	return read_header(reader) || read_chunks(reader) ? -1 : 0;
}

/* Private mapping: windows are copied into it. */
static int map_file(struct trace_reader *reader)
{
	struct stat file;
	void *at;

	if (fstat(reader->fd, &file) || !file.st_size)
		return refuse(reader, "empty or not a regular file");
	reader->device = file.st_dev;
	reader->inode = file.st_ino;
	reader->size = (uint64_t)file.st_size < TRACE_MOST_BYTES ? (size_t)file.st_size
								 : (size_t)TRACE_MOST_BYTES;
	at = mmap(NULL, reader->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
		reader->fd, 0);
	if (at == MAP_FAILED)
		return refuse(reader, "cannot map %zu bytes: %s", reader->size, strerror(errno));
	reader->base = at;
	reader->mapped = reader->size;
	lost_pages_watch(&reader->pages, at, reader->mapped);
	return 0;
}

/*
 * Chunks of a ring that are replaced are used again with the next generation but one (struct
 * trace_ring): what was copied meanwhile may be of both.
 */
static int is_mixed(const struct trace_reader *reader)
{
	struct file_header now;

	return reader->copied && pread(reader->fd, &now, sizeof(now), 0) == (ssize_t)sizeof(now) &&
		now.ring.generation > reader->start.ring.generation + 1;
}

static int open_once(struct trace_reader *reader, const char *path)
{
	struct stat file;
	int rc = -1;

	*reader = (struct trace_reader){ .fd = -1 };
	/* Opening a device may have side effects, and opening a pipe may block. */
	if (!stat(path, &file) && !S_ISREG(file.st_mode))
		return refuse(reader, "empty or not a regular file");
	reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (reader->fd < 0)
		return refuse(reader, "cannot open: %s", strerror(errno));
	/* Read the header first: what it counts is in the file before the size is read. */
	if (fstat(reader->fd, &file) || !S_ISREG(file.st_mode))
		refuse(reader, "empty or not a regular file");
	else
		rc = read_header(reader) || map_file(reader) || read_chunks(reader) ? -1 : 0;
	if (!rc && is_mixed(reader))
		rc = 1;
	close(reader->fd);
	reader->fd = -1;
	return rc;
}

int trace_open(struct trace_reader *reader, const char *path)
{
	for (int tries = 0; tries < RING_TRIES; tries++) {
		int rc = open_once(reader, path);

		if (rc <= 0)
			return rc;
		trace_close(reader);
	}
	return refuse(reader, "its oldest part is replaced faster than it can be read");
}

static size_t offset_of(const struct trace_reader *reader, uint32_t number)
{
	return reader->header->header_size + (size_t)number * reader->header->chunk_size;
}

/* Whole pages of [from, to) only: adjacent bytes may be private memory. */
static void release_pages(const struct trace_reader *reader, size_t from, size_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	from = (from + page - 1) / page * page;
	to = to / page * page;
	if (from < to)
		madvise(reader->base + from, to - from, MADV_DONTNEED);
}

void trace_forget(const struct trace_reader *reader)
{
	size_t from = 0;

	if (!reader->mapped || reader->copied)
		return;
	for (size_t i = 0; i < reader->window_count; i++) {
		size_t window = offset_of(reader, reader->window[i]);

		release_pages(reader, from, window);
		from = window + reader->header->chunk_size;
	}
	if (from < reader->size)
		release_pages(reader, from, reader->size);
}

void trace_close(struct trace_reader *reader)
{
	lost_pages_unwatch(&reader->pages);
	if (reader->mapped)
		munmap(reader->base, reader->mapped);
	free(reader->call_fields);
	free(reader->order);
	free(reader->window);
	reader->order = reader->window = NULL;
	reader->base = NULL;
	reader->header = NULL;
	reader->call_fields = NULL;
	reader->mapped = 0;
}

void trace_rewind(struct trace_reader *reader)
{
	reader->chunk = reader->position = reader->limit = 0;
	reader->next = 0;
	reader->thread = 0;
	reader->damaged = reader->damaged_chunks;
	/* Records are validated against earlier ones, as in the first pass. */
	memset(reader->call_fields, 0, CALL_NUMBERS);
}

int trace_is_whole(const struct trace_reader *reader)
{
	return !reader->missing && !reader->damaged && !reader->pages.lost;
}

/* Moves to the next chunk: 1, or 0 when there is none. */
static int next_chunk(struct trace_reader *reader)
{
	const struct chunk_header *chunk;

	if (reader->next == reader->order_count)
		return 0;
	reader->chunk = offset_of(reader, reader->order[reader->next++]);
	chunk = (const struct chunk_header *)(reader->base + reader->chunk);
	reader->position = reader->chunk + sizeof(*chunk);
	reader->limit = reader->position +
		reader_records(reader, reader->chunk,
			__atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE));
	reader->thread = chunk->thread;
	return 1;
}

/* Checks that bytes hold a fixed part and count elements of size each. */
static int holds(size_t bytes, size_t fixed, uint64_t count, size_t size)
{
	return bytes >= fixed && count <= (bytes - fixed) / size;
}

static int call_is_whole(const struct trace_reader *reader, const struct call_record *call,
	size_t bytes)
{
	unsigned fields;
	size_t fixed;

	if (!reader->call_fields[call->call])
		return 0;
	fields = reader->call_fields[call->call] - 1u;
	fixed = sizeof(*call) + fields * sizeof(uint64_t);
	return holds(bytes, fixed, call->pointer_count,
		call->head.flags & CALL_BUFFER ? sizeof(uint64_t) : sizeof(struct launch_pointer));
}

static int call_type_is_whole(struct trace_reader *reader, const struct call_type_record *type,
	size_t bytes)
{
	if (type->field_count == 255 ||
		!holds(bytes, sizeof(*type), (uint64_t)type->field_count + type->name_length, 1))
		return 0;
	/*
	 * Only one definition per number: a second one could invalidate records that were already
	 * read.
	 */
	if (reader->call_fields[type->call] &&
		reader->call_fields[type->call] != type->field_count + 1u)
		return 0;
	reader->call_fields[type->call] = (uint8_t)(type->field_count + 1);
	return 1;
}

static int function_is_whole(const struct function_record *function, size_t bytes)
{
	size_t fixed = sizeof(*function) + function->name_length;

	return bytes >= fixed &&
		(function->parameter_count == FUNCTION_NO_PARAMETERS ||
			holds(bytes, fixed, function->parameter_count,
				sizeof(struct function_parameter)));
}

/* Bytes of the strings after a record's fixed part. */
static uint64_t text_bytes(const struct record_layout *layout, const struct record *record)
{
	const char *at = (const char *)record + layout->length_offset;
	uint64_t sum = 0;
	uint16_t length;
	uint32_t whole;

	if (layout->tail != TAIL_TEXTS) {
		memcpy(&whole, at, sizeof(whole));
		return whole;
	}
	for (unsigned i = 0; layout->text[i]; i++) {
		memcpy(&length, at + i * sizeof(length), sizeof(length));
		sum += length;
	}
	return sum;
}

/* 1: complete, 0: damaged, -1: a type of a later minor version. */
static int record_is_whole(struct trace_reader *reader, const struct record *record, size_t bytes)
{
#define AS(type) ((const struct type *)record)
	const struct record_layout *layout = record_layouts;

	if (!record->type || record->type >= RECORD_TYPE_COUNT)
		return record->type ? -1 : 0;
	layout += record->type;
	if (bytes < layout->size)
		return 0;
	switch (record->type) {
	case RECORD_CALL_TYPE:
		return call_type_is_whole(reader, AS(call_type_record), bytes);
	case RECORD_CALL:
		return call_is_whole(reader, AS(call_record), bytes);
	case RECORD_ENTER:
		return reader->call_fields[AS(enter_record)->call] != 0;
	case RECORD_DEVICE:
		return AS(device_record)->device < TRACE_DEVICES;
	case RECORD_FUNCTION:
		return function_is_whole(AS(function_record), bytes);
	case RECORD_CONTEXT:
		return (uint32_t)AS(context_record)->device + 1 <= TRACE_DEVICES;
	case RECORD_DEVICE_INFO:
		if (AS(device_info_record)->device >= TRACE_DEVICES)
			return 0;
	}
	return !layout->length_offset || holds(bytes, layout->size, text_bytes(layout, record), 1);
#undef AS
}

/* A file can only lack data at its end; then that is the error to report. */
static void describe_missing(struct trace_reader *reader)
{
	if (reader->pages.lost)
		refuse(reader, "became shorter while it was read");
	else if (reader->missing && !reader->error[0])
		refuse(reader, "%llu bytes of what was written are missing",
			(unsigned long long)reader->missing);
}

int trace_next(struct trace_reader *reader, const struct record **record)
{
	for (;;) {
		const struct record *at;
		size_t offset = reader->position, bytes;
		int rc;

		if (reader->position == reader->limit) {
			if (next_chunk(reader))
				continue;
			describe_missing(reader);
			return 0;
		}
		at = (const struct record *)(reader->base + offset);
		bytes = record_bytes(at);
		if (bytes == 0 || bytes > reader->limit - offset) {
			reader_note(reader, "offset %zu: record of %zu bytes where %zu are left",
				offset, bytes, reader->limit - offset);
			reader->position = reader->limit;
			continue;
		}
		reader->position += bytes;
		rc = record_is_whole(reader, at, bytes);
		if (!rc)
			reader_note(reader, "offset %zu: damaged record of type %u", offset,
				at->type);
		if (rc <= 0)
			continue;
		if (at->type == RECORD_THREAD)
			reader->thread = ((const struct thread_record *)at)->thread;
		*record = at;
		return 1;
	}
}

int trace_is_locked(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_GETLK, &all) && all.l_type != F_UNLCK;
}
