/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a trace file from many threads without a lock on the way of a record: each thread owns
 * a window of the file, appends to it and publishes the new length with one release store.  A full
 * window is copied to the file's end by write(2): fresh pages of a mapping cost twice as much as
 * the copy, and the window stays in the cache.  Space is allocated on disk before a window is
 * mapped, so that a full disk shows as a refused window (a counted drop) and never as SIGBUS.
 * That is what a thread gets whose window somebody else cuts off the file: whoever handles it calls
 * trace_lose().
 *
 * It lives in somebody else's process: needs libc only, never allocates from the heap, never
 * prints, leaves errno to the caller to save.
 */
#ifndef CUFENCE_WRITER_H
#define CUFENCE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "record.h"

/* Threads that write at a time and survive that the file is cut. */
#define TRACE_WINDOWS 8192

/* For records, in one chunk. */
#define TRACE_CHUNK_SPACE (TRACE_CHUNK_SIZE - (uint32_t)sizeof(struct chunk_header))

/* What the creator knows of the process. */
struct trace_start {
	uint32_t pid, parent_pid;
	uint32_t clock;    /* enum trace_clock */
	uint64_t features; /* enum trace_feature */
	uint64_t realtime_ns;
};

/*
 * One per process; zero-initialized is "not open".  The descriptor is one among the program's,
 * which may close all it does not know and then open files of its own at the same number: before
 * each use it is asked whether it still is the trace, and if not, the file is opened again by name.
 */
struct trace_writer {
	int fd;
	uint64_t device, inode; /* of the file */
	char path[4096];
	struct file_header *header; /* mapped; NULL while not open */
	uint64_t max_bytes;         /* of the file, 0: no limit */
	int full;                   /* errno: no more chunks, records are dropped; 0: not yet */
	uint64_t extent;            /* bytes that the file had: with less, it was cut */
	int cut, header_lost;       /* it was; the header is no longer the file's */
	struct trace_start start;
	uintptr_t window[TRACE_WINDOWS]; /* mapped, 0: none; without those that were too many */
	unsigned windows;                /* places in use, at most */
};

/* One per thread; zero-initialized is "no chunk yet". */
struct trace_chunk {
	struct chunk_header *header; /* mapped; NULL: none */
	uint32_t used;               /* bytes of records written, committed or not */
	uint32_t thread;             /* kernel thread id */
	uint32_t number;             /* of the window in the file */
	uint32_t place;              /* 1 + its place in trace_writer.window, 0: none */
	uint64_t written;            /* bytes of records since the window was opened */
};

/* What a file's name ends with until its call table is there. */
#define TRACE_UNFINISHED ".new"

/*
 * Creates the file (mode 0600, never following a link) and writes the call table: 0 or -errno,
 * -EEXIST if there is one of that name.
 */
int trace_create(struct trace_writer *writer, const char *path, const struct trace_start *start);

/*
 * Says how much was written and marks the file closed in order.  Everything stays mapped: other
 * threads may still be writing.
 */
void trace_finish(struct trace_writer *writer);

/* Takes that back: more is being written. */
void trace_reopen(struct trace_writer *writer);

/* Forgets the file without touching it: in a forked child, whose parent goes on writing. */
void trace_abandon(struct trace_writer *writer);

/*
 * Room for a record of bytes (any number up to RECORD_MAX_BYTES, rounded up to 8), zeroed, head
 * filled in; NULL and a counted drop if there is none.  The caller fills in the rest and calls
 * trace_commit() before it asks for another one.
 */
void *trace_reserve(struct trace_writer *writer, struct trace_chunk *chunk, size_t bytes,
	enum record_type type);

/* The same where the window has room, else NULL and nothing done: bytes is a multiple of 8. */
static inline void *trace_reserve_here(struct trace_chunk *chunk, size_t bytes,
	enum record_type type)
{
	struct record *record;

	if (!chunk->header || chunk->used + bytes > TRACE_CHUNK_SPACE)
		return NULL;
	record = (struct record *)((char *)(chunk->header + 1) + chunk->used);
	chunk->used += (uint32_t)bytes;
	chunk->written += bytes;
	record->words = (uint16_t)(bytes / TRACE_ALIGN);
	record->type = (uint8_t)type;
	return record;
}

/* Publishes all that was reserved from this chunk. */
static inline void trace_commit(struct trace_chunk *chunk)
{
	if (chunk->header)
		__atomic_store_n(&chunk->header->committed, chunk->used, __ATOMIC_RELEASE);
}

/*
 * Takes back the last record, of bytes and committed: it has been superseded.  written is
 * chunk->written as it was right behind the record; if more has been written since, nothing
 * happens.
 */
static inline void trace_take_back(struct trace_chunk *chunk, size_t bytes, uint64_t written)
{
	uint64_t *word;

	if (chunk->written != written || chunk->used < bytes)
		return;
	chunk->used -= (uint32_t)bytes;
	chunk->written -= bytes;
	trace_commit(chunk);
	word = (uint64_t *)((char *)(chunk->header + 1) + chunk->used);
	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		__atomic_store_n(&word[i], 0, __ATOMIC_RELEASE);
}

/* Copies what the window holds to the file's end now, where the chunk has one. */
void trace_empty(struct trace_writer *writer, struct trace_chunk *chunk);

/* Unmaps the window: its records stay, the rest of its space is unused. */
void trace_chunk_close(struct trace_writer *writer, struct trace_chunk *chunk);

/*
 * For a handler of SIGBUS: 1 if the address is in a mapping of the file, which is memory of the
 * process's own from here on; nothing is written to the file any more but that it was cut.
 */
int trace_lose(struct trace_writer *writer, uintptr_t address);

/* Adds to one of the file's counters; does nothing while not open. */
void trace_count(struct trace_writer *writer, enum trace_counter counter, uint64_t n);

#endif
