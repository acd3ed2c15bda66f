/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard of host memory: a library of its own next to the recorder (guard/), loaded only where
 * "run --guard-host" or CUFENCE_GUARD_HOST asks for it.  The recorder tells it which copies were
 * submitted and what has been waited for; it protects the pages meanwhile, and tells the recorder
 * which of them the program touched.
 */
#ifndef CUFENCE_GUARD_H
#define CUFENCE_GUARD_H

#include <signal.h>
#include <stdint.h>

#include "calls.h"

/* A driver call.  Calls that do not name something have 0 there. */
struct guard_call {
	enum call_kind kind;
	int by_device;                    /* a copy with an end that is the device's */
	int per_thread;                   /* stream 0 is the thread's own */
	int capturing;                    /* some stream is being captured */
	uint64_t enter;                   /* ticks; 0: not known */
	uint64_t field[FIELD_KIND_COUNT]; /* by enum field_kind */
};

/* What the recorder does for the guard. */
struct guard_recorder {
	/* faults.h, of SIGSEGV. */
	int (*watch)(int (*handler)(const siginfo_t *info, void *context));
	uint64_t (*clock)(void); /* ticks */
	/*
	 * Records a first access, by the instruction that a signal interrupted (context) or by the
	 * caller of the function whose frame address it is.  0: CUDA itself made it, or nothing is
	 * recorded now.
	 */
	int (*touched)(uintptr_t address, int write, const void *context, void *frame_address);
};

/* What was done: name and count, of which reports tell. */
struct guard_count {
	const char *name;
	uint64_t count;
};

/* What the guard does for the recorder.  On any thread. */
struct guard {
	/* When recording starts: NULL, or why nothing can be guarded. */
	const char *(*start)(const struct guard_recorder *recorder);
	/* Before a call that gives up host memory or a context, recorded or not: all is opened. */
	void (*open_all)(void);
	/* After a call that succeeded. */
	void (*called)(const struct guard_call *call);
	/* Fills at most room: how many there are. */
	unsigned (*counts)(struct guard_count *count, unsigned room);
	/* In a forked child. */
	void (*child)(void);
};

/* There where the library is loaded. */
extern const struct guard cufence_guard __attribute__((weak, visibility("default")));

#endif
