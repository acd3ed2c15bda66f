/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAP_STEP_BYTES (32 << 20)      /* by which the heap grows */
#define MAPPED_BYTES ((size_t)32 << 20) /* of blocks with a mapping of their own, glibc's most */

int memory_exit_status = 2;

void memory_lacks(void)
{
	fputs("cufence: out of memory\n", stderr);
	exit(memory_exit_status);
}

void memory_advise(void *memory, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)memory & ~(page - 1);

	/* A failure means that there are none. */
	madvise((void *)from, (uintptr_t)memory + bytes - from, MADV_HUGEPAGE);
}

/* Advises where the heap has grown since. */
static void advise_heap(void)
{
	static _Atomic(char *) advised;
	char *end = sbrk(0), *from = atomic_exchange(&advised, end);

	if (from && end > from)
		memory_advise(from, (size_t)(end - from));
}

/* glibc would let the limit of mappings rise to that by itself, but not with such steps. */
__attribute__((constructor)) static void size_heap(void)
{
	mallopt(M_TOP_PAD, HEAP_STEP_BYTES);
	mallopt(M_MMAP_THRESHOLD, (int)MAPPED_BYTES);
	mallopt(M_TRIM_THRESHOLD, 2 * (int)MAPPED_BYTES);
	advise_heap();
}

static void *checked(void *memory, size_t bytes)
{
	if (!memory)
		memory_lacks();
	if (bytes >= MAPPED_BYTES)
		memory_advise(memory, bytes);
	else
		advise_heap();
	return memory;
}

void *xcalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *xrealloc(void *array, size_t count, size_t size)
{
	size_t before = array ? malloc_usable_size(array) : 0, bytes;
	void *memory;

	if (!before || before >= MAPPED_BYTES || __builtin_mul_overflow(count, size, &bytes) ||
		bytes < MAPPED_BYTES)
		return checked(reallocarray(array, count ? count : 1, size ? size : 1),
			count * size);
	/* It leaves the heap, and is copied once its new mapping is advised. */
	memory = checked(malloc(bytes), bytes);
	memcpy(memory, array, before);
	free(array);
	return memory;
}

char *xstrdup(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		memory_lacks();
	return copy;
}

char *xprintf(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		memory_lacks();
	return text;
}

void *array_grown(void *array, size_t count, size_t size)
{
	return count & (count - 1) ? array : xrealloc(array, count ? 2 * count : 1, size);
}
