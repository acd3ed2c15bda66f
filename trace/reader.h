/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace file and checks all of it: whatever trace_next() returns is a whole record of
 * its type whose inner counts and lengths fit into it, so that callers need no checks of their
 * own.  A file still being written or left by a killed process is valid up to its commit
 * offsets.  A damaged one fails with the file offset.
 *
 * One reader per thread; records point into the mapped file and live until trace_close().
 */
#ifndef CUFENCE_READER_H
#define CUFENCE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

struct trace_reader {
	const uint8_t *base;      /* the mapped file */
	size_t size;
	int mapped;               /* base is ours to unmap */
	const struct file_header *header;
	size_t chunk;             /* offset of the current chunk, 0 before the first */
	int in_windows;           /* copies come first, then windows */
	uint64_t *copied;         /* by chunk number: rounds of that window that were copied */
	size_t chunk_count;
	size_t position, limit;   /* in the file; between them the current chunk's records */
	uint32_t thread;          /* kernel thread id of the current chunk's writer */
	uint8_t *call_fields;     /* by call number: 1 + field count, 0: call unknown */
	char error[256];          /* after -1: what is wrong and where */
};

/* 0, or -1 with reader->error set; the reader is to be closed in both cases. */
int trace_open(struct trace_reader *reader, const char *path);

/* The same on bytes in memory, which stay the caller's (fuzzing, tests). */
int trace_open_memory(struct trace_reader *reader, const void *bytes, size_t size);

/*
 * 1 and the next record, those of a thread in the order they were written; 0 at the end; -1 with
 * reader->error if it is damaged.
 */
int trace_next(struct trace_reader *reader, const struct record **record);

/* Back to before the first record. */
void trace_rewind(struct trace_reader *reader);

/* Records stay valid, but the file's pages need no memory until they are looked at again. */
void trace_forget(const struct trace_reader *reader);

void trace_close(struct trace_reader *reader);

/* Size in bytes of a record, padding included. */
static inline size_t record_bytes(const struct record *record)
{
	return (size_t)record->words * TRACE_ALIGN;
}

/* Ticks a call lasted. */
static inline uint64_t call_duration(const struct call_record *call)
{
	return (uint64_t)call->duration * (call->head.flags & CALL_LONG ? CALL_LONG_UNIT : 1);
}

/* Number of addresses in a site record. */
static inline unsigned site_frames(const struct site_record *site)
{
	return (unsigned)((record_bytes(&site->head) - sizeof(*site)) / sizeof(site->address[0]));
}

#endif
