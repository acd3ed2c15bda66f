/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the guard.  pages.c tracks and protects the host memory of pending work, guard.c
 * tracks the program's calls, graphs.c knows the memory of executable graphs, own_pages.c gives
 * allocations pages of their own, system_calls.c opens memory that the kernel will read or write
 * for the program, signals.c keeps SIGSEGV deliverable, stacks.c gives the handler a stack.
 *
 * Any thread may call, and so may a handler of SIGSEGV.  A single spin lock is held with all other
 * signals blocked, and the data that it protects is never in memory that may be guarded.  Nothing
 * here uses the heap or any other lock.
 */
#ifndef CUFENCE_GUARD_INTERNAL_H
#define CUFENCE_GUARD_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "guard.h"
#include "machine.h"

/* glibc's dlsym, not the recorder's, as of glibc 2.31 (preload/glibc.h). */
__asm__(".symver dlsym, dlsym@" MACHINE_OLD("2.2.5"));

#define PAGE 4096u

/* Bytes of host memory: rows of width bytes, height rows in each slice. */
struct host_end {
	uintptr_t low, high;                  /* the first byte, and the one after the last */
	uint64_t width, pitch, height, slice; /* width 0: all bytes from low to high */
};

/* What pending work does with the memory; the parameters of a kernel do not tell. */
enum use { USE_READ, USE_WRITE, USE_ANY };

/* Memory of submitted work: an end of a copy, a memset's, or an allocation that a kernel names. */
struct pending_use {
	struct host_end end;
	enum use use;
	unsigned context;   /* current at its submission */
	uint64_t stream;    /* key */
	uint64_t submitted; /* tick of submission */
};

/* Counters, by guard_count.name. */
#define GUARD_COUNTS(X) \
	X(COPIES, copies)             /* memory ranges guarded */ \
	X(TOUCHES, touches)           /* first accesses by the program */ \
	X(BY_CUDA, by_cuda)           /* of these, within a CUDA call */ \
	X(BEHIND, behind)             /* accesses behind the end of guarded memory */ \
	X(PART_OF_PAGE, part_of_page) /* not guarded: other data in each of its pages */ \
	X(UNKNOWN, unknown)           /* not guarded: not known to be pinned */ \
	X(REFUSED, refused)           /* not guarded: the kernel refused */ \
	X(BATCHED, batched)           /* not guarded: a batch of copies */ \
	X(BLOCKED, blocked)           /* not guarded: the thread blocks SIGSEGV */ \
	X(NODES, nodes)               /* not guarded: nodes of graphs, too many or not known */ \
	X(CROWDED, crowded)           /* opened early: too many at a time */
enum guard_counter {
#define X(symbol, name) GUARDED_##symbol,
	GUARD_COUNTS(X)
#undef X
		GUARDED_COUNT
};
void pages_count(enum guard_counter counter);
uint64_t pages_counted(enum guard_counter counter);

/* Returns NULL, or why nothing can be guarded.  Nothing is pending in a forked child. */
const char *pages_start(const struct guard_recorder *recorder);
const char *pages_managed(void); /* as guard.managed() (guard.h) */
void pages_child(void);

/* Memory of CUDA's that the program can access. */
struct host_memory {
	uintptr_t start, end;
	uintptr_t base; /* the driver's address of an allocation with pages of its own, else 0 */
	int managed;    /* else pinned */
};
/* Adds memory in place of what was there before.  Returns 0, or -1 if the table is full. */
int pages_add_memory(const struct host_memory *memory);
/* Call before the memory is freed: stops guarding it. */
void pages_remove_memory(uintptr_t start);
/* Finds the memory at that address.  Returns 1 if there is some. */
int pages_find_memory(uintptr_t address, struct host_memory *memory);
extern _Atomic int pages_have_managed; /* some was added */
/* Returns 1 while memory is guarded in this process. */
int pages_are_guarded(void);

/* Protects the memory until pages_complete(). */
void pages_guard(const struct pending_use *use);

/* Marks work submitted up to that tick as complete: of a stream, a context (0: of all), or all. */
void pages_complete_stream(uint64_t stream, uint64_t until);
void pages_complete(unsigned context, uint64_t until);

/* Memory that others are about to access for the program. */
struct opened {
	int conflicts;     /* 1: it conflicts with a pending copy */
	uint64_t after;    /* then: number of bytes moved before the conflict */
	uintptr_t address; /* then: its address */
};
extern _Atomic unsigned pages_pending; /* 0: nothing is protected */
void pages_open(struct opened *opened, const void *address, uint64_t bytes, int write,
	uint64_t before);
/* Reports the access.  moved: number of bytes actually moved.  Preserves errno. */
void pages_report(const struct opened *opened, uint64_t moved, int write, void *frame_address);

/* --- own_pages.c --- */

/* As guard.wrap() and guard.queries (guard.h). */
void *own_pages_wrap(enum call_id call, int variant, void *real);
extern const struct guard_query own_pages_queries[];

/* --- graphs.c --- */

/* Follows calls that make, change or destroy an executable graph. */
void graphs_start(const struct guard_recorder *recorder);
void graphs_called(const struct guard_call *call);
/* Calls function with each use of memory by an executable graph's nodes. */
void graphs_launch(uint64_t exec, void (*function)(void *arg, const struct pending_use *use),
	void *arg);
/* Do the same for one operation, whose fields are as in a call. */
void guard_uses_of_copy(const uint64_t *field,
	void (*function)(void *arg, const struct pending_use *use), void *arg);
void guard_uses_of_kernel(uint64_t kernel, void *const *values, void *const *extra,
	void (*function)(void *arg, const struct pending_use *use), void *arg);

/* --- signals.c --- */

/* Blocks all signals but faults in this thread, and restores its mask, also one with SIGSEGV. */
void signals_block(uint64_t *before);
void signals_restore(const uint64_t *before);

/* --- stacks.c --- */

/*
 * Calls function(arg) on a stack of the guard, with all other signals blocked: the thread's
 * alternate stack may have little room left, and a handler that used it now would overwrite what
 * is on it.
 */
void stacks_call(void (*function)(void *arg), void *arg);
/* Returns 0, or -1 without memory. */
int stacks_start(void);

#endif
