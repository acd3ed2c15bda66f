/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of "cufence try" to libcufence-fix.so and what it did, in a file that both map.  A call
 * is identified by its function and its call path (hold_plan.h), which has the build ids of the
 * program and its libraries.
 */
#ifndef CUFENCE_FIX_PLAN_H
#define CUFENCE_FIX_PLAN_H

#include <stdint.h>

#include "hold_plan.h"

#define FIX_MAGIC UINT64_C(0x3178696665667563) /* "cufefix1" */
#define FIX_PLACES 256

/* How a call is made. */
enum fix_treatment {
	FIX_NOTHING,   /* as the program makes it */
	FIX_LEAVE_OUT, /* a wait succeeds at once */
	FIX_PUT_OFF,   /* what is freed is freed once the program has waited for the device */
	FIX_ONCE,      /* a limit that is as large already stays */
	FIX_KEEP_POOL, /* of all calls: pools of stream-ordered memory give nothing back */
	FIX_EAGER,     /* not by the library: CUDA loads all code at the start */
};

struct fix_place {
	struct hold_place place;
	uint32_t treatment; /* enum fix_treatment */
	uint32_t unused;
};

struct fix_plan {
	uint64_t magic;
	uint32_t count;
	uint16_t keeps_pools; /* 1: FIX_KEEP_POOL */
	uint16_t reuses_host; /* 1: host memory that is put off is given to later allocations */
	_Atomic uint64_t began, ended; /* ns, of the same clock: the first call and the last wait */
	_Atomic uint64_t applied;      /* calls that were changed */
	_Atomic uint64_t failed;       /* calls of the library's own that failed */
	struct fix_place places[FIX_PLACES]; /* those of one place follow each other */
};

#endif
