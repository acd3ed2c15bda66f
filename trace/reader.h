/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and validates a trace file.  Each record from trace_next() is complete, and its inner
 * counts and lengths fit into it, so callers need no checks of their own.  A damaged record is
 * skipped and counted; if its size is invalid, the rest of its chunk is skipped.
 *
 * A file may still be written to.  It is read as it was when opened: its size is read once, and its
 * windows, which may still change, are copied up to the commit offsets.  A file that becomes
 * shorter reads as zeros at its end.
 *
 * One reader per thread; records point into the mapped file and are valid until trace_close().
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
	size_t mapped; /* bytes of base that were mapped */
	struct lost_pages pages;
	int copied; /* all is copied, not windows only: a ring's chunks are used again */
	int fd;     /* while it is being opened; -1: bytes in memory */
	uint64_t device, inode;           /* of the file, 0 of bytes in memory */
	struct file_header start;         /* as read when the file was opened */
	const struct file_header *header; /* start; NULL: not opened */
	uint32_t *order;                  /* chunk numbers in reading order */
	size_t order_count, next;
	uint32_t *window; /* numbers of windows, in ascending order */
	size_t window_count;
	size_t chunk;           /* offset of the current chunk, 0 before the first */
	size_t position, limit; /* in the file; between them the current chunk's records */
	uint32_t thread;        /* kernel thread id of the current chunk's writer */
	uint8_t *call_fields;   /* by call number: 1 + field count, 0: call unknown */
	/* Damage; complete once trace_next() has returned 0. */
	uint64_t missing; /* lower bound: bytes that the header promises beyond those found */
	uint64_t damaged; /* records and chunks that were skipped */
	uint64_t damaged_chunks; /* the part of them found when opening */
	char error[256];         /* the first problem, or why opening failed; "": none */
};

/*
 * Returns 0, or -1 with reader->error set if the file does not exist or is not a trace of this
 * format.  Close the reader in both cases, and do not move it until then.
 */
int trace_open(struct trace_reader *reader, const char *path);

/* The same for bytes in memory, which the caller keeps (fuzzing, tests). */
int trace_open_memory(struct trace_reader *reader, const void *bytes, size_t size);

/*
 * Returns 1 and the next record, or 0 at the end.  Records of a thread come in the order they were
 * written.
 */
int trace_next(struct trace_reader *reader, const struct record **record);

/* Moves back before the first record. */
void trace_rewind(struct trace_reader *reader);

/* At the end: 1 if everything that the header promises was present and undamaged. */
int trace_is_whole(const struct trace_reader *reader);

/* Releases the file's pages from memory; records stay valid and are read again on access. */
void trace_forget(const struct trace_reader *reader);

void trace_close(struct trace_reader *reader);

/* Whether a process, of whatever pid namespace, holds the lock on its trace: it is alive. */
int trace_is_locked(int fd);

/* Size in bytes of a record, padding included. */
static inline size_t record_bytes(const struct record *record)
{
	return (size_t)record->words * TRACE_ALIGN;
}

/* Duration of a call in ticks. */
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
