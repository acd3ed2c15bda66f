/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread does between waits: sleep, compute, share its processor, or read a clock.  Prints
 * the result of the CUDA calls.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver_calls.h"

#define MS 1000000l

static int result;

/* By a system call: no clock function is called. */
static long now(clockid_t id)
{
	struct timespec time;

	syscall(SYS_clock_gettime, id, &time);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void wait_for_stream(void)
{
	result |= cuda.wait(NULL);
}

static void compute(long ns)
{
	long end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void *spin(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
		;
	return NULL;
}

/* 40 ms on a processor that another thread computes on. */
static void share(void)
{
	pthread_t other;
	int stop = 0;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	pthread_create(&other, NULL, spin, &stop);
	wait_for_stream();
	compute(40 * MS);
	wait_for_stream();
	stop = 1;
	pthread_join(other, NULL);
}

/* Three gaps of 30 ms: the thread sleeps, computes, and does both. */
static void gaps(void)
{
	wait_for_stream();
	usleep(30000);
	wait_for_stream();
	compute(30 * MS);
	wait_for_stream();
	compute(15 * MS);
	usleep(15000);
	wait_for_stream();
}

/* The machine may be busy: of as many times one is quick enough. */
#define TIMES 40

/* Each way to read a clock after a wait. */
__attribute__((noinline)) static void clocks(void)
{
	struct timespec time_spec;
	struct timeval time_value;

	for (int i = 0; i < 5 * TIMES; i++) {
		wait_for_stream();
		if (i % 5 == 0)
			clock_gettime(CLOCK_MONOTONIC, &time_spec);
		else if (i % 5 == 1)
			gettimeofday(&time_value, NULL);
		else if (i % 5 == 2)
			time(NULL);
		else if (i % 5 == 3)
			clock();
		else
			timespec_get(&time_spec, TIME_UTC);
	}
}

/* Too late, and after other calls. */
__attribute__((noinline)) static void not_first(void)
{
	for (int i = 0; i < TIMES; i++) {
		wait_for_stream();
		usleep(1000);
		time(NULL);
		wait_for_stream();
		cuda.query(NULL);
		time(NULL);
		wait_for_stream();
		cuda.set(0x7f0000000000, 0, 1, NULL);
		time(NULL);
	}
}

static time_t read_time;
__attribute__((noinline)) static void handle(int signal)
{
	read_time = time(NULL);
}

__attribute__((noinline)) static void handle_on_small_stack(int signal)
{
	read_time = time(NULL);
}

/* The handler gets a stack of its own, hardly larger than it must be, with no memory below it. */
static void use_small_stack(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 1024;
	size_t room = (size + page - 1) / page * page;
	char *at =
		mmap(NULL, page + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = { .sa_handler = handle_on_small_stack, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = at + page, .ss_size = size };

	/* Its start is at the end of the first page. */
	if (at == MAP_FAILED || mprotect(at, page, PROT_NONE) || sigaltstack(&stack, NULL) ||
		sigaction(SIGUSR1, &action, NULL))
		exit(3);
}

/* A signal's handler reads a clock, and a child of vfork(), which has its parent's memory. */
__attribute__((noinline)) static void elsewhere(void)
{
	signal(SIGUSR1, handle);
	for (int i = 0; i < 2 * TIMES; i++) {
		if (i == TIMES)
			use_small_stack();
		wait_for_stream();
		raise(SIGUSR1);
	}
	for (int i = 0; i < TIMES; i++) {
		pid_t child;

		wait_for_stream();
		child = vfork();
		if (!child) {
			time(NULL);
			syscall(SYS_exit, 0);
		}
		waitpid(child, NULL, 0);
	}
}

/* From now on the process ends if it asks for its usage. */
static void forbid(void)
{
	static struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrusage, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		exit(3);
}

/* What it reads before main() is not the recorder's business, but must work. */
static long early;
static void read_early(void)
{
	struct timespec time_spec;

	early = clock_gettime(CLOCK_REALTIME, &time_spec) || time_spec.tv_sec < 1000000000 ||
		time(NULL) < 1000000000;
}
__attribute__((section(".preinit_array"), used)) static void (*before_all)(void) = read_early;

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "forbidden"))
		forbid();
	cuda_find();
	result = cuda_begin() | (int)early;
	if (!strcmp(mode, "forbids")) {
		gaps();
		forbid();
	}
	if (!strcmp(mode, "share"))
		share();
	else if (!strcmp(mode, "clocks"))
		clocks(), not_first();
	else if (!strcmp(mode, "elsewhere"))
		elsewhere();
	else
		gaps();
	printf("%d\n", result);
	return 0;
}
