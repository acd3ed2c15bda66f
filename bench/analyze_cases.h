/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose analysis is timed: each is a trace of so many calls, by number of what it has. */
#ifndef CUFENCE_BENCH_ANALYZE_CASES_H
#define CUFENCE_BENCH_ANALYZE_CASES_H

#include <stdint.h>

struct bench_case {
	const char *name;
	unsigned things; /* what it has many of; with half the calls it has half of these */
	uint64_t calls;
	double slower;   /* than the plain ones it may be, by this factor */
	double detector; /* operations a second, for the missing fences alone; 0: no bar */
	void (*make)(const char *path, uint64_t calls, unsigned things);
};

extern const struct bench_case bench_cases[];
extern const unsigned bench_case_count;

#endif
