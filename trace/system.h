/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder asks the kernel for, past the C library's functions of these names: a program
 * or a library of its own may define them to count, redirect or refuse what the program asks for,
 * and most are points at which a thread can be cancelled, as none of CUDA's calls is.  -1 and
 * errno, as theirs.
 */
#ifndef CUFENCE_SYSTEM_H
#define CUFENCE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline int system_open(const char *path, int flags, unsigned mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

/* The same in a folder that is open. */
static inline int system_open_in(int folder, const char *name, int flags, unsigned mode)
{
	return (int)syscall(SYS_openat, folder, name, flags | O_CLOEXEC, mode);
}

static inline int system_make_folder(const char *path, unsigned mode)
{
	return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

static inline int system_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline ssize_t system_read(int fd, void *bytes, size_t size)
{
	return syscall(SYS_read, fd, bytes, size);
}

static inline ssize_t system_write(int fd, const void *bytes, size_t size)
{
	return syscall(SYS_write, fd, bytes, size);
}

static inline ssize_t system_write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

static inline ssize_t system_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
	return syscall(SYS_pread64, fd, bytes, size, offset);
}

static inline int system_allocate(int fd, uint64_t offset, uint64_t bytes)
{
	return (int)syscall(SYS_fallocate, fd, 0, offset, bytes);
}

/* The kernel's structure is glibc's on this machine, whose function is of 2.33. */
static inline int system_stat(int fd, struct stat *file)
{
	return (int)syscall(SYS_fstat, fd, file);
}

/* A descriptor of the same file that is at least so high. */
static inline int system_duplicate(int fd, int least)
{
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

/* MAP_FAILED if it is refused.  fd -1: memory of this process's own. */
static inline void *system_map(size_t bytes, int flags, int fd, uint64_t offset)
{
	return (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
		flags | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), fd, offset);
}

/* Memory of this process's own in the place of what is mapped there: 0 or -1. */
static inline int system_map_over(void *at, size_t bytes)
{
	return (void *)syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED
		? -1
		: 0;
}

/*
 * A large table of which little is used, MAP_FAILED if it is refused: memory is only taken as it is
 * touched, of a program with mlockall(), too, which would have all of a mapping at once that it
 * can touch.
 */
static inline void *system_reserve(size_t bytes)
{
	void *at = (void *)syscall(SYS_mmap, NULL, bytes, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return at;
	syscall(SYS_munlock, at, bytes);
	if (!syscall(SYS_mprotect, at, bytes, PROT_READ | PROT_WRITE))
		return at;
	syscall(SYS_munmap, at, bytes);
	return MAP_FAILED;
}

static inline void system_unmap(void *at, size_t bytes)
{
	syscall(SYS_munmap, at, bytes);
}

static inline void system_advise(void *at, size_t bytes, int advice)
{
	syscall(SYS_madvise, at, bytes, advice);
}

static inline int system_exists(const char *path)
{
	return !syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
}

static inline void system_remove(const char *path)
{
	syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* EEXIST if there is one of the new name, where the file system can tell. */
static inline int system_rename(const char *from, const char *to)
{
	int rc = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);

	if (rc && (errno == EINVAL || errno == ENOSYS))
		rc = (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
	return rc;
}

static inline int system_exists_in(int folder, const char *name)
{
	return !syscall(SYS_faccessat, folder, name, F_OK);
}

static inline void system_remove_in(int folder, const char *name)
{
	syscall(SYS_unlinkat, folder, name, 0);
}

/* In place of what has the new name. */
static inline int system_rename_in(int folder, const char *from, const char *to)
{
	return (int)syscall(SYS_renameat, folder, from, folder, to);
}

static inline unsigned system_user(void)
{
	return (unsigned)syscall(SYS_geteuid);
}

static inline int system_set_mode(int fd, unsigned mode)
{
	return (int)syscall(SYS_fchmod, fd, mode);
}

/*
 * Whether a word can be read there.  The kernel copies the set before it looks at the first
 * argument, which is none: EFAULT or EINVAL.
 */
static inline int system_readable(uintptr_t address)
{
	return syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) && errno == EINVAL;
}

static inline void system_sleep(long ns)
{
	struct timespec time = { 0, ns };

	syscall(SYS_nanosleep, &time, NULL);
}

#endif
