/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded before libcufence.so, fails its system requests:
 *
 * FAIL_NTH=N          its N-th request, counted from 1
 * FAIL_FROM=N         that one and all later ones
 * FAIL_BYTES=N        each mmap of so many bytes
 * FAIL_SLOW=S         none, but creating a file takes so many seconds
 * FAIL_REPORT=FILE    receives the number of requests when the process ends
 *
 * Requests are mmap, open, fallocate, pwrite and rename by the recorder, which calls syscall();
 * other calls pass.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static _Atomic unsigned long requests;

static unsigned long number_of(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : 0;
}

/* 1 if the caller is the recorder and this request is to fail. */
static int refuse(const void *caller, size_t bytes)
{
	unsigned long mine, nth = number_of("FAIL_NTH"), from = number_of("FAIL_FROM");
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libcufence.so"))
		return 0;
	mine = ++requests;
	return mine == nth || (from && mine >= from) || (bytes && bytes == number_of("FAIL_BYTES"));
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("FAIL_REPORT");
	FILE *out = path && requests ? fopen(path, "w") : NULL;

	if (!out)
		return;
	fprintf(out, "%lu\n", requests);
	fclose(out);
}

/* The error for a request, 0: not a request. */
static int failure(long number)
{
	switch (number) {
	case SYS_mmap:
		return ENOMEM;
	case SYS_openat:
		return EMFILE;
	case SYS_fallocate:
	case SYS_pwrite64:
		return ENOSPC;
	case SYS_renameat2:
	case SYS_renameat:
		return EIO;
	default:
		return 0;
	}
}

static long ask_kernel(long number, const long *word)
{
	register long fourth __asm__("r10") = word[3];
	register long fifth __asm__("r8") = word[4];
	register long sixth __asm__("r9") = word[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(word[0]), "S"(word[1]), "d"(word[2]), "r"(fourth),
			 "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

static void be_slow(long number, long flags)
{
	struct timespec time = { (time_t)number_of("FAIL_SLOW"), 0 };

	if (number == SYS_openat && flags & O_CREAT && time.tv_sec)
		nanosleep(&time, NULL);
}

EXPORT long syscall(long number, ...)
{
	long word[6], result;
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		word[i] = va_arg(more, long);
	va_end(more);
	be_slow(number, word[2]);
	if (failure(number) &&
		refuse(__builtin_return_address(0), number == SYS_mmap ? (size_t)word[1] : 0))
		result = -failure(number);
	else
		result = ask_kernel(number, word);
	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}
