/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the guard.  pages.c keeps the host memory of pending copies and what it is
 * protected from, guard.c follows the program's calls, system_calls.c opens what the kernel is to
 * read or write for the program, signals.c keeps SIGSEGV deliverable.
 *
 * Any thread calls, a handler of SIGSEGV too.  One spin lock is held with all other signals
 * blocked, and nothing that it protects lies in memory that may be guarded.  Nothing here uses the
 * heap or any other lock.
 */
#ifndef CUFENCE_GUARD_PARTS_H
#define CUFENCE_GUARD_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "guard.h"

/* Not the recorder's, and as of glibc 2.31 (preload/glibc.h). */
#if defined(__x86_64__) && defined(__linux__)
__asm__(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif

/* Bytes of host memory: rows of width bytes, height of them in each slice. */
struct host_end {
	uintptr_t low, high;                  /* the first byte, and the one behind the last */
	uint64_t width, pitch, height, slice; /* width 0: all from low to high */
};

/* A copy that was submitted. */
struct pending_copy {
	struct host_end end;
	int written;        /* 1: the device writes there, 0: it reads */
	uint64_t stream;    /* key */
	uint64_t submitted; /* ticks */
};

/* What is counted; guard_count.name. */
#define GUARD_COUNTS(X) \
	X(COPIES, copies)             /* ends of copies that were guarded */ \
	X(TOUCHES, touches)           /* first accesses of the program's */ \
	X(BY_CUDA, by_cuda)           /* ... made within a CUDA call */ \
	X(BESIDE, beside)             /* accesses to other bytes of a guarded page */ \
	X(PART_OF_PAGE, part_of_page) /* not guarded: no whole page is the memory's own */ \
	X(UNKNOWN, unknown)           /* not guarded: memory that is not known to be pinned */ \
	X(REFUSED, refused)           /* not guarded: the kernel refused */ \
	X(CAPTURED, captured)         /* not guarded: a stream was being captured */ \
	X(BATCHED, batched)           /* not guarded: a batch of copies */ \
	X(GRAPHS, graphs)             /* launches of graphs, whose copies are not guarded */ \
	X(CROWDED, crowded)           /* opened early: there were too many */
enum guard_counter {
#define X(symbol, name) GUARDED_##symbol,
	GUARD_COUNTS(X)
#undef X
		GUARDED_COUNT
};
void pages_count(enum guard_counter counter);
uint64_t pages_counted(enum guard_counter counter);

/* NULL, or why nothing can be guarded.  In a forked child nothing is pending. */
const char *pages_start(const struct guard_recorder *recorder);
void pages_child(void);

/* Pinned memory; owns_pages: it begins at a page, and nobody else has the rest of its last one. */
void pages_add_memory(uintptr_t start, uint64_t bytes, int owns_pages);
/* 1: of pinned memory. */
int pages_is_pinned(uintptr_t address);

/* Protects it until it is waited for. */
void pages_guard(const struct pending_copy *copy);

/* Streams' copies that were submitted up to that tick are complete; ANY_STREAM: all streams. */
#define ANY_STREAM UINT64_MAX
void pages_complete(uint64_t stream, uint64_t until);

/* What is about to be accessed for the program by others. */
struct opened {
	int conflicts;     /* 1: it conflicts with a pending copy */
	uint64_t after;    /* ... once so many bytes have been moved */
	uintptr_t address; /* ... at this address */
};
extern _Atomic unsigned pages_pending; /* 0: nothing is protected */
void pages_open(struct opened *opened, const void *address, uint64_t bytes, int write,
	uint64_t before);
/* moved: as many bytes in fact.  Keeps errno. */
void pages_report(const struct opened *opened, uint64_t moved, int write, void *frame_address);

#endif
