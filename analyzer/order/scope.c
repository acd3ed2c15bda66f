/* SPDX-License-Identifier: Apache-2.0 */
#include "scope.h"

#include "constants.h"
#include "run_columns.h"

/*
 * Returns the scope of a copy or memset without a stream argument, which uses the default stream.
 */
static enum scope scope_of_default(const struct walk_call *call)
{
	return call->stream_kind == STREAM_KIND_THREAD ? SCOPE_STREAM : SCOPE_LEGACY;
}

static enum scope scope_by_memory(const struct walk_call *call)
{
	if (kind_family(call->kind) == FAMILY_set)
		return memory_is_host(call->dst) ? scope_of_default(call) : SCOPE_NONE;
	if (call->direction == COPY_D2D)
		return SCOPE_NONE;
	if (kind_has(call->kind, K_DEFAULT_STREAM))
		return scope_of_default(call);
	return call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE ? SCOPE_STREAM
									    : SCOPE_NONE;
}

/* A call that frees NULL does not wait. */
static int frees_null(const struct walk_call *call)
{
	return kind_has(call->kind, K_RELEASES) && !call->ptr;
}

enum scope scope_of(const struct walk_call *call)
{
	switch (kind_waits(call->kind)) {
	case WAITS_EVENT:
		return SCOPE_EVENT;
	case WAITS_STREAM:
		return call->stream_kind == STREAM_KIND_LEGACY ? SCOPE_LEGACY : SCOPE_OWN;
	case WAITS_BY_MEMORY:
		return scope_by_memory(call);
	case WAITS_CONTEXT:
		return SCOPE_CONTEXT;
	case WAITS_DEVICE:
		return frees_null(call) ? SCOPE_NONE : SCOPE_DEVICE;
	case WAITS_PROCESS:
		return frees_null(call) ? SCOPE_NONE : SCOPE_PROCESS;
	case WAITS_NOTHING:
		break;
	}
	return SCOPE_NONE;
}

enum scope scope_requested(const struct walk_call *call)
{
	if (!kind_has(call->kind, K_POLLS))
		return scope_of(call);
	if (call->kind != KIND_STREAM_QUERY)
		return SCOPE_EVENT;
	return call->stream_kind == STREAM_KIND_LEGACY ? SCOPE_LEGACY : SCOPE_OWN;
}

enum scope scope_within(const struct walk_call *call)
{
	return kind_has(call->kind, K_LOADS_CODE) ? SCOPE_DEVICE : scope_of(call);
}

int scope_empties_device(const struct walk_call *call)
{
	enum scope scope = scope_within(call);

	return scope == SCOPE_DEVICE || scope == SCOPE_PROCESS;
}

int scope_waits_first(const struct walk_call *call)
{
	return scope_of(call) != SCOPE_NONE && scope_empties_device(call) &&
		call->kind != KIND_MODULE_LOAD;
}

int scope_is_explicit(const struct walk_call *call)
{
	return call_is_wait(call->kind);
}

int scope_holds_others(const struct walk_call *call)
{
	return !scope_is_explicit(call) && scope_of(call) > SCOPE_STREAM;
}

int scope_waited(const struct walk_call *call)
{
	enum scope scope = call->result || call->freed_async ? SCOPE_NONE : scope_of(call);

	if (scope == SCOPE_NONE)
		return 0;
	return scope_is_explicit(call) || scope >= SCOPE_CONTEXT ||
		call->exit - call->enter > BLOCKED_MIN_NS;
}

int scope_includes_own(const struct walk_call *call)
{
	if (call_is_sync_set(call->kind))
		return memory_is_host(call->dst);
	if (!call_is_copy(call->kind))
		return 0;
	return call->direction == COPY_D2H || call->direction == COPY_H2H ||
		(call_is_sync_copy(call->kind) && call->src == MEMORY_PINNED);
}

int scope_device(const struct walk_call *call)
{
	return kind_family(call->kind) == FAMILY_free && call->owner_device >= 0
		? call->owner_device
		: call->device;
}
