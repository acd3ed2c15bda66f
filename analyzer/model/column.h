/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of rows by number that may exceed memory.  Beyond SCRATCH_MEMORY_BYTES, rows are stored in
 * an unlinked file, so that memory pressure writes them to disk instead of failing.  A page of the
 * file costs several times as much as one of memory, so smaller runs use memory only.  All columns
 * of a run share both.  A column reserves addresses for its maximum number of rows, so that rows
 * never move and form one array; space for a chunk of rows is allocated when its first row is
 * needed.
 *
 *	struct scratch scratch;
 *	struct column column;
 *	if (scratch_open(&scratch) || column_open(&column, &scratch, sizeof(struct row), most))
 *		return -1;
 *	row = column_need(&column, number);
 *
 * Of a large file (scratch_file.h) only a part is resident (resident.h).  Single-threaded.
 */
#ifndef CUFENCE_COLUMN_H
#define CUFENCE_COLUMN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COLUMN_CHUNK ((uint64_t)1 << 18)         /* rows */
#define SCRATCH_MEMORY_BYTES ((size_t)256 << 20) /* of chunks, which may be partly unused */

struct scratch {
	const char *folder;
	int file; /* -1: none */
	off_t size;
	size_t memory; /* bytes of chunks in memory */
};

struct column {
	struct scratch *scratch;
	unsigned char *rows;
	size_t row_size;
	uint64_t most, room; /* maximum number of rows, and rows with allocated space */
	uint64_t count;      /* highest needed number + 1 */
};

/* Returns 0, or -1 after a message. */
int scratch_open(struct scratch *scratch);
void scratch_close(struct scratch *scratch);

/*
 * Opens an empty column. most: greater than the highest number.  Returns 0, or -1 after a message.
 */
int column_open(struct column *column, struct scratch *scratch, size_t row_size, uint64_t most);

/* Returns the row of a number below most, zeroed if new; NULL after a message. */
void *column_need(struct column *column, uint64_t number);

/* Zero-initialized means closed. */
void column_close(struct column *column);

/*
 * Sorts the rows stably; compare() as in qsort().  Sorted rows are only scanned once.  Returns 0,
 * or -1 after a message.
 */
void column_sort(struct column *column, int (*compare)(const void *, const void *));

#endif
