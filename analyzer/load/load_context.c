/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the context of a call, and ends what a destroyed context contains.
 *
 * A primary context is destroyed when its last user releases it ("cuDevicePrimaryCtxRelease") or by
 * a reset.  The last release cannot be determined if retains were not recorded, nor for
 * cuCtxDetach.
 */
#include "loader.h"

#define HAS(call, kind) ((call)->fields.present & 1ull << FIELD_##kind)
#define VALUE(call, kind) ((call)->fields.value[FIELD_##kind])

/* Returns index + 1, like all numbers of contexts here; 0: none. */
static uint64_t current(const struct loaded_process *p, const struct loaded_call *call)
{
	unsigned number = call->record->type == RECORD_CALL
		? ((const struct call_record *)call->record)->context
		: ((const struct enter_record *)call->record)->context;

	return map_get(&p->context_numbers, number, 0);
}

/* The primary context of a device, else the current one if it belongs to that device. */
static uint64_t of_device(const struct loaded_process *p, const struct loaded_call *call)
{
	uint64_t found = map_get(&p->primaries, VALUE(call, device), 0);

	if (found)
		return found;
	found = current(p, call);
	return found && p->context[found - 1].record.device == (int32_t)VALUE(call, device) ? found
											    : 0;
}

/* The context that this call destroys. */
static uint64_t ended(struct loaded_process *p, const struct loaded_call *call)
{
	uint64_t found;

	if (call->failed)
		return 0;
	if (!HAS(call, device))
		return call->kind == KIND_CONTEXT_DESTROY
			? map_get(&p->context_handles, VALUE(call, context), 0)
			: 0;
	found = of_device(p, call);
	if (!found || call->kind == KIND_CONTEXT_DESTROY)
		return found;
	return p->context[found - 1].users && !--p->context[found - 1].users ? found : 0;
}

static void note_user(struct loaded_process *p, const struct loaded_call *call)
{
	uint64_t found = map_get(&p->context_handles, VALUE(call, context), 0);

	if (call->failed || !found)
		return;
	p->context[found - 1].users++;
	map_set(&p->primaries, VALUE(call, device), found);
}

void loader_resolve_context(struct loader *loader, struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;
	uint64_t found = current(p, call);

	if (kind_family(call->kind) == FAMILY_context_end)
		found = ended(p, call);
	/* Not always the current one: cuCtxSynchronize_v2 names the context that it waits for. */
	else if (kind_has(call->kind, K_NAMES_CONTEXT) && HAS(call, context) &&
		VALUE(call, context))
		found = map_get(&p->context_handles, VALUE(call, context), 0);
	call->context = found ? p->context[found - 1].row : 0;
	if (call->kind == KIND_CONTEXT_RETAIN)
		note_user(p, call);
}

static void end_memory(struct loaded_process *p, const struct loaded_call *call)
{
	for (uint32_t i = 0; i < p->allocations.count; i++) {
		const struct life *life = &p->allocations.life[i];

		if (!life->row || life->end != UINT64_MAX || life->begin > call->enter ||
			life->context != call->context ||
			!call_memory_ends(loader_allocation_kind(life)->made_by))
			continue;
		ranges_remove(&p->live_memory, life->handle, i + 1);
		lives_end(&p->allocations, i + 1, call->exit, call->number);
	}
}

void loader_end_variables(struct loaded_process *p, const struct loaded_call *call)
{
	uint64_t module = call->fields.value[FIELD_module];

	for (uint32_t i = 0; i < p->allocations.count; i++) {
		const struct life *life = &p->allocations.life[i];

		if (!life->row || life->end != UINT64_MAX ||
			!kind_is_variable(loader_allocation_kind(life)->made_by) ||
			map_get(&p->variables, life->handle, 0) != module)
			continue;
		ranges_remove(&p->live_memory, life->handle, i + 1);
		lives_end(&p->allocations, i + 1, call->exit, call->number);
	}
}

void loader_end_context(struct loader *loader, const struct loaded_call *call)
{
	struct loaded_process *p = &loader->p;

	if (!call->context || kind_family(call->kind) != FAMILY_context_end)
		return;
	lives_end_context(&p->streams, call->context, call->enter, call->exit, call->number);
	lives_end_context(&p->events, call->context, call->enter, call->exit, call->number);
	end_memory(p, call);
}
