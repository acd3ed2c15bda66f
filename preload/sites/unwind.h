/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds the calling thread's stack by call frame information, starting at a wrapper. libgcc's
 * unwinder is meant for exceptions: it reads code at the return address, and programs with their
 * own stacks (coroutines) may leave arbitrary values at the end.  Here memory is validated before
 * it is read, and unwinding ends at anything that is not supported.
 */
#ifndef CUFENCE_UNWIND_H
#define CUFENCE_UNWIND_H

#include <stdint.h>

#include "frame_rules.h"

#define UNWIND_REGISTERS MACHINE_REGISTERS

/* A frame: its address, and the registers of its function. */
struct unwinder {
	uintptr_t address; /* where the function continues */
	uintptr_t slot;    /* stack slot that contained address */
	uint64_t value[UNWIND_REGISTERS];
	uint32_t known;                  /* bit per register with a known value */
	int exact;                       /* address was interrupted, not a return address */
	const void *rules;               /* frame description of address, NULL: none */
	uintptr_t start;                 /* of the function, if there is one */
	uintptr_t page;                  /* known to be readable */
	struct frame_rules_space *space; /* owned by the caller */
};

/*
 * Looks up libgcc's frame description function at run time: linking to it would add a dependency to
 * every program.
 */
void unwind_init(void);

/*
 * Starts at the caller of the function with this frame address (where its frame pointer is saved).
 * Returns 1, or 0 if unwinding is not possible. space is used until the last step.
 */
int unwind_begin(struct unwinder *unwinder, uintptr_t frame, struct frame_rules_space *space);

/* Starts at the instruction interrupted by a signal; context is the handler's third argument. */
int unwind_begin_at(struct unwinder *unwinder, const void *context,
	struct frame_rules_space *space);

/* Moves to the caller.  Returns 1, or 0 at the end.  May change errno. */
int unwind_step(struct unwinder *unwinder);

#endif
