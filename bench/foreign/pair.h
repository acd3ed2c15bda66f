/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the C++ programs of the pairs share, as pair.py does for the Python programs: "NAME" is the
 * program with the wait, "NAME fixed" the one without, "NAME both N" both in turn.
 */
#ifndef CUFENCE_BENCH_FOREIGN_PAIR_H
#define CUFENCE_BENCH_FOREIGN_PAIR_H

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>

#include <cuda_runtime.h>

#define CHECK(call) \
	do { \
		int error_ = (int)(call); \
		if (error_) { \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, \
				error_); \
			exit(1); \
		} \
	} while (0)

typedef std::chrono::steady_clock::time_point moment;

static inline moment now()
{
	return std::chrono::steady_clock::now();
}

/* From before the first turn until the device has done them all. */
static inline void report(moment begin, moment end, int turns, double checksum)
{
	double us = std::chrono::duration<double, std::micro>(end - begin).count() / turns;

	printf("TURN_US %.1f TURNS %d CHECKSUM %.6g\n", us, turns, checksum);
	fflush(stdout);
}

/* Waits, before CUDA begins, until no other program uses the device; then on cores of its own. */
static inline void take_turn(void)
{
	const char *turn = getenv("PAIR_TURN");
	char *cores = getenv("PAIR_CORES");
	cpu_set_t own;

	if (!turn)
		return;
	flock(open(turn, O_RDWR), LOCK_EX); /* until the process ends */
	CPU_ZERO(&own);
	for (; *cores; cores += *cores == ',')
		CPU_SET(strtol(cores, &cores, 10), &own);
	sched_setaffinity(0, sizeof(own), &own);
}

/* Returns the status of the process. */
static inline int run(void (*pair)(bool fixed), int count, char **arguments)
{
	bool fixed = count > 1 && !strcmp(arguments[1], "fixed");

	take_turn();
	if (count > 2 && !strcmp(arguments[1], "both")) {
		pair(false);
		pair(true);
		for (int i = 0; i < atoi(arguments[2]); i++) {
			pair(i % 2 > 0);
			pair(i % 2 == 0);
		}
		return 0;
	}
	for (int i = 0; i < 3; i++)
		pair(fixed);
	return 0;
}

#endif
