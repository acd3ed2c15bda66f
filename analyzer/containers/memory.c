/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int memory_exit_status = 2;

void memory_lacks(void)
{
	fputs("cufence: out of memory\n", stderr);
	exit(memory_exit_status);
}

void *xcalloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (!memory)
		memory_lacks();
	return memory;
}

void *xrealloc(void *array, size_t count, size_t size)
{
	void *memory = reallocarray(array, count ? count : 1, size ? size : 1);

	if (!memory)
		memory_lacks();
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
