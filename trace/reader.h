/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a trace file and checks all of it: whatever trace_next() returns is a whole record of
 * its type whose inner counts and lengths fit into it, so that callers need no checks of their
 * own.  What is not whole is passed over and counted: a record whose size is known alone, else the
 * rest of its chunk.
 *
 * A file may still be written to.  It is read as it is when it is opened: its size is asked for
 * once, and what may still change, its windows, is copied up to the commit offsets.  A file that
 * becomes shorter has zeros at its end.
 *
 * One reader per thread; records point into the mapped file and live until trace_close().
 */
#ifndef CUFENCE_READER_H
#define CUFENCE_READER_H

#include <stddef.h>
#include <stdint.h>

#include "lost_pages.h"
#include "record.h"

struct trace_reader {
	uint8_t *base; /* the mapped file */
	size_t size;
	size_t mapped; /* bytes of base that are ours to unmap */
	struct lost_pages pages;
	int fd;                           /* while it is opened; -1: bytes in memory */
	uint64_t device, inode;           /* of the file, 0 of bytes in memory */
	struct file_header start;         /* as it was when the file was opened */
	const struct file_header *header; /* start; NULL: not opened */
	uint32_t *order; /* numbers of chunks in the order in which they are read */
	size_t order_count, next;
	uint32_t *window; /* numbers of windows, in ascending order */
	size_t window_count;
	size_t chunk;           /* offset of the current chunk, 0 before the first */
	size_t position, limit; /* in the file; between them the current chunk's records */
	uint32_t thread;        /* kernel thread id of the current chunk's writer */
	uint8_t *call_fields;   /* by call number: 1 + field count, 0: call unknown */
	/* What is wrong with it, of all when trace_next() has returned 0. */
	uint64_t missing;        /* bytes, at least: it says it has more than there is */
	uint64_t damaged;        /* records and chunks that were passed over */
	uint64_t damaged_chunks; /* of them, those found when it was opened */
	char error[256];         /* the first of these, or why it cannot be opened; "": none */
};

/*
 * 0, or -1 with reader->error set: there is no such file, or no trace of this format in it.  The
 * reader is to be closed in both cases, and may not be moved until then.
 */
int trace_open(struct trace_reader *reader, const char *path);

/* The same on bytes in memory, which stay the caller's (fuzzing, tests). */
int trace_open_memory(struct trace_reader *reader, const void *bytes, size_t size);

/* 1 and the next record, those of a thread in the order they were written; 0 at the end. */
int trace_next(struct trace_reader *reader, const struct record **record);

/* Back to before the first record. */
void trace_rewind(struct trace_reader *reader);

/* At the end: 1 if all that the file says it has was there and whole. */
int trace_is_whole(const struct trace_reader *reader);

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
