/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALL_NUMBERS 65536

__attribute__((format(printf, 2, 3)))
static int damaged(struct trace_reader *reader, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vsnprintf(reader->error, sizeof(reader->error), format, values);
	va_end(values);
	return -1;
}

static int check_header(struct trace_reader *reader)
{
	const struct file_header *header = (const struct file_header *)reader->base;

	if (reader->size < sizeof(*header) || memcmp(header->magic, TRACE_MAGIC, 8))
		return damaged(reader, "not a cufence trace");
	if (header->version_major != TRACE_VERSION_MAJOR)
		return damaged(reader, "trace format %u.%u; this program reads %u.x",
			header->version_major, header->version_minor, TRACE_VERSION_MAJOR);
	if (header->header_size < sizeof(*header) || header->header_size % TRACE_ALIGN ||
		header->header_size > reader->size)
		return damaged(reader, "offset 12: header size %u", header->header_size);
	if (header->chunk_size <= sizeof(struct chunk_header) || header->chunk_size % TRACE_ALIGN)
		return damaged(reader, "offset 16: chunk size %u", header->chunk_size);
	reader->header = header;
	return 0;
}

static const struct chunk_header *chunk_at(const struct trace_reader *reader, size_t offset)
{
	return (const struct chunk_header *)(reader->base + offset);
}

void trace_forget(const struct trace_reader *reader)
{
	if (reader->mapped)
		madvise((void *)reader->base, reader->size, MADV_DONTNEED);
}

/* Instead of a number of rounds: this chunk is no window and need not be looked at for one. */
#define IS_COPY UINT64_MAX

/* Which windows have been copied up to which round: what a copy holds is not read again. */
static int find_copies(struct trace_reader *reader)
{
	size_t first = reader->header->header_size, size = reader->header->chunk_size;

	reader->chunk_count = (reader->size - first) / size +
		((reader->size - first) % size >= sizeof(struct chunk_header));
	reader->copied = calloc(reader->chunk_count + 1, sizeof(*reader->copied));
	if (!reader->copied)
		return damaged(reader, "out of memory");
	for (size_t i = 0; i < reader->chunk_count; i++) {
		const struct chunk_header *chunk = chunk_at(reader, first + i * size);

		/* The kernel maps what is around each of them, too. */
		if (i % 256 == 0)
			trace_forget(reader);
		if (chunk->magic != TRACE_CHUNK_MAGIC || !chunk->home ||
			chunk->home > reader->chunk_count)
			continue;
		if (chunk->round >= reader->copied[chunk->home - 1])
			reader->copied[chunk->home - 1] = chunk->round + 1;
		reader->copied[i] = IS_COPY;
	}
	return 0;
}

static int open_bytes(struct trace_reader *reader)
{
	reader->call_fields = calloc(CALL_NUMBERS, 1);
	if (!reader->call_fields)
		return damaged(reader, "out of memory");
	return check_header(reader) || find_copies(reader) ? -1 : 0;
}

int trace_open_memory(struct trace_reader *reader, const void *bytes, size_t size)
{
	*reader = (struct trace_reader){ .base = bytes, .size = size };
	return open_bytes(reader);
}

int trace_open(struct trace_reader *reader, const char *path)
{
	struct stat st;
	void *at = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*reader = (struct trace_reader){ 0 };
	if (fd < 0)
		return damaged(reader, "cannot open: %s", strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return damaged(reader, "empty or not a regular file");
	reader->base = at;
	reader->size = (size_t)st.st_size;
	reader->mapped = 1;
	return open_bytes(reader);
}

void trace_close(struct trace_reader *reader)
{
	if (reader->mapped)
		munmap((void *)reader->base, reader->size);
	free(reader->call_fields);
	free(reader->copied);
	reader->copied = NULL;
	reader->base = NULL;
	reader->header = NULL;
	reader->call_fields = NULL;
	reader->mapped = 0;
}

void trace_rewind(struct trace_reader *reader)
{
	reader->chunk = reader->position = reader->limit = 0;
	reader->in_windows = 0;
	reader->thread = 0;
	/* Records are judged by what comes before them, as in the first round. */
	memset(reader->call_fields, 0, CALL_NUMBERS);
}

static size_t chunk_number(const struct trace_reader *reader)
{
	return (reader->chunk - reader->header->header_size) / reader->header->chunk_size;
}

/* Is this chunk's turn now?  The first, with the call table, comes before all others. */
static int is_due(const struct trace_reader *reader, const struct chunk_header *chunk)
{
	size_t number = chunk_number(reader);

	if (number == 0)
		return !reader->in_windows;
	if (chunk->home)
		return !reader->in_windows;
	return reader->in_windows && chunk->round >= reader->copied[number];
}

/* Moves to the next used chunk: 1, or 0 when there is none, or -1. */
static int next_chunk(struct trace_reader *reader)
{
	const struct file_header *header = reader->header;

	for (;;) {
		const struct chunk_header *chunk;
		uint64_t committed;

		reader->chunk = reader->chunk ? reader->chunk + header->chunk_size
					      : header->header_size;
		if (reader->chunk > reader->size ||
			reader->size - reader->chunk < sizeof(*chunk)) {
			if (reader->in_windows)
				return 0;
			reader->in_windows = 1;
			reader->chunk = 0;
			continue;
		}
		if (reader->in_windows && reader->copied[chunk_number(reader)] == IS_COPY)
			continue;
		chunk = chunk_at(reader, reader->chunk);
		committed = __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE);
		if ((chunk->magic == 0 && committed == 0) || !is_due(reader, chunk))
			continue;
		if (chunk->magic != TRACE_CHUNK_MAGIC)
			return damaged(reader, "offset %zu: no chunk here", reader->chunk);
		if (committed > header->chunk_size - sizeof(*chunk) || committed % TRACE_ALIGN ||
			committed > reader->size - reader->chunk - sizeof(*chunk))
			return damaged(reader, "offset %zu: chunk claims %llu bytes of records",
				reader->chunk, (unsigned long long)committed);
		reader->position = reader->chunk + sizeof(*chunk);
		reader->limit = reader->position + (size_t)committed;
		reader->thread = chunk->thread;
		return 1;
	}
}

/* Does a record of this size hold a fixed part and count elements of size each? */
static int holds(size_t bytes, size_t fixed, uint64_t count, size_t size)
{
	return bytes >= fixed && count <= (bytes - fixed) / size;
}

static int call_is_whole(const struct trace_reader *reader, const struct call_record *call,
	size_t bytes)
{
	unsigned fields;
	size_t fixed;

	if (bytes < sizeof(*call) || !reader->call_fields[call->call])
		return 0;
	fields = reader->call_fields[call->call] - 1u;
	fixed = sizeof(*call) + fields * sizeof(uint64_t);
	return holds(bytes, fixed, call->pointer_count, call->head.flags & CALL_BUFFER
		? sizeof(uint64_t) : sizeof(struct launch_pointer));
}

static int call_type_is_whole(struct trace_reader *reader, const struct call_type_record *type,
	size_t bytes)
{
	if (bytes < sizeof(*type) || type->field_count == 255 ||
		!holds(bytes, sizeof(*type), (uint64_t)type->field_count + type->name_length, 1))
		return 0;
	/* One definition per number: a second one could make records read before it invalid. */
	if (reader->call_fields[type->call] &&
		reader->call_fields[type->call] != type->field_count + 1u)
		return 0;
	reader->call_fields[type->call] = (uint8_t)(type->field_count + 1);
	return 1;
}

/* 1: whole, 0: damaged, -1: a type of a later minor version. */
static int record_is_whole(struct trace_reader *reader, const struct record *record, size_t bytes)
{
#define AS(type) ((const struct type *)record)
#define FITS(type, count, size) \
	(bytes >= sizeof(struct type) && holds(bytes, sizeof(struct type), (count), (size)))
	switch (record->type) {
	case RECORD_CALL_TYPE:
		return call_type_is_whole(reader, AS(call_type_record), bytes);
	case RECORD_CALL:
		return call_is_whole(reader, AS(call_record), bytes);
	case RECORD_ENTER:
		return bytes >= sizeof(struct enter_record) &&
		       reader->call_fields[AS(enter_record)->call];
	case RECORD_DEVICE:
		return bytes >= sizeof(struct device_record);
	case RECORD_SITE:
		return bytes >= sizeof(struct site_record);
	case RECORD_MODULE:
		return FITS(module_record, AS(module_record)->path_length, 1);
	case RECORD_FUNCTION:
		if (!FITS(function_record, AS(function_record)->name_length, 1))
			return 0;
		if (AS(function_record)->parameter_count == FUNCTION_NO_PARAMETERS)
			return 1;
		return holds(bytes, sizeof(struct function_record) +
				AS(function_record)->name_length,
			AS(function_record)->parameter_count, sizeof(struct function_parameter));
	case RECORD_STRING:
		return FITS(string_record, AS(string_record)->length, 1);
	case RECORD_CONTEXT:
		return bytes >= sizeof(struct context_record);
	case RECORD_DEVICE_INFO:
		return FITS(device_info_record, AS(device_info_record)->name_length, 1);
	case RECORD_CALIBRATION:
		return bytes >= sizeof(struct calibration_record);
	case RECORD_PROPERTY:
		return FITS(property_record, (uint64_t)AS(property_record)->name_length +
			AS(property_record)->value_length, 1);
	case RECORD_THREAD:
		return FITS(thread_record, AS(thread_record)->name_length, 1);
	case RECORD_IMAGE:
		return FITS(image_record, AS(image_record)->length, 1);
	case RECORD_SYMBOL:
		return FITS(symbol_record, (uint64_t)AS(symbol_record)->function_length +
			AS(symbol_record)->file_length, 1);
	case RECORD_CODE:
		return FITS(code_record, (uint64_t)AS(code_record)->name_length +
			AS(code_record)->file_length + AS(code_record)->table_length, 1);
	case RECORD_WINDOW:
		return bytes >= sizeof(struct window_record);
	default:
		return record->type == 0 ? 0 : -1;
	}
#undef FITS
#undef AS
}

int trace_next(struct trace_reader *reader, const struct record **record)
{
	for (;;) {
		const struct record *at;
		size_t offset = reader->position, bytes;
		int rc;

		if (reader->position == reader->limit) {
			rc = next_chunk(reader);
			if (rc <= 0)
				return rc;
			continue;
		}
		at = (const struct record *)(reader->base + offset);
		bytes = record_bytes(at);
		if (bytes == 0 || bytes > reader->limit - offset)
			return damaged(reader, "offset %zu: record of %zu bytes", offset, bytes);
		rc = record_is_whole(reader, at, bytes);
		if (!rc)
			return damaged(reader, "offset %zu: damaged record of type %u", offset,
				at->type);
		reader->position += bytes;
		if (rc < 0)
			continue;
		if (at->type == RECORD_THREAD)
			reader->thread = ((const struct thread_record *)at)->thread;
		*record = at;
		return 1;
	}
}
