/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends in the middle of its work: deaths HOW.  Ten memsets have ended before; with _exit, _Exit,
 * abort and quick_exit the process calls that function, with handler it calls abort() in the
 * handler of SIGSEGV, and with inside the host function that the process waits for in CUDA calls
 * _exit().  KILL: after half a second without a call.  children: prints the milliseconds
 * that a child takes which calls _exit() after vfork(), and after fork().  thread: prints which of
 * SIGINT, SIGTERM and SIGUSR1 the recorder's thread blocks, and whether their actions are the
 * default.
 */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver_calls.h"

static void work(void)
{
	unsigned long long memory = 0;
	void *stream = NULL;
	int result = cuda_begin() | cuda.allocate(&memory, 4096) | cuda.new_stream(&stream, 1);

	for (int i = 0; i < 10; i++)
		result |= cuda.set(memory, 1, 4096, stream);
	printf("%d\n", result | cuda.wait(stream));
	fflush(stdout);
}

static void on_fault(int signal)
{
	abort();
}

static void leave(void *argument)
{
	usleep(200000);
	_exit(3);
}

static void wait_for_the_end(void)
{
	void *stream = NULL;

	cuda.new_stream(&stream, 1);
	cuda.call_host(stream, leave, NULL);
	cuda.wait(stream);
}

static long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void time_children(void)
{
	long start = milliseconds();
	pid_t child = vfork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	printf("vfork %ld\n", milliseconds() - start);
	start = milliseconds();
	child = fork();
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
	printf("fork %ld\n", milliseconds() - start);
	fflush(stdout);
	_exit(0);
}

/* Reads a line "WORD: value" of a thread's status.  Returns 0 if there is none. */
static int read_status(const char *task, const char *word, char *value)
{
	char path[300], line[300], format[40];
	int found = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%s/status", task);
	snprintf(format, sizeof(format), "%s: %%63s", word);
	file = fopen(path, "r");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, format, value) == 1;
	if (file)
		fclose(file);
	return found;
}

/* Returns 0 if it is not there yet. */
static int show_thread(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGUSR1 };
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	char value[64];
	int found = 0;

	while ((entry = readdir(tasks))) {
		if (!read_status(entry->d_name, "Name", value) || strcmp(value, "cufence") ||
			!read_status(entry->d_name, "SigBlk", value))
			continue;
		found = 1;
		for (int i = 0; i < 3; i++) {
			struct sigaction action;

			sigaction(signals[i], NULL, &action);
			printf("%d: blocked %llu, default %d\n", signals[i],
				strtoull(value, NULL, 16) >> (signals[i] - 1) & 1,
				action.sa_handler == SIG_DFL);
		}
	}
	closedir(tasks);
	fflush(stdout);
	return found;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	cuda_find();
	work();
	if (!strcmp(how, "_exit"))
		_exit(3);
	if (!strcmp(how, "_Exit"))
		_Exit(3);
	if (!strcmp(how, "quick_exit"))
		quick_exit(3);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "handler")) {
		signal(SIGSEGV, on_fault);
		raise(SIGSEGV);
	}
	if (!strcmp(how, "inside"))
		wait_for_the_end();
	if (!strcmp(how, "KILL")) {
		usleep(500000);
		kill(getpid(), SIGKILL);
	}
	if (!strcmp(how, "children"))
		time_children();
	for (int i = 0; i < 1000 && !strcmp(how, "thread") && !show_thread(); i++)
		usleep(1000);
	return 0;
}
