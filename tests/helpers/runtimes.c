/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cost of preloading a library: runtimes N LIBRARY PROGRAM... runs the program N times with it and
 * N times without, alternating, and prints the difference of the median times in microseconds: CPU
 * time of the whole process, which a busy machine changes little.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_RUNS 1000

static int compare(const void *a, const void *b)
{
	const long *p = a, *q = b;

	return *p < *q ? -1 : *p > *q;
}

static long run(char **argv, const char *library)
{
	struct rusage use;
	int status, null;
	pid_t child = fork();

	if (!child) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, 1);
		if (library)
			setenv("LD_PRELOAD", library, 1);
		execv(argv[0], argv);
		_exit(127);
	}
	if (wait4(child, &status, 0, &use) != child || status)
		exit(2);
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 + use.ru_utime.tv_usec +
		use.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
	static long with[MAX_RUNS], without[MAX_RUNS];
	int runs = argc > 3 ? atoi(argv[1]) : 0;

	if (runs < 1 || runs > MAX_RUNS)
		return 2;
	for (int i = 0; i < runs; i++) {
		without[i] = run(argv + 3, NULL);
		with[i] = run(argv + 3, argv[2]);
	}
	qsort(without, (size_t)runs, sizeof(*without), compare);
	qsort(with, (size_t)runs, sizeof(*with), compare);
	printf("%ld\n", with[runs / 2] - without[runs / 2]);
	return 0;
}
