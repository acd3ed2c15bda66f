/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fix without the recorder: libcufence-fix.so alone is preloaded, and CUFENCE_FIX names a file
 * of fixes (trace/fix_file.h).  entries.c is called in place of the driver, site.c tells call paths
 * apart, alone.c begins, counts and says what was done.
 *
 * The recorder's rules hold (preload/shim.h): never exit, print to stdout, change errno or a result
 * other than by a fix.  Where something cannot be done, the program runs as it is.
 */
#ifndef CUFENCE_ALONE_H
#define CUFENCE_ALONE_H

#include <stdint.h>

#include "fix_file.h"
#include "fix_internal.h"

/* OFF until the library's constructor has read the file. */
enum alone_stage { ALONE_OFF, ALONE_IDLE, ALONE_STARTING, ALONE_ON };
extern _Atomic int alone_stage __attribute__((visibility("hidden")));

/* Reads the file at the first call of the process: 1 if fixes are applied. */
int alone_begin(void);
static inline int alone_is_on(void)
{
	int stage = atomic_load_explicit(&alone_stage, memory_order_acquire);

	return stage == ALONE_ON || (stage == ALONE_IDLE && alone_begin());
}

/* The frame address of the call in progress of this thread, 0: none. */
extern __thread uintptr_t alone_frame __attribute__((visibility("hidden")));

/* Called after a call that failed. */
void alone_failed(enum call_id call, int result);

/* Called after a capture began (1), and before it ends (-1). */
void alone_capture(int step);

/* The file's module of that name has another build id. */
void alone_other_build(const struct fix_module *module);

/* --- site.c --- */

/* 0, or not if it cannot. */
int site_begin(const struct fix_file *file);
/* As hold_recorder has them. */
uint32_t site_of_call(void);
uint64_t site_place_add(uint64_t place, uint64_t address);

#endif
