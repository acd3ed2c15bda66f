/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends like programs end, after CUDA calls: lifecycle kill|exit|fork|forklate|forkuse.  Or starts
 * itself again after such calls, as "lifecycle exit", like programs start others: lifecycle
 * exec|spawn|vfork|system.  Prints the results of the calls, so that changed results are detected.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int (*init)(unsigned);
static int (*retain)(void **, int);
static int (*set_current)(void *);
static int (*allocate)(unsigned long long *, size_t);
static int (*release)(unsigned long long);

static void find_calls(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);

	if (!cuda) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	*(void **)&init = dlsym(cuda, "cuInit");
	*(void **)&retain = dlsym(cuda, "cuDevicePrimaryCtxRetain");
	*(void **)&set_current = dlsym(cuda, "cuCtxSetCurrent");
	*(void **)&allocate = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&release = dlsym(cuda, "cuMemFree_v2");
}

static void use_cuda(int rounds)
{
	void *context = NULL;
	unsigned long long ptr = 0;
	int results = init(0) | retain(&context, 0) | set_current(context);

	for (int i = 0; i < rounds; i++)
		results |= allocate(&ptr, 4096) | release(ptr);
	errno = ENOTTY;
	printf("%d, bad free %d", results, release(12345));
	printf(", errno %s\n", errno == ENOTTY ? "kept" : "changed");
	fflush(stdout);
}

static void fork_and_use(int rounds)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		use_cuda(rounds);
		exit(0);
	}
	waitpid(child, &status, 0);
	printf("child %d\n", status);
	fflush(stdout);
}

/* For "exec" it does not return. */
static void start_again(const char *mode, char *self)
{
	char *argv[] = { self, "exit", NULL }, line[4096];
	int status = 0;
	pid_t child = 0;

	if (!strcmp(mode, "exec"))
		execv(self, argv);
	if (!strcmp(mode, "system")) {
		snprintf(line, sizeof(line), "%s exit", self);
		status = system(line);
	} else if (!strcmp(mode, "spawn")) {
		status = posix_spawn(&child, self, NULL, NULL, argv, environ);
	} else {
		child = vfork();
		if (!child) {
			execv(self, argv);
			_exit(127);
		}
	}
	if (child > 0)
		waitpid(child, &status, 0);
	printf("child %d\n", status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	find_calls();
	if (!strcmp(mode, "fork"))
		fork_and_use(100);
	use_cuda(100);
	/* A child of a process that has used CUDA cannot use it, but may exit. */
	if (!strcmp(mode, "forklate")) {
		pid_t child = fork();
		if (!child)
			exit(0);
		waitpid(child, NULL, 0);
		use_cuda(10);
	}
	/* Its CUDA calls fail. */
	if (!strcmp(mode, "forkuse")) {
		fork_and_use(10);
		use_cuda(10);
	}
	if (!strcmp(mode, "exec") || !strcmp(mode, "spawn") || !strcmp(mode, "vfork") ||
		!strcmp(mode, "system")) {
		start_again(mode, argv[0]);
		use_cuda(10);
	}
	if (!strcmp(mode, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(mode, "_exit"))
		_exit(3);
	return 0;
}
