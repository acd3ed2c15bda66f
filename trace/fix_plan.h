/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fixes a program runs with, and what became of them.  "cufence try" gives it to
 * libcufence-try.so in a file that both map; libcufence-fix.so reads it from a text file
 * (fix_file.h).  A call is identified by its function and its call path (hold_plan.h), which has
 * the build ids of the program and its libraries.
 */
#ifndef CUFENCE_FIX_PLAN_H
#define CUFENCE_FIX_PLAN_H

#include <stdint.h>

#include "hold_plan.h"

#define FIX_MAGIC UINT64_C(0x3278696665667563) /* "cufefix2" */
#define FIX_PLACES 512
#define FIX_FINDINGS 32
#define FIX_IMAGES 64

/*
 * How a call is made: X(symbol, name in files, what is done).  At the calls of its places, unless
 * that says of which calls instead.
 */
#define FIX_TREATMENTS(X) \
	X(NOTHING, "nothing", "is made as before") \
	X(LEAVE_OUT, "leave-out", "a wait succeeds at once") \
	X(LEAVE_REPEATED, "leave-repeated", \
		"a wait succeeds at once where another one just ended") \
	X(PUT_OFF, "put-off", "what is freed is freed after the next wait for the device") \
	X(ONCE, "once", "a limit that is as large already stays") \
	X(KEEP_POOL, "keep-pool", "all pools of stream-ordered memory give nothing back") \
	X(EAGER, "eager", "CUDA loads all code at the start") \
	X(REMEMBER, "remember", "code that is loaded again is the module of before") \
	X(STAGE, "stage", "an upload is copied through pinned memory") \
	X(FENCE, "fence", "the stream of a later call waits for the work of an earlier one") \
	X(MOVE, "move", "work of the legacy default stream is in a stream of its own")

enum fix_treatment {
#define X(symbol, name, what) FIX_##symbol,
	FIX_TREATMENTS(X)
#undef X
		FIX_TREATMENT_COUNT
};

/* Why a fix is no longer applied: X(symbol, in words). */
#define FIX_SURPRISES(X) \
	X(NOTHING, "") \
	X(ERROR, "a call failed that did not when the fix was tried") \
	X(OTHER_BUILD, "the program or a library is not the build in which the fix was tried") \
	X(MEMORY, "memory was short: what was kept is freed") \
	X(OWN_CALL, "a call of its own failed") \
	X(CONTEXTS, "the program uses a second context, or device") \
	X(VARIABLE, "the program asks for a variable of a module that was to be remembered")

enum fix_surprise {
#define X(symbol, words) FIX_SURPRISE_##symbol,
	FIX_SURPRISES(X)
#undef X
		FIX_SURPRISE_COUNT
};

/*
 * What a place is to its finding: X(symbol, treatment, name in files).  A fence has two sides, and
 * is one of all its places.  Work that is moved stays in order with all calls but those apart.
 */
#define FIX_SIDES(X) \
	X(LATER, FENCE, "later") \
	X(EARLIER, FENCE, "earlier") \
	X(MOVED, MOVE, "moved") \
	X(APART, MOVE, "apart")

enum fix_side {
#define X(symbol, treatment, name) FIX_##symbol,
	FIX_SIDES(X)
#undef X
		FIX_SIDE_COUNT
};

struct fix_place {
	struct hold_place place;
	uint8_t treatment; /* enum fix_treatment */
	uint8_t finding;   /* index in findings */
	uint8_t side;      /* enum fix_side, 0 where its treatment has none */
	uint8_t unused[5];
};

struct fix_finding {
	uint32_t number;          /* as reports had it */
	uint32_t treatment;       /* enum fix_treatment */
	_Atomic uint64_t applied; /* calls that were changed */
	_Atomic uint32_t off;     /* enum fix_surprise; 0: it is applied */
	uint32_t reuses_host;     /* 1: host memory that is put off is given to later allocations */
};

struct fix_plan {
	uint64_t magic;
	uint32_t count;                /* of places */
	uint32_t findings_count;       /* 0: the program runs as it is */
	_Atomic uint64_t began, ended; /* ns, of the same clock: the first call and the last wait */
	struct fix_finding findings[FIX_FINDINGS];
	struct fix_place places[FIX_PLACES]; /* those of one place follow each other */
	uint32_t images_count;
	uint32_t unused;
	uint64_t images[FIX_IMAGES]; /* image_hash() of code that may be remembered */
};

#endif
