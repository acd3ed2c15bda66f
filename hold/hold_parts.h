/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the hold.  wrappers.c stands between the recorder and the driver, hold.c finds the
 * plan's calls among the program's, stream.c holds a stream and lets it go, covers.c knows which
 * calls wait for it.
 *
 * One stream is held at a time.  A lock protects that; it is never held in a call that may wait.
 */
#ifndef CUFENCE_HOLD_PARTS_H
#define CUFENCE_HOLD_PARTS_H

#include <stdint.h>

#include "hold.h"
#include "hold_plan.h"

/* A driver call of the program's. */
struct held_call {
	enum call_id id;
	enum call_kind kind;
	int per_thread;            /* stream 0 is the thread's own */
	uint64_t stream, event;    /* handles as passed; 0: of none */
	struct hold_try *consumes; /* it is the later operation of that one, or NULL */
};

/* Kinds that are of interest here.  Constant where the kind is one. */
static inline int hold_concerns(enum call_kind kind)
{
	return kind_has(kind, K_WORK | K_MARKER | K_SILENT) || kind_waits(kind) != WAITS_NOTHING ||
		kind_family(kind) == FAMILY_context_end || kind == KIND_STREAM_DESTROY;
}

/* Around the real call. */
void hold_before(struct held_call *call);
void hold_after(const struct held_call *call, int succeeded);
/* wrappers.c: the wrapper of a real function, which it keeps. */
void *hold_wrapper(enum call_id call, int variant, void *real);

/* The driver's handle of the call's stream, where no default one is 0. */
uint64_t hold_stream(const struct held_call *call);

/* NULL, or why nothing can be held. */
const char *stream_start(const struct hold_recorder *recorder, struct hold_plan *plan);
void stream_child(void);

/* Before the producer of a try is submitted to it: its stream waits, if it can be held. */
void stream_hold(struct hold_try *try, uint64_t stream);
/* The consumer has been submitted to a stream; 0: it was the host. */
void stream_consumed(struct hold_try *try, uint64_t stream);
/* Nothing waits for a stream any more that is destroyed. */
void stream_forget(uint64_t stream);
/* A call is about to wait for the held stream, or to end a context. */
void stream_let_go(int ends_context);
int stream_is_held(void);

/* Which streams and events wait for the held one by now: from when it is held on. non_blocking:
 * it goes without the legacy stream. */
void covers_begin(uint64_t stream, int non_blocking);
/* A call that is about to be made adds to them. */
void covers_follow(const struct held_call *call);
/* Whether the host would wait for the held stream in a call. */
int covers_call(const struct held_call *call);

#endif
