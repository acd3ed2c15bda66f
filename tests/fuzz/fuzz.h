/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target is one file with the two functions below, linked with driver.c, which mutates the
 * seeds and keeps inputs that reach new code (any gcc or clang), or with libFuzzer.
 * A target must not print: stderr is closed to all but the sanitizers' reports.
 */
#ifndef CUFENCE_FUZZ_H
#define CUFENCE_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct fuzz_input {
	uint8_t *data; /* malloc'ed */
	size_t size;
};

/* Uses the bytes in every way the project does; 0.  libFuzzer's name, so that it finds it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The n-th input to start from: 1, 0: there are no more, -1: it cannot be made. */
int fuzz_seed(unsigned n, char *const *path, unsigned count, struct fuzz_input *seed);

/* A whole file: 0 or -1. */
int fuzz_read(const char *path, struct fuzz_input *input);

/* A trace in its text form as a trace without unused space: 0 or -1. */
int fuzz_read_trace(const char *path, struct fuzz_input *input);

/* Only a target that reads traces defines this: driver.c knows how to make traces. */
extern const int fuzz_is_trace __attribute__((weak));

/* A file in memory, with its name; never closed.  Exits when there is none. */
int fuzz_memory_file(char name[32]);

#endif
