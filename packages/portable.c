/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that the wheel's libraries use instead of a newer glibc's or a static archive's; they
 * are invisible outside of these libraries.
 */
#include <fcntl.h>
#include <libelf.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOCAL __attribute__((visibility("hidden")))

LOCAL int stat(const char *path, struct stat *result);
LOCAL int fstat(int fd, struct stat *result);
LOCAL void __libelf_seterrno(int value);

/* glibc exports these since 2.33 only; on x86-64 the kernel's struct stat is glibc's. */
int stat(const char *path, struct stat *result)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, result, 0);
}

int fstat(int fd, struct stat *result)
{
	return (int)syscall(SYS_newfstatat, fd, "", result, AT_EMPTY_PATH);
}

/* libelf.a keeps its last error where only a program has room, in its own part of the TLS. */
static __thread int last_error;

void __libelf_seterrno(int value)
{
	last_error = value;
}

LOCAL int elf_errno(void)
{
	int value = last_error;

	last_error = 0;
	return value;
}

LOCAL const char *elf_errmsg(int error)
{
	return error ? "libelf reports an error" : NULL;
}
