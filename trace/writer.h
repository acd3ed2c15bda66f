/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a trace file from many threads.  Writing a record takes no lock: each thread owns a window
 * of the file, appends to it and publishes the new length with one release store.  A full window is
 * copied to the end of the file by write(2): fresh pages of a mapping cost twice as much as the
 * copy, and the window stays in the cache.  Space is allocated on disk before a window is mapped,
 * so that a full disk is an error and a counted drop instead of a SIGBUS. If another process
 * truncates the file, a thread does get SIGBUS; its handler calls trace_lose().
 *
 * The writer runs inside the user's process: it needs libc only, never allocates from the heap and
 * never prints.  The caller preserves errno.
 */
#ifndef CUFENCE_WRITER_H
#define CUFENCE_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record.h"

/* Maximum number of concurrent writers that survive a truncated file. */
#define TRACE_WINDOWS 8192

/* Bytes for records in one chunk. */
#define TRACE_CHUNK_SPACE (TRACE_CHUNK_SIZE - (uint32_t)sizeof(struct chunk_header))

/* Facts about the process that its creator supplies. */
struct trace_start {
	uint32_t pid, parent_pid;
	uint32_t clock;    /* enum trace_clock */
	uint64_t features; /* enum trace_feature */
	uint64_t realtime_ns;
};

/*
 * One per process; zero-initialized means "not open".  The program may close descriptors it does
 * not know and open files of its own at the same number.  Before each use the descriptor is
 * therefore checked, and the file is reopened by name if it is no longer the trace.
 */
struct trace_writer {
	int fd;
	uint64_t device, inode; /* of the file */
	char path[4096];
	struct file_header *header; /* mapped; NULL while not open */
	uint64_t max_bytes;         /* of the file, 0: no limit */
	int full;                   /* errno: no more chunks, records are dropped; 0: not full */
	uint64_t extent;      /* size of the file so far, bytes; a smaller file was truncated */
	int cut, header_lost; /* file was truncated; the header is no longer the file's */
	struct trace_start start;
	/* Mapped windows, 0: none; those beyond the limit are not listed. */
	uintptr_t window[TRACE_WINDOWS];
	unsigned windows; /* entries in use, at most */
};

/* One per thread; zero-initialized means "no chunk yet". */
struct trace_chunk {
	struct chunk_header *header; /* mapped; NULL: none */
	uint32_t used;               /* bytes of records written, committed or not */
	uint32_t thread;             /* kernel thread id */
	uint32_t number;             /* number of the window in the file */
	uint32_t place;              /* 1 + its index in trace_writer.window, 0: none */
	uint64_t written;            /* bytes of records since the window was opened */
};

/* Suffix of the file name until the call table is written. */
#define TRACE_UNFINISHED ".new"

/*
 * Creates the file (mode 0600, never following a link) and writes the call table.  Returns 0 or
 * -errno; -EEXIST if the name exists.
 */
int trace_create(struct trace_writer *writer, const char *path, const struct trace_start *start);

/*
 * Stores the number of bytes written and marks the file as closed.  Everything stays mapped: other
 * threads may still be writing.
 */
void trace_finish(struct trace_writer *writer);

/* Undoes trace_finish(): more will be written. */
void trace_reopen(struct trace_writer *writer);

/* Drops the file without touching it: for a forked child, whose parent continues to write. */
void trace_abandon(struct trace_writer *writer);

/*
 * Returns space for a record of bytes (up to RECORD_MAX_BYTES, rounded up to 8), zeroed, head
 * filled in; NULL and a counted drop if there is no space.  The caller fills in the rest and calls
 * trace_commit() before the next trace_reserve().
 */
void *trace_reserve(struct trace_writer *writer, struct trace_chunk *chunk, size_t bytes,
	enum record_type type);

/* The same if the window has space, else NULL without side effects; bytes is a multiple of 8. */
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

/*
 * The place of the record that announces a call in progress, after the last record of the window;
 * NULL: no room.  It has the layout of an enter record and is never reserved: the caller fills it,
 * the enter time last, and the next record must overwrite all of it.
 */
static inline struct enter_record *trace_announced(const struct trace_chunk *chunk)
{
	if (!chunk->header || chunk->used + ENTER_BYTES > TRACE_CHUNK_SPACE)
		return NULL;
	return (struct enter_record *)((char *)(chunk->header + 1) + chunk->used);
}

/* Call before a record is reserved that relies on zeros. */
static inline void trace_forget_announced(struct trace_chunk *chunk)
{
	struct enter_record *announced = trace_announced(chunk);

	if (announced && announced->head.words)
		memset(announced, 0, ENTER_BYTES);
}

/* Publishes everything reserved from this chunk. */
static inline void trace_commit(struct trace_chunk *chunk)
{
	if (chunk->header)
		__atomic_store_n(&chunk->header->committed, chunk->used, __ATOMIC_RELEASE);
}

/*
 * Removes the last record, which is committed and has this many bytes, because it was superseded.
 * written is chunk->written right after that record; if more has been written since, nothing
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

/* Copies the window's contents to the end of the file now, if the chunk has a window. */
void trace_empty(struct trace_writer *writer, struct trace_chunk *chunk);

/* Unmaps the window: its records stay, its remaining space is unused. */
void trace_chunk_close(struct trace_writer *writer, struct trace_chunk *chunk);

/*
 * For a SIGBUS handler: returns 1 if the address is in a mapping of the file.  The mapping is
 * replaced by private memory; the file only gets the mark that it was truncated.
 */
int trace_lose(struct trace_writer *writer, uintptr_t address);

/*
 * Locks the file, without waiting (fcntl(2), F_SETLK): the process is alive.  A child does not
 * inherit the lock, which closing any descriptor of the file gives up.
 */
void trace_lock(struct trace_writer *writer);

/* Adds to one of the file's counters; does nothing if the file is not open. */
void trace_count(struct trace_writer *writer, enum trace_counter counter, uint64_t n);

#endif
