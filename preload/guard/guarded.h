/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the guard (guard.h).  All of it is behind shim.guard, which is NULL in a
 * process without one.
 */
#ifndef CUFENCE_GUARDED_H
#define CUFENCE_GUARDED_H

#include "guard.h"
#include "shim.h"

/* When recording starts, and before its last word. */
void guarded_start(struct thread_state *thread);
void guarded_finish(struct thread_state *thread);
void guarded_child(void);

static inline int guarded_makes_pinned(enum call_kind kind)
{
	switch (kind) {
#define KIND_MAKES(symbol, name, memory) \
	case KIND_##symbol: \
		return MEMORY_##memory == MEMORY_PINNED;
#include "kinds.def"
	default:
		return 0;
	}
}

/* Kinds that the guard wants to hear of.  Constant where the kind is one. */
static inline int guarded_wants(enum call_kind kind)
{
	switch (kind_family(kind)) {
	case FAMILY_copy:
	case FAMILY_wait:
	case FAMILY_query:
	case FAMILY_graph_launch:
		return 1;
	case FAMILY_event:
		return kind_has(kind, K_MARKER);
	case FAMILY_allocation:
		return guarded_makes_pinned(kind);
	default:
		return kind_waits(kind) >= WAITS_CONTEXT;
	}
}

/* After a call that succeeded. */
void guarded_called(const struct call_frame *frame, enum call_kind kind, unsigned traits,
	const uint64_t *field);

/* Before one that gives up what the guard protects. */
static inline int guarded_ends(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_host_memory || kind_family(kind) == FAMILY_context_end;
}

#endif
