/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of one size by number, of which there may be more than memory holds: beyond
 * SCRATCH_MEMORY_BYTES they lie in a file without a name, which memory pressure writes to instead
 * of failing.  A page of the file costs several times what one of memory does, so that smaller runs
 * do without.  All columns of a run share memory and file.  A column reserves addresses for the
 * most rows that it may get, so that its rows never move and are one array; a chunk of them takes
 * room when its first row is needed.
 *
 *	struct scratch scratch;
 *	struct column column;
 *	if (scratch_open(&scratch) || column_open(&column, &scratch, sizeof(struct row), most))
 *		return -1;
 *	row = column_need(&column, number);
 *
 * The file is in the folder TMPDIR, else in /var/tmp, else in /tmp.  One thread.
 */
#ifndef CUFENCE_COLUMN_H
#define CUFENCE_COLUMN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COLUMN_CHUNK ((uint64_t)1 << 18)         /* rows */
#define SCRATCH_MEMORY_BYTES ((size_t)256 << 20) /* of chunks, not all of which are used */

struct scratch {
	const char *folder;
	int file; /* -1: none */
	off_t size;
	size_t memory; /* bytes of chunks that are in no file */
};

struct column {
	struct scratch *scratch;
	unsigned char *rows;
	size_t row_size;
	uint64_t most, room; /* rows that there may be, and that have room */
	uint64_t count;      /* one more than the last one needed */
};

/* 0, or -1 after a message. */
int scratch_open(struct scratch *scratch);
void scratch_close(struct scratch *scratch);

/* Of no rows; 0, or -1 after a message.  most: at least 1 more than the last number. */
int column_open(struct column *column, struct scratch *scratch, size_t row_size, uint64_t most);

/* The row of a number below most, zeroed when it is new; NULL after a message. */
void *column_need(struct column *column, uint64_t number);

/* Zero-initialized is closed. */
void column_close(struct column *column);

/*
 * Puts the rows in order, those that are equal as they were; compare() as of qsort().  Rows that
 * are in order cost one look.  0, or -1 after a message.
 */
int column_sort(struct column *column, int (*compare)(const void *, const void *));

#endif
