/* SPDX-License-Identifier: Apache-2.0 */
#include "bus_error.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>

#include "resolve.h"
#include "shim.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))
/* Of watch.program: the handler was set to get a siginfo_t. */
#define WANTS_INFO (UINT64_C(1) << 63)

typedef void (*simple_handler)(int);
typedef void (*info_handler)(int, siginfo_t *, void *);
typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);
typedef simple_handler (*signal_function)(int, simple_handler);

/*
 * The kernel's action is the program's in all but the function, which is ours: its flags and mask
 * need not be kept here, and the kernel obeys them.
 */
static struct {
	_Atomic uint64_t program; /* its handler or SIG_DFL, and WANTS_INFO */
	_Atomic int process;      /* in which it is so, 0: none */
	sigaction_function real;  /* NULL: not yet known */
} watch;

/* --- the real functions ---------------------------------------------------------------------- */

/* The C library's, for calls that come before any constructor has run. */
extern int __sigaction(int number, const struct sigaction *wanted, struct sigaction *before);

/* Those that take a handler alone, and the flags they set. */
/* clang-format off */
#define SIGNALS(X) \
	X(signal, SA_RESTART) X(ssignal, SA_RESTART) X(bsd_signal, SA_RESTART) \
	X(sysv_signal, SA_RESETHAND | SA_NODEFER) X(__sysv_signal, SA_RESETHAND | SA_NODEFER)
/* clang-format on */
enum real {
#define X(name, flags) REAL_##name,
	SIGNALS(X)
#undef X
		REAL_sigaction,
	REAL_COUNT
};

static void *real_function(enum real which)
{
	static void *reals[REAL_COUNT];
	static const char *const names[REAL_COUNT] = {
#define X(name, flags) #name,
		SIGNALS(X)
#undef X
			"sigaction",
	};
	void *found = __atomic_load_n(&reals[which], __ATOMIC_RELAXED);

	if (found)
		return found;
	/* Not dlvsym(): it passes over hooks of other tools, whose names have no version. */
	found = resolve_real_dlsym()(RTLD_NEXT, names[which]);
	__atomic_store_n(&reals[which], found, __ATOMIC_RELAXED);
	return found;
}

/* Not at the call, which a signal's handler may make. */
__attribute__((constructor)) static void find(void)
{
	for (int i = 0; i < REAL_COUNT; i++)
		real_function((enum real)i);
	*(void **)&watch.real = real_function(REAL_sigaction);
}

static sigaction_function next_sigaction(void)
{
	return watch.real ? watch.real : __sigaction;
}

static int real_sigaction(const struct sigaction *wanted, struct sigaction *before)
{
	return next_sigaction()(SIGBUS, wanted, before);
}

/* --- the handler ----------------------------------------------------------------------------- */

/* An instruction's, which comes again where it is repeated. */
static int is_fault(const siginfo_t *info)
{
	return info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
}

/* As without a handler: a fault comes again, what was sent is sent again. */
static void end_by_default(int number, siginfo_t *info)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	real_sigaction(&action, NULL);
	if (!is_fault(info))
		syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), number,
			info);
}

static void on_bus_error(int number, siginfo_t *info, void *context);

/* After SA_RESETHAND, of the program's, the kernel has none. */
static void watch_again(void)
{
	struct sigaction action;

	if (real_sigaction(NULL, &action) || action.sa_sigaction == on_bus_error)
		return;
	action.sa_sigaction = on_bus_error;
	action.sa_flags |= SA_SIGINFO;
	real_sigaction(&action, NULL);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uint64_t program = watch.program;
	int saved = errno;

	if (is_fault(info) && trace_lose(&shim.writer, (uintptr_t)info->si_addr)) {
		watch_again();
		errno = saved;
		return;
	}
	if (program & ~WANTS_INFO)
		((info_handler)(uintptr_t)(program & ~WANTS_INFO))(number, info, context);
	else
		end_by_default(number, info);
}

/* --- what the program sees ------------------------------------------------------------------- */

static int is_ours(const struct sigaction *action)
{
	return action->sa_sigaction == on_bus_error;
}

/* The program's action becomes one with our function; gives what takes its place in watch. */
static uint64_t take_over(struct sigaction *action)
{
	uint64_t program = (uint64_t)(uintptr_t)action->sa_handler |
		(action->sa_flags & SA_SIGINFO ? WANTS_INFO : 0);

	action->sa_sigaction = on_bus_error;
	action->sa_flags |= SA_SIGINFO;
	return program;
}

static void give_back(struct sigaction *action, uint64_t program)
{
	if (!is_ours(action))
		return;
	if (!(program & WANTS_INFO))
		action->sa_flags &= ~SA_SIGINFO;
	action->sa_handler = (simple_handler)(uintptr_t)(program & ~WANTS_INFO);
}

/* After vfork() a child shares this memory, but not the kernel's actions. */
static int watches(void)
{
	return watch.process && watch.process == (int)syscall(SYS_getpid);
}

static int set_action(const struct sigaction *wanted, struct sigaction *before)
{
	uint64_t program = watch.program;
	struct sigaction action;
	int rc;

	if (wanted && wanted->sa_handler != SIG_IGN && !is_ours(wanted) && watches()) {
		action = *wanted;
		program = atomic_exchange(&watch.program, take_over(&action));
		wanted = &action;
	}
	rc = real_sigaction(wanted, before);
	if (!rc && before)
		give_back(before, program);
	return rc;
}

EXPORT int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
	if (number == SIGBUS)
		return set_action(wanted, before);
	return next_sigaction()(number, wanted, before);
}

static simple_handler set_handler(simple_handler handler, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, before;

	sigemptyset(&action.sa_mask);
	if (!(flags & SA_NODEFER))
		sigaddset(&action.sa_mask, SIGBUS);
	return set_action(&action, &before) ? SIG_ERR : before.sa_handler;
}

#define SIGNAL(name, flags) \
	EXPORT simple_handler name(int number, simple_handler handler); \
	EXPORT simple_handler name(int number, simple_handler handler) \
	{ \
		signal_function real; \
\
		if (number == SIGBUS && handler != SIG_ERR && watch.process) \
			return set_handler(handler, flags); \
		*(void **)&real = real_function(REAL_##name); \
		if (!real) { \
			errno = EINVAL; \
			return SIG_ERR; \
		} \
		return real(number, handler); \
	}
SIGNALS(SIGNAL)

void bus_error_watch(void)
{
	struct sigaction action;

	if (real_sigaction(NULL, &action))
		return;
	watch.process = (int)syscall(SYS_getpid);
	if (is_ours(&action) || action.sa_handler == SIG_IGN)
		return;
	watch.program = take_over(&action);
	real_sigaction(&action, NULL);
}

void bus_error_leave(void)
{
	struct sigaction action;

	if (real_sigaction(NULL, &action) || !is_ours(&action))
		return;
	give_back(&action, watch.program);
	watch.process = 0;
	real_sigaction(&action, NULL);
}
