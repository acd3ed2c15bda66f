/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the guard (guard.h).  Everything depends on shim.guard, which is NULL in a
 * process without a guard.
 */
#ifndef CUFENCE_GUARDED_H
#define CUFENCE_GUARDED_H

#include "guard.h"
#include "shim.h"

/* Call when recording starts, and before the trace is closed. */
void guarded_start(struct thread_state *thread);
void guarded_finish(struct thread_state *thread);
void guarded_child(void);

static inline int guarded_makes_host_memory(enum call_kind kind)
{
	switch (kind) {
#define KIND_MAKES(symbol, name, memory) \
	case KIND_##symbol: \
		return MEMORY_##memory == MEMORY_PINNED || MEMORY_##memory == MEMORY_MANAGED;
#include "kinds.def"
	default:
		return 0;
	}
}

/* Kinds of calls that the guard needs.  Constant-folded where kind is constant. */
static inline int guarded_wants(enum call_kind kind)
{
	switch (kind_family(kind)) {
	case FAMILY_copy:
	case FAMILY_set:
	case FAMILY_launch:
	case FAMILY_wait:
	case FAMILY_query:
	case FAMILY_graph_launch:
	case FAMILY_exec:
		return 1;
	case FAMILY_node_set:
		return kind == KIND_EXEC_SET;
	case FAMILY_graph:
		return kind == KIND_GRAPH_INSTANTIATE;
	case FAMILY_event:
		return kind_has(kind, K_MARKER);
	case FAMILY_allocation:
		return guarded_makes_host_memory(kind);
	default:
		return kind_waits(kind) >= WAITS_CONTEXT;
	}
}

/* Call after a successful call. */
void guarded_called(const struct call_frame *frame, enum call_kind kind, unsigned traits,
	const uint64_t *field);

/* Call before a call that releases what the guard protects. */
static inline int guarded_ends(enum call_kind kind)
{
	return kind_family(kind) == FAMILY_host_memory || kind_family(kind) == FAMILY_context_end;
}

#endif
