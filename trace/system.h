/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of the recorder that bypass the C library.  The program or one of its libraries may
 * override the C library's functions to count, redirect or refuse calls, and most of them are
 * cancellation points, which CUDA calls are not.  Errors: -1 and errno.
 */
#ifndef CUFENCE_SYSTEM_H
#define CUFENCE_SYSTEM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
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

/* The same relative to an open folder. */
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

/*
 * Beyond the file size limit the kernel sends SIGXFSZ to the thread, in addition to the error:
 * writes are made between these two.  Asking for the limit before would take a system call that
 * filters of system calls need not allow (doc/SYSTEM-CALLS.md), and the program may change it.
 */
static inline uint64_t system_hold_limit_signal(void)
{
	uint64_t signal = UINT64_C(1) << (SIGXFSZ - 1), before = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &signal, &before, sizeof(signal));
	return before;
}

/* before: what the other one returned.  error: of the write, as errno. */
static inline void system_drop_limit_signal(uint64_t before, int error)
{
	uint64_t signal = UINT64_C(1) << (SIGXFSZ - 1);
	struct timespec now = { 0, 0 };

	if (error == EFBIG)
		syscall(SYS_rt_sigtimedwait, &signal, NULL, &now, sizeof(signal));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

static inline ssize_t system_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
	return syscall(SYS_pread64, fd, bytes, size, offset);
}

static inline int system_allocate(int fd, uint64_t offset, uint64_t bytes)
{
	return (int)syscall(SYS_fallocate, fd, 0, offset, bytes);
}

/* The kernel's structure equals glibc's on this machine; glibc's function exists since 2.33. */
static inline int system_stat(int fd, struct stat *file)
{
	return (int)syscall(SYS_fstat, fd, file);
}

/* Locks the whole file for this process (POSIX): 0 or -1.  The kernel's struct is glibc's. */
static inline int system_lock(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return (int)syscall(SYS_fcntl, fd, F_SETLK, &all);
}

/* Returns a descriptor of the same file, numbered least or higher. */
static inline int system_duplicate(int fd, int least)
{
	return (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, least);
}

/* Returns MAP_FAILED on error. fd -1: private memory. */
static inline void *system_map(size_t bytes, int flags, int fd, uint64_t offset)
{
	return (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
		flags | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), fd, offset);
}

/* Replaces the mapping at this address by private memory: 0 or -1. */
static inline int system_map_over(void *at, size_t bytes)
{
	return (void *)syscall(SYS_mmap, at, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED
		? -1
		: 0;
}

/*
 * Maps a large, sparsely used table; MAP_FAILED on error.  Pages are allocated on first access,
 * also in a program with mlockall(), which would otherwise allocate all accessible pages of a
 * mapping at once.
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

/* EEXIST if the new name exists, where the file system supports that. */
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

/* Replaces the file with the new name. */
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
 * Returns whether a word can be read at that address.  The kernel copies the set before it checks
 * the first argument, which is invalid: EFAULT or EINVAL.
 */
static inline int system_readable(uintptr_t address)
{
	return syscall(SYS_rt_sigprocmask, -1, address, NULL, sizeof(uint64_t)) && errno == EINVAL;
}

/* Returns 0, or -1 where the kernel has no such barrier; a command of membarrier(2). */
static inline int system_barrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) ? -1 : 0;
}

static inline int system_thread(void)
{
	return (int)syscall(SYS_gettid);
}

/* Whether this process has a thread of that number. */
static inline int system_thread_lives(int thread)
{
	return !syscall(SYS_tgkill, (int)syscall(SYS_getpid), thread, 0) || errno != ESRCH;
}

static inline void system_sleep(long ns)
{
	struct timespec time = { 0, ns };

	syscall(SYS_nanosleep, &time, NULL);
}

/*
 * Sleeps until system_wake(), if the word still has that value; at most ms, which is less than a
 * day; 0: without a limit.  May return early.  The word may be in a mapped file that other
 * processes share.
 */
static inline void system_wait(_Atomic uint32_t *word, uint32_t value, uint32_t ms)
{
	struct timespec time = { ms / 1000, (long)(ms % 1000) * 1000000 };

	syscall(SYS_futex, word, FUTEX_WAIT, value, ms ? &time : NULL, NULL, 0);
}

/* Wakes all threads that wait for the word. */
static inline void system_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif
