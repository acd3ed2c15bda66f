/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded before libcufence.so, refuses what it asks the system for:
 *
 *	FAIL_NTH=N          its N-th request, counted from 1
 *	FAIL_FROM=N         that one and all after it
 *	FAIL_BYTES=N        each mmap of so many bytes
 *	FAIL_REPORT=FILE    gets the number of requests made, when the process ends
 *
 * Requests are mmap, open, fallocate, pwrite and rename from the recorder's code; others go by.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static _Atomic unsigned long requests;

static unsigned long number(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : 0;
}

/* 1 if the caller is the recorder and this request of its is to fail. */
static int refuse(const void *caller, size_t bytes)
{
	unsigned long mine, nth = number("FAIL_NTH"), from = number("FAIL_FROM");
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libcufence.so"))
		return 0;
	mine = ++requests;
	return mine == nth || (from && mine >= from) || (bytes && bytes == number("FAIL_BYTES"));
}

__attribute__((destructor))
static void report(void)
{
	const char *path = getenv("FAIL_REPORT");
	FILE *out = path && requests ? fopen(path, "w") : NULL;

	if (!out)
		return;
	fprintf(out, "%lu\n", requests);
	fclose(out);
}

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (refuse(__builtin_return_address(0), bytes)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

EXPORT int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
	if (refuse(__builtin_return_address(0), 0)) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	if (refuse(__builtin_return_address(0), 0)) {
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

EXPORT int rename(const char *from, const char *to)
{
	if (refuse(__builtin_return_address(0), 0)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_rename, from, to);
}

EXPORT int open(const char *path, int flags, ...)
{
	va_list more;
	int mode = 0;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_start(more, flags);
		mode = va_arg(more, int);
		va_end(more);
	}
	if (refuse(__builtin_return_address(0), 0)) {
		errno = EMFILE;
		return -1;
	}
	return openat(AT_FDCWD, path, flags, mode);
}
