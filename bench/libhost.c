/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded by bench/savings/run: appends to the file CUFENCE_BENCH_HOST how many ns a fixed loop
 * takes when main() has returned.  On a virtual machine it takes up to twice as long in some runs,
 * and so do the CUDA calls before it: probably a neighbour uses the other half of the core.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 60000
#define CHAINS 6

static int (*program)(int, char **, char **);

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* As many independent chains as keep a core's units busy. */
static uint64_t loop(void)
{
	uint64_t state[CHAINS] = { 1, 2, 3, 4, 5, 6 }, begin = now(), all = 0;

	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < CHAINS; i++) {
			state[i] ^= state[i] << 13;
			state[i] ^= state[i] >> 7;
			state[i] ^= state[i] << 17;
		}
	for (int i = 0; i < CHAINS; i++)
		all ^= state[i];
	return now() - begin + (all == 0);
}

static int measured(int argc, char **argv, char **environment)
{
	int result = program(argc, argv, environment);
	const char *path = getenv("CUFENCE_BENCH_HOST");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;

	if (fd >= 0) {
		dprintf(fd, "%llu\n", (unsigned long long)loop());
		close(fd);
	}
	return result;
}

/* The C library's, which calls main(). */
int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv,
	void (*init)(void), void (*fini)(void), void (*linker_fini)(void), void *stack_end);

int __libc_start_main(int (*start)(int, char **, char **), int argc, char **argv,
	void (*init)(void), void (*fini)(void), void (*linker_fini)(void), void *stack_end)
{
	int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
		void (*)(void), void *) = NULL;

	*(void **)&real = dlsym(RTLD_NEXT, "__libc_start_main");
	program = start;
	return real(measured, argc, argv, init, fini, linker_fini, stack_end);
}
