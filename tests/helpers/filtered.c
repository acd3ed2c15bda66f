/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that forbids itself system calls once it has warmed up, as sandboxes do: filtered
 * ROUNDS.  Allowed are those of its own, of the C library's threads and output, and those of
 * doc/SYSTEM-CALLS.md.  Any other kills the process, after its number was printed.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "driver_calls.h"

static unsigned long long memory;

static void *work(void *rounds)
{
	int results = 0;

	for (intptr_t i = 0; i < (intptr_t)rounds; i++)
		results |= cuda.set(memory, 0, 64, NULL) | cuda.wait(NULL);
	return (void *)(intptr_t)results;
}

static void name_call(int number, siginfo_t *info, void *context)
{
	char text[] = "system call 000\n";

	for (int i = 14, left = info->si_syscall; i > 11; i--, left /= 10)
		text[i] = (char)('0' + left % 10);
	syscall(SYS_write, 2, text, sizeof(text) - 1);
	syscall(SYS_exit_group, 159);
}

/* Of the recorder, as in doc/SYSTEM-CALLS.md. */
static const int recorder[] = { SYS_openat, SYS_read, SYS_close, SYS_fstat, SYS_fcntl, SYS_mmap,
	SYS_munmap, SYS_mprotect, SYS_madvise, SYS_munlock, SYS_fallocate, SYS_pwrite64,
	SYS_rt_sigprocmask, SYS_sigaltstack, SYS_gettid, SYS_getpid, SYS_clock_gettime,
	SYS_nanosleep };
/* Of the program and the C library: threads, output, the end. */
static const int own[] = { SYS_write, SYS_futex, SYS_clone, SYS_clone3, SYS_set_robust_list,
	SYS_rseq, SYS_rt_sigreturn, SYS_exit, SYS_exit_group, SYS_brk, SYS_newfstatat,
	SYS_clock_nanosleep, SYS_sched_yield, SYS_mremap };

static int add_allowed(struct sock_filter *filter, int count, const int *call, size_t calls)
{
	for (size_t i = 0; i < calls; i++) {
		filter[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			(unsigned)call[i], 0, 1);
		filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	return count;
}

static void forbid_others(void)
{
	struct sock_filter filter[128] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { .filter = filter };
	struct sigaction action = { .sa_sigaction = name_call, .sa_flags = SA_SIGINFO };
	int count = 1;

	sigaction(SIGSYS, &action, NULL);
	count = add_allowed(filter, count, recorder, sizeof(recorder) / sizeof(*recorder));
	count = add_allowed(filter, count, own, sizeof(own) / sizeof(*own));
	filter[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	program.len = (unsigned short)count;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		exit(77);
	}
}

int main(int argc, char **argv)
{
	void *rounds = (void *)(intptr_t)(argc > 1 ? atoi(argv[1]) : 1000), *result;
	pthread_t thread;

	cuda_find();
	if (cuda_begin() || cuda.allocate(&memory, 4096))
		return 2;
	work((void *)(intptr_t)100);
	forbid_others();
	printf("main: %d\n", (int)(intptr_t)work(rounds));
	pthread_create(&thread, NULL, work, rounds);
	pthread_join(thread, &result);
	printf("thread: %d\n", (int)(intptr_t)result);
	return 0;
}
