/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the fix.  wrappers.c is between the recorder and the driver, fix.c finds the plan's
 * calls among the program's and decides, freed.c keeps what the program has freed.
 *
 * No lock is held during a call of the driver's.
 */
#ifndef CUFENCE_FIX_INTERNAL_H
#define CUFENCE_FIX_INTERNAL_H

#include <stdint.h>

#include "fix_plan.h"
#include "hold.h"

/* A driver call of the program. */
struct fixed_call {
	enum call_id id;
	enum call_kind kind;
	uint64_t ptr, bytes, flags; /* fields as passed; 0: none */
	uint64_t array, pool, event, type, value;
	uint64_t *made; /* where an allocation of host memory is returned, or NULL */
	void *real;     /* the driver's function */
};

/* What a call that frees names. */
static inline uint64_t fixed_handle(const struct fixed_call *call)
{
	return call->ptr ? call->ptr : call->array;
}

/* Returns 1 for kinds that are treated or noticed here.  Constant if the kind is. */
static inline int fix_concerns(enum call_kind kind)
{
	switch (kind_family(kind)) {
	case FAMILY_wait:
	case FAMILY_event_wait:
	case FAMILY_query:
	case FAMILY_free:
	case FAMILY_host_memory:
	case FAMILY_limit:
	case FAMILY_allocation:
	case FAMILY_stream_allocation:
	case FAMILY_context_end:
		return 1;
	default:
		return 0;
	}
}

/* Called before the real call.  Returns 1 if the call has succeeded without it. */
int fix_before(struct fixed_call *call);
/* Called after it.  Returns 1 if it is to be made again. */
int fix_after(const struct fixed_call *call, int result);
/* wrappers.c: returns the wrapper of a real function, and stores the latter. */
void *fix_wrapper(enum call_id call, int variant, void *real);

/* Keeps what the call frees.  Returns 0 if there is no room: then the call is made. */
int freed_keep(const struct fixed_call *call, uint64_t bytes);
/* Frees what is kept, which waits unless the device is idle.  Returns how many. */
unsigned freed_release(void);
/*
 * Host memory that the program got or may get again.  note: after an allocation, if frees of host
 * memory are treated; take: returns an idle piece of that size and those flags, or 0.
 */
void freed_note_host(uint64_t ptr, uint64_t bytes, uint64_t flags);
uint64_t freed_take_host(uint64_t bytes, uint64_t flags);
/* After a wait for the whole device: what is kept is idle; host memory stays, the rest is freed. */
void freed_now_idle(void);
/* The context of what is kept ends with everything in it. */
void freed_forget(void);

#endif
