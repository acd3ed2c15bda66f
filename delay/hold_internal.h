/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the hold.  wrappers.c is between the recorder and the driver, hold.c finds the
 * plan's calls among the program's, shake.c those of a shaken run, stream.c holds a stream and
 * releases it, covers.c finds which calls wait for it.
 *
 * One stream is held at a time, under a lock that is never locked during a call that may wait.
 */
#ifndef CUFENCE_HOLD_INTERNAL_H
#define CUFENCE_HOLD_INTERNAL_H

#include <stdint.h>

#include "hold.h"
#include "hold_plan.h"

#define HOLD_SITES 65536 /* ids are smaller (preload/sites/site.c) */

/* A driver call of the program. */
struct held_call {
	enum call_id id;
	enum call_kind kind;
	int per_thread;            /* stream 0 is the thread's own default stream */
	uint64_t stream, event;    /* handles as passed; 0: none */
	struct hold_try *consumes; /* the try whose later operation it is, or NULL */
	uint32_t shakes;           /* bits of the actions at its site */
};

/* Returns 1 for kinds that are tracked here.  Constant if the kind is. */
static inline int hold_concerns(enum call_kind kind)
{
	return kind_has(kind, K_WORK | K_MARKER | K_SILENT) || kind_waits(kind) != WAITS_NOTHING ||
		kind_family(kind) == FAMILY_context_end || kind == KIND_STREAM_DESTROY ||
		kind == KIND_EVENT_DESTROY || kind_has(kind, K_POLLS);
}

/* Called before and after the real call. */
void hold_before(struct held_call *call);
void hold_after(const struct held_call *call, int succeeded);
/* Returns what the call returns to the program: a query may be told that work is not complete. */
int hold_answer(const struct held_call *call, int result);
/* wrappers.c: returns the wrapper of a real function, and stores the latter. */
void *hold_wrapper(enum call_id call, int variant, void *real);

/* Returns the driver's handle of the call's stream, where 0 is no default stream. */
uint64_t hold_stream(const struct held_call *call);

/* Returns NULL, or why nothing can be held. */
const char *stream_start(const struct hold_recorder *recorder, struct hold_plan *plan);
void stream_child(void);

/* Holds the stream before the producer of a try is submitted to it, if possible. */
void stream_hold(struct hold_try *try, uint64_t stream);
/* The same for at most ns, within the plan's budget: returns an enum hold_state. */
enum hold_state stream_shake(uint64_t stream, uint64_t ns);
/* Called after the consumer was submitted to a stream; 0: the consumer was the host. */
void stream_consumed(struct hold_try *try, uint64_t stream);
/* Called when a stream is destroyed. */
void stream_forget(uint64_t stream);
/* Called before a call that waits for the held stream, or that ends a context. */
void stream_let_go(int ends_context);
int stream_is_held(void);

/* --- shake.c: a run that is shaken; as above --- */

void shake_start(struct hold_plan *plan);
/* Called for a new site. */
void shake_site(uint32_t site, uint64_t place);
void shake_before(struct held_call *call, uint32_t site);
int shake_answer(const struct held_call *call, int result);
void shake_child(void);

/*
 * Starts tracking what waits for the held stream, when its hold begins.  non_blocking: it is not
 * synchronized with the legacy stream.
 */
void covers_begin(uint64_t stream, int non_blocking);
/* Adds a call that is about to be made. */
void covers_follow(const struct held_call *call);
/* Returns 1 if the host would wait for the held stream in the call. */
int covers_call(const struct held_call *call);

#endif
