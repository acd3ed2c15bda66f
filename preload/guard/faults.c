/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include "guard.h"
#include "resolve.h"
#include "shim.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))
/* In watch->program: the handler was set with SA_SIGINFO, or with SA_RESETHAND. */
#define WANTS_INFO (UINT64_C(1) << 63)
#define RESETS (UINT64_C(1) << 62)
#define HANDLER(program) ((uintptr_t)((program) & ~(WANTS_INFO | RESETS)))

#define SMALL_STACK 16384 /* bytes; a frame of the kernel's takes 3 KiB, with AMX 11 */
#define HANDLER_DEPTH 16  /* the program's handler within itself */

/*
 * The program's handler may leave by siglongjmp(): the frames that it leaves are not instrumented.
 */
#define MAY_BE_LEFT __attribute__((no_sanitize("address")))

typedef void (*simple_handler)(int);
typedef void (*info_handler)(int, siginfo_t *, void *);
typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);
typedef simple_handler (*signal_function)(int, simple_handler);

/*
 * The kernel's action is the program's except for the function, which is ours, and SA_RESETHAND,
 * with which ours would be gone at the first signal, of any thread: other flags and the mask need
 * not be stored here, and the kernel applies them.
 */
static struct watch {
	int number;
	_Atomic(fault_handler) handler;
	_Atomic uint64_t program; /* its handler or SIG_DFL, WANTS_INFO and RESETS */
	_Atomic int process;      /* the process in which it is installed, 0: none */
} watches[] = { { .number = SIGBUS }, { .number = SIGSEGV } };

static struct watch *find_watch(int number)
{
	for (size_t i = 0; i < sizeof(watches) / sizeof(*watches); i++)
		if (watches[i].number == number)
			return &watches[i];
	return NULL;
}

/* --- the real functions ---------------------------------------------------------------------- */

/* The C library's function, for calls before any constructor has run. */
extern int __sigaction(int number, const struct sigaction *wanted, struct sigaction *before);

/* Functions that set only a handler, and the flags they imply. */
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
	/* Not dlvsym(): it skips unversioned hooks of other tools. */
	found = resolve_real_dlsym()(RTLD_NEXT, names[which]);
	__atomic_store_n(&reals[which], found, __ATOMIC_RELAXED);
	return found;
}

static sigaction_function real_action; /* NULL: not yet found */

/* Not during the call, which may come from a signal handler. */
__attribute__((constructor)) static void find(void)
{
	for (int i = 0; i < REAL_COUNT; i++)
		real_function((enum real)i);
	*(void **)&real_action = real_function(REAL_sigaction);
}

static sigaction_function next_sigaction(void)
{
	return real_action ? real_action : __sigaction;
}

static int real_sigaction(const struct watch *watch, const struct sigaction *wanted,
	struct sigaction *before)
{
	return next_sigaction()(watch->number, wanted, before);
}

/* --- the handler ----------------------------------------------------------------------------- */

/* A fault of an instruction, which recurs when it is repeated. */
static int is_fault(const siginfo_t *info)
{
	return info->si_code > 0 && info->si_code != BUS_MCEERR_AO;
}

/* The default action: a fault recurs, a sent signal is sent again. */
static COLD void end_by_default(const struct watch *watch, siginfo_t *info)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	real_sigaction(watch, &action, NULL);
	if (!is_fault(info))
		syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid),
			watch->number, info);
}

/* The alternate stack, if the handler is on it, has no room for another signal's frame. */
static int is_on_small_stack(void)
{
	stack_t stack;

	return !syscall(SYS_sigaltstack, NULL, &stack) && stack.ss_flags & SS_ONSTACK &&
		STACK_PLACE - (uintptr_t)stack.ss_sp < SMALL_STACK;
}

/*
 * The kernel blocks SIGSEGV in its handler, which may access guarded memory: so it is unblocked, or
 * nothing is guarded any more.  A handler that faults itself, which the kernel would end at once,
 * is entered only so often.
 */
static COLD MAY_BE_LEFT void call_guarded(const struct watch *watch, siginfo_t *info, void *context,
	info_handler handler)
{
	static __thread uintptr_t first; /* frame of the outermost handler in progress */
	static __thread unsigned depth;
	uint64_t faults = UINT64_C(1) << (SIGSEGV - 1), before;
	const ucontext_t *at = context;

	if (first && frame_was_left(first, machine_stack_pointer(at)))
		depth = 0;
	if (!depth++)
		first = STACK_PLACE;
	if (is_on_small_stack()) {
		shim.guard->open_all();
		handler(watch->number, info, context);
	} else if (depth > HANDLER_DEPTH) {
		end_by_default(watch, info);
	} else {
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &faults, &before, sizeof(faults));
		handler(watch->number, info, context);
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &before, NULL, sizeof(before));
	}
	depth--;
}

/* The program's handler, to be called now: with SA_RESETHAND once. */
static uint64_t take_handler(struct watch *watch)
{
	uint64_t program = watch->program;

	while (program & RESETS && HANDLER(program) &&
		!atomic_compare_exchange_weak(&watch->program, &program,
			program & (WANTS_INFO | RESETS)))
		;
	return HANDLER(program);
}

static MAY_BE_LEFT void on_fault(int number, siginfo_t *info, void *context)
{
	struct watch *watch = find_watch(number);
	fault_handler handler = watch->handler;
	uint64_t program;
	int saved = errno;

	if (is_fault(info) && handler && handler(info, context)) {
		errno = saved;
		return;
	}
	program = take_handler(watch);
	if (program && number == SIGSEGV && shim.guard)
		call_guarded(watch, info, context, (info_handler)(uintptr_t)program);
	else if (program)
		((info_handler)(uintptr_t)program)(number, info, context);
	else
		end_by_default(watch, info);
}

/* --- the program's view -------------------------------------------------------------------- */

static int is_ours(const struct sigaction *action)
{
	return action->sa_sigaction == on_fault;
}

/* Replaces the program's function in action by ours; returns the value for watch. */
static uint64_t take_over(struct sigaction *action)
{
	uint64_t program = (uint64_t)(uintptr_t)action->sa_handler |
		(action->sa_flags & SA_SIGINFO ? WANTS_INFO : 0) |
		(action->sa_flags & SA_RESETHAND ? RESETS : 0);

	action->sa_sigaction = on_fault;
	action->sa_flags |= SA_SIGINFO;
	action->sa_flags &= ~SA_RESETHAND;
	return program;
}

static void show_program_handler(struct sigaction *action, uint64_t program)
{
	if (!is_ours(action))
		return;
	if (!(program & WANTS_INFO))
		action->sa_flags &= ~SA_SIGINFO;
	if (program & RESETS)
		action->sa_flags |= SA_RESETHAND;
	action->sa_handler = (simple_handler)HANDLER(program);
}

/* After vfork() a child shares this memory, but not the kernel's signal actions. */
static int is_watched(const struct watch *watch)
{
	return watch->process && watch->process == (int)syscall(SYS_getpid);
}

static int set_action(struct watch *watch, const struct sigaction *wanted, struct sigaction *before)
{
	uint64_t program = watch->program;
	struct sigaction action;
	int rc;

	if (wanted && wanted->sa_handler != SIG_IGN && !is_ours(wanted) && is_watched(watch)) {
		action = *wanted;
		program = atomic_exchange(&watch->program, take_over(&action));
		wanted = &action;
	}
	rc = real_sigaction(watch, wanted, before);
	if (!rc && before)
		show_program_handler(before, program);
	return rc;
}

EXPORT int sigaction(int number, const struct sigaction *wanted, struct sigaction *before)
{
	struct watch *watch = find_watch(number);

	if (watch && watch->process)
		return set_action(watch, wanted, before);
	return next_sigaction()(number, wanted, before);
}

static simple_handler set_handler(struct watch *watch, simple_handler handler, int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, before;

	sigemptyset(&action.sa_mask);
	if (!(flags & SA_NODEFER))
		sigaddset(&action.sa_mask, watch->number);
	return set_action(watch, &action, &before) ? SIG_ERR : before.sa_handler;
}

#define SIGNAL(name, flags) \
	EXPORT simple_handler name(int number, simple_handler handler); \
	EXPORT simple_handler name(int number, simple_handler handler) \
	{ \
		struct watch *watch = find_watch(number); \
		signal_function real; \
\
		if (watch && handler != SIG_ERR && watch->process) \
			return set_handler(watch, handler, flags); \
		*(void **)&real = real_function(REAL_##name); \
		if (!real) { \
			errno = EINVAL; \
			return SIG_ERR; \
		} \
		return real(number, handler); \
	}
SIGNALS(SIGNAL)

int faults_watch(int number, fault_handler handler)
{
	struct watch *watch = find_watch(number);
	struct sigaction action;

	if (real_sigaction(watch, NULL, &action))
		return -1;
	watch->handler = handler;
	watch->process = (int)syscall(SYS_getpid);
	if (action.sa_handler == SIG_IGN)
		return -1;
	if (is_ours(&action))
		return 0;
	watch->program = take_over(&action);
	return real_sigaction(watch, &action, NULL);
}

void faults_leave(int number)
{
	struct watch *watch = find_watch(number);
	struct sigaction action;

	if (real_sigaction(watch, NULL, &action) || !is_ours(&action))
		return;
	show_program_handler(&action, watch->program);
	watch->process = 0;
	real_sigaction(watch, &action, NULL);
}
