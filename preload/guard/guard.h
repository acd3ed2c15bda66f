/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard of host memory: a separate library next to the recorder (guard/), loaded only with "run
 * --guard-host" or CUFENCE_GUARD_HOST. The recorder informs it of submitted copies and completed
 * waits; it protects the pages of pending copies, and reports to the recorder which of them the
 * program accessed.
 */
#ifndef CUFENCE_GUARD_H
#define CUFENCE_GUARD_H

#include <signal.h>
#include <stdint.h>

#include "calls.h"

/* A driver call.  Fields that the call does not have are 0. */
struct guard_call {
	enum call_kind kind;
	int by_device;                    /* a copy with an operand in device memory */
	int per_thread;                   /* stream 0 is the per-thread default stream */
	int capturing;                    /* some stream is being captured */
	unsigned context;                 /* id of the current one, 0: unknown */
	uint64_t enter;                   /* ticks; 0: unknown */
	uint64_t field[FIELD_KIND_COUNT]; /* by enum field_kind */
	/* Parameters of a launch or kernel node, as in cuLaunchKernel; function 0: none. */
	uint64_t function;
	void *const *values, *const *extra;
};

/* Functions of the recorder for the guard. */
struct guard_recorder {
	/* As faults_watch() for SIGSEGV. */
	int (*watch)(int (*handler)(const siginfo_t *info, void *context));
	uint64_t (*clock)(void); /* ticks */
	int (*simulated)(void);  /* the device is simulated */
	/* Returns a driver function by its exported name, or NULL. */
	void *(*symbol)(const char *name);
	/*
	 * Stores those words of a kernel's parameters that may be addresses of memory known to
	 * CUDA, at most room; returns their number.
	 */
	unsigned (*words)(uint64_t function, void *const *values, void *const *extra,
		uint64_t *word, unsigned room);
	/*
	 * Records a first access, by the instruction that a signal interrupted (context) or by the
	 * caller of the function with that frame address.  Returns 0 if CUDA itself made it, or if
	 * nothing is recorded now.
	 */
	int (*touched)(uintptr_t address, int write, const void *context, void *frame_address);
};

/* Name and value of a counter for reports. */
struct guard_count {
	const char *name;
	uint64_t count;
};

/* A driver function without a row in calls.def that the guard answers itself. */
struct guard_query {
	const char *name; /* exported symbol, NULL: the end of the list */
	void *wrapper;
	void **real;
};

/* Functions of the guard for the recorder.  On any thread. */
struct guard {
	/*
	 * Returns the function to call in place of a driver function; called before start, too.
	 */
	void *(*wrap)(enum call_id call, int variant, void *real);
	const struct guard_query *queries;
	/* Called when recording starts.  Returns NULL, or why nothing can be guarded. */
	const char *(*start)(const struct guard_recorder *recorder);
	/* Returns NULL, or why managed memory cannot be guarded; after start. */
	const char *(*managed)(void);
	/*
	 * Called before a call that frees host memory or destroys a context, recorded or not:
	 * removes all protection.
	 */
	void (*open_all)(void);
	/* Called after a successful call. */
	void (*called)(const struct guard_call *call);
	/* Fills at most room counters; returns their number. */
	unsigned (*counts)(struct guard_count *count, unsigned room);
	/* Called in a forked child. */
	void (*child)(void);
};

/* Defined if the library is loaded. */
extern const struct guard cufence_guard __attribute__((weak, visibility("default")));

#endif
