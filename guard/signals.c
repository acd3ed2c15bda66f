/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel ends a thread that faults while it blocks SIGSEGV, regardless of the handler.
 * Therefore SIGSEGV is removed from the masks that a program sets for its threads and its handlers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "guard_parts.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))

typedef int (*mask_function)(int, const sigset_t *, sigset_t *);
typedef int (*action_function)(int, const struct sigaction *, struct sigaction *);

extern int __sigaction(int number, const struct sigaction *wanted, struct sigaction *before);

static mask_function real_process_mask, real_thread_mask;
static action_function real_action;

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Resolved at start, since a signal handler may make the call. */
__attribute__((constructor)) static void find(void)
{
	sigset_t faults;

	*(void **)&real_process_mask = next("sigprocmask");
	*(void **)&real_thread_mask = next("pthread_sigmask");
	*(void **)&real_action = next("sigaction");
	/* SIGSEGV may be blocked from the program's start. */
	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	if (real_process_mask)
		real_process_mask(SIG_UNBLOCK, &faults, NULL);
}

/* Returns the mask without SIGSEGV, in copy. */
static const sigset_t *without_faults(int how, const sigset_t *wanted, sigset_t *copy)
{
	if (!wanted || how == SIG_UNBLOCK)
		return wanted;
	*copy = *wanted;
	sigdelset(copy, SIGSEGV);
	return copy;
}

EXPORT int sigprocmask(int how, const sigset_t *wanted, sigset_t *before)
{
	sigset_t copy;

	wanted = without_faults(how, wanted, &copy);
	if (real_process_mask)
		return real_process_mask(how, wanted, before);
	return (int)syscall(SYS_rt_sigprocmask, how, wanted, before, 8);
}

EXPORT int pthread_sigmask(int how, const sigset_t *wanted, sigset_t *before)
{
	int saved = errno, rc;
	sigset_t copy;

	wanted = without_faults(how, wanted, &copy);
	if (real_thread_mask)
		return real_thread_mask(how, wanted, before);
	rc = syscall(SYS_rt_sigprocmask, how, wanted, before, 8) ? errno : 0;
	errno = saved;
	return rc;
}

EXPORT int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
	struct sigaction copy;

	if (wanted) {
		copy = *wanted;
		sigdelset(&copy.sa_mask, SIGSEGV);
		wanted = &copy;
	}
	return (real_action ? real_action : __sigaction)(number, wanted, before);
}
