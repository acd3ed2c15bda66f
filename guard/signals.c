/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel ends a thread that faults while it blocks SIGSEGV, regardless of the handler.
 * Therefore SIGSEGV is removed from the masks that a program sets for its threads and its handlers;
 * the program reads back what it has set.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "guard_internal.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))

typedef int (*mask_function)(int, const sigset_t *, sigset_t *);
typedef int (*action_function)(int, const struct sigaction *, struct sigaction *);

extern int __sigaction(int number, const struct sigaction *wanted, struct sigaction *before);

static mask_function real_process_mask, real_thread_mask;
static action_function real_action;

/* The program has blocked SIGSEGV in this thread, or in that signal's handler. */
static __thread int blocked;
static _Atomic unsigned char masked[NSIG];

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Resolved at start, since a signal handler may make the call. */
__attribute__((constructor)) static void find(void)
{
	sigset_t faults, before;

	*(void **)&real_process_mask = next("sigprocmask");
	*(void **)&real_thread_mask = next("pthread_sigmask");
	*(void **)&real_action = next("sigaction");
	/* SIGSEGV may be blocked from the program's start. */
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	if (real_process_mask && !real_process_mask(SIG_UNBLOCK, &faults, &before))
		blocked = sigismember(&before, SIGSEGV);
}

/* Returns the mask without SIGSEGV, in copy. */
static const sigset_t *without_faults(const sigset_t *wanted, sigset_t *copy)
{
	if (!wanted)
		return NULL;
	*copy = *wanted;
	sigdelset(copy, SIGSEGV);
	return copy;
}

/* --- masks of threads --- */

/* Notes what the program's call makes of the mask, and returns what it was. */
static int note_mask(int how, const sigset_t *wanted)
{
	int before = blocked, named = wanted && sigismember(wanted, SIGSEGV) == 1;

	if (wanted && how == SIG_SETMASK)
		blocked = named;
	else if (named)
		blocked = how == SIG_BLOCK;
	return before;
}

static int call_mask(int how, const sigset_t *wanted, sigset_t *before)
{
	return (int)syscall(SYS_rt_sigprocmask, how, wanted, before, 8);
}

static int set_mask(mask_function real, int how, const sigset_t *wanted, sigset_t *before)
{
	int was = blocked, rc;
	sigset_t copy;

	rc = real(how, how == SIG_UNBLOCK ? wanted : without_faults(wanted, &copy), before);
	if (rc)
		return rc;
	was = note_mask(how, wanted);
	if (before && was)
		sigaddset(before, SIGSEGV);
	return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *wanted, sigset_t *before)
{
	return set_mask(real_process_mask ? real_process_mask : call_mask, how, wanted, before);
}

EXPORT int pthread_sigmask(int how, const sigset_t *wanted, sigset_t *before)
{
	int saved = errno, rc;

	if (real_thread_mask)
		return set_mask(real_thread_mask, how, wanted, before);
	rc = set_mask(call_mask, how, wanted, before) ? errno : 0;
	errno = saved;
	return rc;
}

/* --- masks of handlers --- */

EXPORT int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
	struct sigaction copy;
	int known = number > 0 && number < NSIG, was = known && masked[number], named = 0, rc;

	if (wanted) {
		copy = *wanted;
		named = sigismember(&copy.sa_mask, SIGSEGV) == 1;
		sigdelset(&copy.sa_mask, SIGSEGV);
		wanted = &copy;
	}
	rc = (real_action ? real_action : __sigaction)(number, wanted, before);
	if (rc || !known)
		return rc;
	if (before && was)
		sigaddset(&before->sa_mask, SIGSEGV);
	if (wanted)
		masked[number] = (unsigned char)named;
	return 0;
}

/* --- masks for the time of a call, in which handlers may run --- */

#define FOR_A_CALL(name, params, args) \
	static void *found_##name; \
	__attribute__((constructor)) static void find_##name(void) \
	{ \
		found_##name = next(#name); \
	} \
	EXPORT int name params; \
	EXPORT int name params \
	{ \
		int(*real) params; \
		sigset_t copy; \
\
		*(void **)&real = found_##name; \
		if (!real) { \
			errno = ENOSYS; \
			return -1; \
		} \
		mask = without_faults(mask, &copy); \
		return real args; \
	}

FOR_A_CALL(sigsuspend, (const sigset_t *mask), (mask))
FOR_A_CALL(ppoll,
	(struct pollfd * fds, nfds_t count, const struct timespec *time, const sigset_t *mask),
	(fds, count, time, mask))
FOR_A_CALL(pselect,
	(int count, fd_set *reads, fd_set *writes, fd_set *others, const struct timespec *time,
		const sigset_t *mask),
	(count, reads, writes, others, time, mask))
FOR_A_CALL(epoll_pwait,
	(int fd, struct epoll_event *events, int count, int ms, const sigset_t *mask),
	(fd, events, count, ms, mask))
FOR_A_CALL(pthread_attr_setsigmask_np, (pthread_attr_t * attributes, const sigset_t *mask),
	(attributes, mask))

/* --- raw system calls --- */

static long call_kernel(long number, const long argument[6])
{
	long result = machine_system_call(number, argument);

	if (result >= 0 || result < -4095)
		return result;
	errno = (int)-result;
	return -1;
}

static void call_mask_kernel(int how, const uint64_t *wanted, uint64_t *before)
{
	const long argument[6] = { how, (long)wanted, (long)before, sizeof(*wanted) };

	call_kernel(SYS_rt_sigprocmask, argument);
}

void signals_block(uint64_t *before)
{
	uint64_t all = ~(UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1));

	call_mask_kernel(SIG_BLOCK, &all, before);
}

void signals_restore(const uint64_t *before)
{
	call_mask_kernel(SIG_SETMASK, before, NULL);
}

/* The mask may lie where the program cannot read: that is an error of the call. */
static int is_readable(const void *mask)
{
	const long probe[6] = { -1, (long)mask, 0, sizeof(uint64_t) };
	int saved = errno, readable = call_kernel(SYS_rt_sigprocmask, probe) && errno == EINVAL;

	errno = saved;
	return readable;
}

/*
 * The C library's function, by which programs and the recorder make calls that have no other.  Most
 * calls have fewer than six arguments: what is read in their place is in the caller's frame, where
 * AddressSanitizer may have a red zone.
 */
EXPORT __attribute__((no_sanitize_address)) long syscall(long number, ...)
{
	uint64_t mask, segv = UINT64_C(1) << (SIGSEGV - 1);
	long argument[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		argument[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_rt_sigprocmask && argument[1] && argument[3] == sizeof(mask) &&
		(argument[0] == SIG_BLOCK || argument[0] == SIG_SETMASK) &&
		is_readable((const void *)argument[1])) {
		mask = *(const uint64_t *)argument[1] & ~segv;
		argument[1] = (long)&mask;
	}
	return call_kernel(number, argument);
}
