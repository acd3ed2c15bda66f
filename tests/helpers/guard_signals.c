/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that handle or block SIGSEGV, and access pinned memory of a pending copy: guard_signals
 * MODE.  Prints what the program observes, which must be the same without a guard.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "driver_calls.h"

#define BYTES 65536
#define SMALL 4096

static unsigned long long device;
static volatile char *host;
static void *stream;
static sigjmp_buf back;

static void say(const char *what, long value)
{
	printf("%s: %ld\n", what, value);
	fflush(stdout);
}

static void start(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *memory = NULL;
	int (*host_alloc)(void **, size_t, unsigned), result = (cuda_find(), cuda_begin());

	*(void **)&host_alloc = dlsym(library, "cuMemHostAlloc");
	result |= cuda.allocate(&device, BYTES) | host_alloc(&memory, BYTES, 0) |
		cuda.new_stream(&stream, 1) | cuda.set(device, 7, BYTES, stream) |
		cuda.wait(stream);
	host = memory;
	memset(memory, 1, BYTES);
	say("start", result);
}

static void download(void)
{
	int (*to_host)(void *, unsigned long long, size_t, void *);

	*(void **)&to_host = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyDtoHAsync_v2");
	say("download", to_host((void *)host, device, BYTES, stream));
}

static __attribute__((noinline)) void touch(void)
{
	char byte = host[100];

	say("read", byte == 1 || byte == 7);
}

static void finish(void)
{
	say("wait", cuda.wait(stream));
	say("first", host[0]);
}

/* --- a small alternate stack --- */

static char *small; /* SMALL bytes that end at an inaccessible page, and begin at another */

static void on_fault(int number, siginfo_t *info, void *context)
{
	siglongjmp(back, 1);
}

static void use_small_stack(void)
{
	char *map = mmap(NULL, 3 * SMALL, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = map + SMALL, .ss_size = SMALL };
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	small = map + SMALL;
	mprotect(small, SMALL, PROT_READ | PROT_WRITE);
	memset(small, 0x5a, SMALL);
	say("stack", sigaltstack(&stack, NULL));
	say("handler", sigaction(SIGSEGV, &action, NULL));
}

static int untouched(void)
{
	int bytes = 0;

	while (bytes < SMALL && small[bytes] == 0x5a)
		bytes++;
	return bytes;
}

static void small_stack(void)
{
	use_small_stack();
	download();
	touch();
	if (!sigsetjmp(back, 1))
		*(volatile char *)NULL = 1;
	else
		say("caught", 1);
	finish();
}

/* Prints how much of the stack a signal's delivery took; then the guard's part, too. */
static volatile int frame;

static void on_user_signal(int number, siginfo_t *info, void *context)
{
	frame = SMALL - (int)((char *)__builtin_frame_address(0) - small);
}

static void measure(void)
{
	struct sigaction action = { .sa_sigaction = on_user_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK };

	use_small_stack();
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	memset(small, 0x5a, SMALL);
	download();
	touch();
	say("frame", frame);
	say("all", SMALL - untouched());
}

/* --- masks --- */

static int is_blocked(void)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, SIGSEGV);
}

static void masks(void)
{
	struct sigaction action = { .sa_handler = SIG_IGN }, before;
	sigset_t all, old;

	say("at first", is_blocked());
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	say("old", sigismember(&old, SIGSEGV));
	say("set", is_blocked());
	sigprocmask(SIG_UNBLOCK, &all, &old);
	say("old", sigismember(&old, SIGSEGV));
	say("unblocked", is_blocked());
	sigprocmask(SIG_BLOCK, &all, NULL);
	say("blocked", is_blocked());
	download();
	touch();
	sigfillset(&action.sa_mask);
	sigaction(SIGUSR2, &action, NULL);
	sigaction(SIGUSR2, NULL, &before);
	say("mask of a handler", sigismember(&before.sa_mask, SIGSEGV));
	finish();
}

static void raw_mask(void)
{
	uint64_t all = ~UINT64_C(0);

	say("set", syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8));
	say("bad",
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, (void *)8, NULL, 8) == -1 ? errno == EFAULT
										   : 0);
	download();
	touch();
	finish();
}

static void touch_in_handler(int number)
{
	touch();
}

static void *send_signals(void *thread)
{
	usleep(20000);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

/* The handler runs with the mask of the call, which blocks all but its signal. */
static void suspended(void)
{
	struct sigaction action = { .sa_handler = touch_in_handler };
	pthread_t self = pthread_self(), sender;
	sigset_t others, user;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&user);
	sigaddset(&user, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &user, NULL);
	sigfillset(&others);
	sigdelset(&others, SIGUSR1);
	for (int i = 0; i < 2; i++) {
		download();
		pthread_create(&sender, NULL, send_signals, &self);
		say("interrupted",
			(i ? ppoll(NULL, 0, NULL, &others) : sigsuspend(&others)) == -1
				? errno == EINTR
				: 0);
		pthread_join(sender, NULL);
		cuda.wait(stream);
	}
	finish();
}

/* --- the program's handler --- */

static void touch_and_leave(int number, siginfo_t *info, void *context)
{
	touch();
	siglongjmp(back, 1);
}

/* Left with the signal's mask or without: then SIGSEGV stays blocked. */
static void leave_handler(int mask)
{
	struct sigaction action = { .sa_sigaction = touch_and_leave, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	download();
	if (!sigsetjmp(back, mask))
		*(volatile char *)NULL = 1;
	say("left", 1);
	download();
	touch();
	finish();
}

static void handler_touches(void)
{
	leave_handler(1);
}

static void stays_blocked(void)
{
	leave_handler(0);
}

/* SIGSEGV is blocked by whoever started the program. */
static void inherited(void)
{
	say("blocked", is_blocked());
	download();
	touch();
	finish();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "small_stack", small_stack }, { "measure", measure }, { "masks", masks },
		{ "raw_mask", raw_mask }, { "suspended", suspended },
		{ "handler_touches", handler_touches }, { "stays_blocked", stays_blocked },
		{ "inherited", inherited } };

	start();
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name))
			modes[i].run();
	return 0;
}
