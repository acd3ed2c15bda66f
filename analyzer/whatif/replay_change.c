/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_parts.h"

/*
 * Pinned memory is kept and reused, and limits are set before the work: after a site's first call
 * neither the call nor its counterpart takes time again.  Device memory may be freed later or in
 * stream order.  Code must be loaded (or compiled) at some time and may be unloaded at the end: for
 * these calls only the wait is surely saved.
 */
static void do_once(struct replay *replay, uint32_t number)
{
	const struct replay_step *step = &replay->step[number];

	if (!kind_has(step->kind, K_ONCE) || step->act & STEP_FIRST)
		return;
	replay->change[number].once = 1;
	if (step->maker != REPLAY_NONE)
		replay->change[step->maker].once = 1;
}

/* Changes all calls of the same kind from the site of a step. */
static void change_place(struct replay *replay, uint32_t number, struct replay_change change)
{
	uint32_t at =
		(uint32_t)map_get(&replay->places, replay_place(&replay->step[number]), number);

	for (; at != REPLAY_NONE; at = replay->same_place[at]) {
		unsigned bits = replay->change[at].bits;

		if (change.bits & CHANGE_WAIT && replay->step[at].act & STEP_ONCE)
			do_once(replay, at);

		if (replay->change[at].still_needs == REPLAY_NONE) {
			change.once = replay->change[at].once;
			replay->change[at] = change;
		}
		replay->change[at].bits |= (uint8_t)bits;
	}
}

void replay_change(struct replay *replay, int64_t call, unsigned bits, int64_t still_needs)
{
	uint32_t number = bits & CHANGE_OUTSIDE
		? (uint32_t)map_get(&replay->silences, (uint64_t)call, REPLAY_NONE)
		: replay_step_of(replay, call);
	struct replay_change change = { (uint8_t)bits, 0, REPLAY_NONE, REPLAY_NONE };
	uint32_t needed = still_needs ? replay_step_of(replay, still_needs) : REPLAY_NONE;

	if (number == REPLAY_NONE || !bits)
		return;
	replay->changed = 1;
	if (bits & CHANGE_ORDER || replay->step[number].act & STEP_BECOMES_ASYNC)
		replay->orders = 1;
	if (bits & CHANGE_WAIT && replay_is_result(&replay->step[number]))
		replay->results = 1;
	if (needed != REPLAY_NONE)
		change.only_stream = replay->step[needed].stream;
	/* Done once per site, for the first of its calls; each of them has its own stream. */
	if (!(bits & (CHANGE_CALL | CHANGE_NODE | CHANGE_OUTSIDE)) && replay->step[number].site &&
		(replay->change[number].bits & bits) != bits)
		change_place(replay, number, change);
	replay->change[number].bits |= (uint8_t)bits;
	if (needed != REPLAY_NONE || replay->change[number].still_needs == REPLAY_NONE)
		replay->change[number].only_stream = change.only_stream;
	if (needed != REPLAY_NONE)
		replay->change[number].still_needs = needed;
}

void replay_change_results(struct replay *replay)
{
	for (size_t i = 0; i < replay->step_count; i++)
		if (replay->step[i].act & STEP_WAITS && replay_is_result(&replay->step[i]))
			replay->change[i].bits |= CHANGE_WAIT;
	replay->changed = replay->orders = replay->results = 1;
}

void replay_forget_changes(struct replay *replay)
{
	for (size_t i = 0; i < replay->step_count; i++)
		replay->change[i] = (struct replay_change){ 0, 0, REPLAY_NONE, REPLAY_NONE };
}

void replay_restore(struct replay *replay)
{
	if (replay->changed)
		replay_forget_changes(replay);
	replay->changed = replay->orders = replay->results = 0;
}

/* --- acts of a call --- */

static unsigned acts_of_work(const struct walk_call *call)
{
	if (kind_family(call->kind) == FAMILY_callback)
		return STEP_SUBMITS | STEP_HOST_WORK;
	if (kind_family(call->kind) == FAMILY_allocation)
		return STEP_CAN_BE_HELD;
	/* CUPTI has no record of these operations, but they have a position in a stream. */
	if (kind_has(call->kind, K_SILENT))
		return STEP_SUBMITS;
	if (call_is_sync(call->kind))
		return STEP_SUBMITS | STEP_BECOMES_ASYNC | STEP_CAN_BE_HELD;
	return call->op || walk_submits(call) ? STEP_SUBMITS | STEP_CAN_BE_HELD : 0;
}

static unsigned acts_of(const struct walk_call *call)
{
	switch (call->kind) {
	case KIND_EVENT_RECORD:
		return call->event && call->stream ? STEP_RECORDS : 0;
	case KIND_STREAM_WAIT:
		return call->event && call->stream ? STEP_AWAITS : 0;
	case KIND_THREAD_CREATE:
		return call->other_thread ? STEP_MAKES_THREAD : 0;
	case KIND_THREAD_JOIN:
		return call->other_thread ? STEP_JOINS_THREAD : 0;
	case KIND_COPY_PEER:
		return STEP_SUBMITS;
	default:
		return acts_of_work(call);
	}
}

static unsigned waits_of(const struct walk_call *call)
{
	if (scope_of(call) == SCOPE_NONE || call->freed_async)
		return 0;
	return STEP_WAITS | (scope_is_explicit(call) ? STEP_EXPLICIT : 0) |
		(scope_of(call) >= SCOPE_DEVICE ? STEP_HOLDS_OTHERS : 0) |
		(scope_includes_own(call) ? STEP_WAITS_OWN : 0);
}

/* Returns the acts of the call once it is changed. */
static unsigned changes_of(const struct walk_call *call)
{
	int staged = call_is_copy(call->kind) &&
		(call->src == MEMORY_PAGEABLE || call->dst == MEMORY_PAGEABLE);

	return (staged ? STEP_STAGED : 0) | (kind_has(call->kind, K_RESOURCE) ? STEP_ONCE : 0);
}

unsigned replay_acts(const struct walk_call *call)
{
	return acts_of(call) | waits_of(call) | changes_of(call);
}
