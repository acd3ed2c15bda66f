/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses of SIGBUS by programs, around CUDA calls, while their trace is truncated: bus_error MODE.
 * CUT_FOLDER: folder of the trace; CUT_BYTES: its new size, a number or "half".  Prints the signals
 * that the program receives and the results of its CUDA calls.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver_calls.h"

#define PAGE 4096
#define ROUNDS 600 /* more than a thread's window of the trace has room for */

static unsigned long long memory;
static sigjmp_buf back;
static volatile char *cut; /* a mapped page beyond the end of its file */

static void say(const char *what, int value)
{
	printf("%s: %d\n", what, value);
	fflush(stdout);
}

static void start(void)
{
	say("start", cuda_begin() | cuda.allocate(&memory, PAGE));
}

static void work(const char *when, int rounds)
{
	int result = 0;

	errno = ENOTTY;
	for (int i = 0; i < rounds; i++)
		result |= cuda.set(memory, 0, 64, NULL) | cuda.query(NULL) * 0 | cuda.wait(NULL);
	say(when, result);
	say("errno kept", errno == ENOTTY);
}

/* Truncates every trace in the folder; without a recorder there is none. */
static void cut_traces(void)
{
	const char *folder = getenv("CUT_FOLDER"), *bytes = getenv("CUT_BYTES");
	DIR *entries = opendir(folder);
	struct dirent *entry;
	struct stat file;
	char path[4096];

	while (entries && (entry = readdir(entries))) {
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (*entry->d_name == '.' || stat(path, &file))
			continue;
		if (truncate(path, strcmp(bytes, "half") ? atoi(bytes) : file.st_size / 2))
			exit(3);
	}
	if (entries)
		closedir(entries);
}

static pthread_barrier_t turn;

/* Prints nothing: threads print in any order. */
static void *work_in_thread(void *result)
{
	*(int *)result = cuda_begin();
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < ROUNDS; i++)
			*(int *)result |= cuda.set(memory, 0, 64, NULL) | cuda.wait(NULL);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	return result;
}

static void make_cut_page(void)
{
	FILE *file = tmpfile();

	if (!file || ftruncate(fileno(file), PAGE))
		exit(2);
	cut = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (cut == MAP_FAILED || ftruncate(fileno(file), 0))
		exit(2);
}

static void on_info(int number, siginfo_t *info, void *context)
{
	say("handler with info", number);
	say("of its own page", info->si_addr == (void *)cut);
	say("code", info->si_code);
	siglongjmp(back, 1);
}

static void on_signal(int number)
{
	say("handler", number);
	siglongjmp(back, 1);
}

static void on_sent(int number)
{
	say("sent", number);
}

static void touch(void)
{
	if (!sigsetjmp(back, 1))
		*cut = 1;
}

static void set_info(int flags)
{
	struct sigaction action = { .sa_sigaction = on_info, .sa_flags = SA_SIGINFO | flags };

	sigaddset(&action.sa_mask, SIGUSR1);
	say("sigaction", sigaction(SIGBUS, &action, NULL));
}

static void say_action(void)
{
	struct sigaction action;
	const char *name = "another";

	say("asked", sigaction(SIGBUS, NULL, &action));
	if (action.sa_handler == SIG_DFL)
		name = "default";
	else if (action.sa_handler == SIG_IGN)
		name = "ignored";
	else if (action.sa_sigaction == on_info)
		name = "with info";
	else if (action.sa_handler == on_signal || action.sa_handler == on_sent)
		name = "handler";
	printf("action: %s, flags %x, blocks USR1 %d, BUS %d\n", name,
		(unsigned)action.sa_flags & ~0x04000000u, sigismember(&action.sa_mask, SIGUSR1),
		sigismember(&action.sa_mask, SIGBUS));
	fflush(stdout);
}

static void work_and_cut(void)
{
	work("before", ROUNDS);
	cut_traces();
	work("after", ROUNDS);
}

/* --- modes ----------------------------------------------------------------------------------- */

static void just_work(void)
{
	start();
	work_and_cut();
	say_action();
}

/* Each thread has its own window and continues after the truncation. */
static void threads(void)
{
	pthread_t thread[3];
	int result[3];

	pthread_barrier_init(&turn, NULL, 4);
	start();
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, work_in_thread, &result[i]);
	pthread_barrier_wait(&turn);
	cut_traces();
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], NULL);
		say("thread", result[i]);
	}
}

static void set_before(void)
{
	set_info(SA_ONSTACK);
	make_cut_page();
	start();
	say_action();
	touch();
	work_and_cut();
	touch();
	say_action();
}

static void set_after(void)
{
	make_cut_page();
	start();
	say("signal: default before", signal(SIGBUS, on_signal) == SIG_DFL);
	say_action();
	work_and_cut();
	touch();
	say("signal: handler before", signal(SIGBUS, SIG_IGN) == on_signal);
	say_action();
	set_info(SA_RESETHAND);
	touch();
	say_action();
}

static void reset_once(void)
{
	start();
	set_info(SA_RESETHAND | SA_NODEFER);
	work_and_cut();
	say_action();
	make_cut_page();
	touch();
	say_action();
}

static void sent(void)
{
	start();
	signal(SIGBUS, on_sent);
	raise(SIGBUS);
	signal(SIGBUS, SIG_IGN);
	raise(SIGBUS);
	work("ignored", 10);
	signal(SIGBUS, SIG_DFL);
	work_and_cut();
	kill(getpid(), SIGBUS);
	say("not reached", 0);
}

static void own_fault(void)
{
	make_cut_page();
	start();
	work_and_cut();
	*cut = 1;
	say("not reached", 0);
}

/* Shares the memory of its parent, whose handler stays installed. */
static void vforked(void)
{
	int status;
	pid_t child;

	start();
	set_info(0);
	child = vfork();
	if (!child) {
		signal(SIGBUS, SIG_DFL);
		execl("/bin/sh", "sh", "-c", "kill -BUS $$", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	say("child", status);
	say_action();
	work_and_cut();
}

static void forked(void)
{
	int status;
	pid_t child;

	make_cut_page();
	start();
	set_info(0);
	child = fork();
	if (!child) {
		say_action();
		touch();
		signal(SIGBUS, SIG_DFL);
		*cut = 1;
	}
	waitpid(child, &status, 0);
	say("child", status);
	work_and_cut();
	touch();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "work", just_work },
		{ "threads", threads },
		{ "before", set_before },
		{ "after", set_after },
		{ "reset", reset_once },
		{ "sent", sent },
		{ "fault", own_fault },
		{ "vfork", vforked },
		{ "fork", forked },
	};

	cuda_find();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc > 1 && !strcmp(modes[i].name, argv[1]))
			modes[i].run();
	return 0;
}
