/* SPDX-License-Identifier: Apache-2.0 */
#include "column.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "print.h"
#include "resident.h"
#include "scratch_file.h"

static int fail(const struct scratch *scratch, int error)
{
	print(stderr, "cufence: no scratch space in '%s': %s; set TMPDIR to another folder\n",
		scratch->folder, strerror(error));
	return -1;
}

int scratch_open(struct scratch *scratch)
{
	*scratch = (struct scratch){ 0 };
	scratch->file = scratch_file_open(&scratch->folder);
	return scratch->file < 0 ? fail(scratch, errno) : 0;
}

void scratch_close(struct scratch *scratch)
{
	if (scratch->file >= 0)
		close(scratch->file);
	scratch->file = -1;
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

int column_open(struct column *column, struct scratch *scratch, size_t row_size, uint64_t most)
{
	void *rows = mmap(NULL, whole_pages(most * row_size), PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*column = (struct column){ .scratch = scratch, .row_size = row_size, .most = most };
	if (rows == MAP_FAILED) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	column->rows = rows;
	return 0;
}

/* Allocate space before mapping it: a store to an unallocated page raises SIGBUS. */
static int map_file(struct scratch *scratch, void *at, size_t bytes)
{
	int error = posix_fallocate(scratch->file, scratch->size, (off_t)bytes);

	if (error)
		return fail(scratch, error);
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, scratch->file,
		    scratch->size) == MAP_FAILED)
		return fail(scratch, errno);
	scratch->size += (off_t)bytes;
	resident_add(resident_of_process(), at, bytes);
	return 0;
}

static int add_chunk(struct column *column)
{
	struct scratch *scratch = column->scratch;
	uint64_t left = column->most - column->room;
	uint64_t rows = left < COLUMN_CHUNK ? left : COLUMN_CHUNK;
	size_t bytes = whole_pages(rows * column->row_size);
	unsigned char *at = column->rows + column->room * column->row_size;

	if (scratch->memory + bytes <= SCRATCH_MEMORY_BYTES &&
		!mprotect(at, bytes, PROT_READ | PROT_WRITE))
		scratch->memory += bytes;
	else if (map_file(scratch, at, bytes))
		return -1;
	column->room += rows;
	return 0;
}

void *column_need(struct column *column, uint64_t number)
{
	while (number >= column->room)
		if (add_chunk(column))
			return NULL;
	if (number >= column->count)
		column->count = number + 1;
	return column->rows + number * column->row_size;
}

void column_close(struct column *column)
{
	size_t bytes = whole_pages(column->most * column->row_size);

	if (column->rows) {
		resident_remove(resident_of_process(), column->rows, bytes);
		munmap(column->rows, bytes);
	}
	*column = (struct column){ 0 };
}

/* --- order --- */

static int is_sorted(const struct column *column, int (*compare)(const void *, const void *))
{
	for (uint64_t i = 1; i < column->count; i++)
		if (compare(column->rows + (i - 1) * column->row_size,
			    column->rows + i * column->row_size) > 0)
			return 0;
	return 1;
}

/* Merges two adjacent sorted parts. */
static void merge(unsigned char *to, const unsigned char *from, const unsigned char *middle,
	const unsigned char *end, size_t size, int (*compare)(const void *, const void *))
{
	const unsigned char *low = from, *high = middle;

	for (; low < middle || high < end; to += size) {
		const unsigned char **next =
			high == end || (low < middle && compare(low, high) <= 0) ? &low : &high;

		memcpy(to, *next, size);
		*next += size;
	}
}

void column_sort(struct column *column, int (*compare)(const void *, const void *))
{
	size_t size = column->row_size, bytes = column->count * size;
	unsigned char *spare;

	if (is_sorted(column, compare))
		return;
	spare = xrealloc(NULL, column->count, size);
	for (size_t run = size; run < bytes; run *= 2) {
		memcpy(spare, column->rows, bytes);
		for (size_t at = 0; at < bytes; at += 2 * run) {
			size_t middle = at + run < bytes ? at + run : bytes;
			size_t end = at + 2 * run < bytes ? at + 2 * run : bytes;

			merge(column->rows + at, spare + at, spare + middle, spare + end, size,
				compare);
		}
	}
	free(spare);
}
