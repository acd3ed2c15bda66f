/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinds the calling thread's stack by the call frame information of the code on it, outwards
 * from a wrapper.  libgcc's unwinder is for code that throws: it reads what lies at a return
 * address, and programs that make stacks of their own (coroutines) leave anything for one at
 * their ends.  Here nothing is read before it is known to be there, and what is not understood is
 * the end.
 */
#ifndef CUFENCE_UNWIND_H
#define CUFENCE_UNWIND_H

#include <stdint.h>

#include "frame_rules.h"

#define UNWIND_REGISTERS 16 /* x86-64's, as DWARF numbers them */

/* A place on the stack: a return address, and the registers as the function it is in has them. */
struct unwinder {
	uintptr_t address; /* where the function goes on */
	uintptr_t slot;    /* the word that held address */
	uint64_t value[UNWIND_REGISTERS];
	uint32_t known;                  /* bit of each whose value that is */
	int exact;                       /* address was interrupted, not returned to */
	const void *rules;               /* frame description of address, NULL: none */
	uintptr_t start;                 /* of the function, if there is one */
	uintptr_t page;                  /* that can be read */
	struct frame_rules_space *space; /* the caller's */
};

/* Finds libgcc's list of frame descriptions: a link-time dependency would be everybody's. */
void unwind_init(void);

/*
 * At the caller of the function whose frame address (its saved frame pointer's place) this is: 1,
 * or 0 if nothing can be unwound.  space is used until the last step.
 */
int unwind_begin(struct unwinder *unwinder, uintptr_t frame, struct frame_rules_space *space);

/* At the instruction that a signal interrupted; context is the handler's third argument. */
int unwind_begin_at(struct unwinder *unwinder, const void *context,
	struct frame_rules_space *space);

/* One function further out: 1, or 0 at the end.  May change errno. */
int unwind_step(struct unwinder *unwinder);

#endif
