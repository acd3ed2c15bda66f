/* SPDX-License-Identifier: Apache-2.0 */
#include "large.h"

#include <fcntl.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"
#include "resident.h"
#include "scratch_file.h"

/* Before the elements. */
struct block {
	alignas(16) size_t bytes; /* with this */
	int file;                 /* -1: in memory */
};

/* For tests: a long run takes minutes. */
static size_t least_of_file(void)
{
	const char *bytes = getenv("CUFENCE_TEST_LARGE_BYTES");

	return bytes && *bytes ? strtoull(bytes, NULL, 10) : LARGE_BYTES;
}

static struct block *block_of(void *array)
{
	return (struct block *)array - 1;
}

/* A store to a page without space on the disk would raise SIGBUS.  Returns NULL without it. */
static struct block *map_file(int file, size_t bytes)
{
	struct block *block;

	if (posix_fallocate(file, 0, (off_t)bytes))
		return NULL;
	block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	return block == MAP_FAILED ? NULL : block;
}

static struct block *begin_file(size_t bytes)
{
	const char *folder;
	int file = scratch_file_open(&folder);
	struct block *block = file < 0 ? NULL : map_file(file, bytes);

	if (block) {
		*block = (struct block){ bytes, file };
		resident_add(resident_of_process(), block, bytes);
	} else if (file >= 0) {
		close(file);
	}
	return block;
}

static void end_file(struct block *block)
{
	int file = block->file;

	resident_remove(resident_of_process(), block, block->bytes);
	munmap(block, block->bytes);
	close(file);
}

/* A file is mapped once more, not copied. */
static struct block *grow_file(struct block *block, size_t bytes)
{
	struct block *bigger = map_file(block->file, bytes);

	if (!bigger)
		return NULL;
	resident_remove(resident_of_process(), block, block->bytes);
	munmap(block, block->bytes);
	bigger->bytes = bytes;
	resident_add(resident_of_process(), bigger, bytes);
	return bigger;
}

static struct block *in_memory(struct block *block, size_t bytes)
{
	block = xrealloc(block, 1, bytes);
	*block = (struct block){ bytes, -1 };
	return block;
}

static void copy(struct block *to, const struct block *from)
{
	memcpy(to + 1, from + 1, from->bytes - sizeof(*from));
}

static struct block *grow(struct block *block, size_t bytes)
{
	struct block *bigger;

	if (block && block->file >= 0) {
		bigger = grow_file(block, bytes);
		if (bigger)
			return bigger;
		/* The disk is full. */
		bigger = in_memory(NULL, bytes);
		copy(bigger, block);
		end_file(block);
		return bigger;
	}
	bigger = bytes < least_of_file() ? NULL : begin_file(bytes);
	if (!bigger)
		return in_memory(block, bytes);
	if (block)
		copy(bigger, block);
	free(block);
	return bigger;
}

static size_t bytes_of(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 4)
		memory_lacks();
	return bytes + sizeof(struct block);
}

void *large_need(void *array, size_t count, size_t size)
{
	struct block *block = array ? block_of(array) : NULL;
	size_t bytes = bytes_of(count, size), more = 0;

	if (block && bytes <= block->bytes)
		return array;
	/* Growing copies memory; a file it only makes longer. */
	if (block)
		more = block->bytes + (block->file < 0 ? block->bytes : block->bytes / 4);
	return grow(block, bytes > more ? bytes : more) + 1;
}

void *large_zeroed(size_t count, size_t size)
{
	size_t bytes = bytes_of(count, size);
	struct block *block = bytes < least_of_file() ? NULL : begin_file(bytes);

	if (!block) {
		block = xcalloc(1, bytes);
		*block = (struct block){ bytes, -1 };
	}
	return block + 1;
}

void large_free(void *array)
{
	if (!array)
		return;
	if (block_of(array)->file < 0)
		free(block_of(array));
	else
		end_file(block_of(array));
}
