/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explains why nothing orders two operations: a fence without effect, or something that may have
 * been mistaken for one.
 */
#include "hazards_internal.h"

/* Number of recent hazards compared with a wait that comes too late. */
#define LATE_LOOKS 64

static int is_legacy_and_other(const struct run *run, int64_t stream, int64_t other)
{
	return run_stream(run, stream)->kind == STREAM_KIND_LEGACY &&
		run_stream(run, other)->kind == STREAM_KIND_NON_BLOCKING;
}

/* A default stream that waits for events is one that the program means. */
static int lacks_stream(const struct hazards *hazards, const struct shared *shared,
	const struct operation_point *call, const struct operation_point *other)
{
	return other->stream == shared->use.named &&
		!fences_have_wait(&hazards->fences, call->stream) &&
		usage_lacks_stream(&hazards->usage, call);
}

/*
 * The allocators of Python's libraries keep memory for the stream that allocated it, and reuse it
 * there as soon as the program has dropped it: "the caching allocator is aware of only the stream
 * where a tensor was allocated" (PyTorch, Tensor.record_stream).
 */
static int is_reused_block(const struct hazards *hazards, const struct shared *shared,
	const struct hazard *hazard)
{
	const struct run_allocation *allocation = run_allocation(hazards->run, hazard->allocation);

	return hazard->order != ACCESS_RAW && hazard->rule == MISSING_FENCE &&
		hazard->later.stream + 1 == shared->use.first &&
		hazard->earlier.stream != hazard->later.stream &&
		hazard->high - hazard->low < allocation->bytes &&
		(allocation->kind == ALLOCATION_DEVICE || allocation->kind == ALLOCATION_OTHER) &&
		map_get(&hazards->scripted, (uint64_t)hazard->process, 0);
}

/* Returns something that is no fence but may have been mistaken for one. */
static enum mistake_id find_mistake(const struct hazards *hazards, const struct shared *shared,
	const struct hazard *hazard)
{
	if (hazard->earlier.returns_early)
		return MISTAKE_early_return;
	if (lacks_stream(hazards, shared, &hazard->earlier, &hazard->later) ||
		lacks_stream(hazards, shared, &hazard->later, &hazard->earlier))
		return MISTAKE_no_stream;
	if (is_reused_block(hazards, shared, hazard))
		return MISTAKE_reused_block;
	return is_legacy_and_other(hazards->run, hazard->earlier.stream, hazard->later.stream) ||
			is_legacy_and_other(hazards->run, hazard->later.stream,
				hazard->earlier.stream)
		? MISTAKE_legacy_stream
		: MISTAKE_none;
}

/*
 * A third stream waits by mistake in place of the later stream, unless it uses the memory itself.
 */
static const struct recent_wait *find_third_stream(struct hazards *hazards,
	const struct shared *shared, const struct hazard *hazard, enum mistake_id otherwise)
{
	const struct recent_wait *wait =
		fences_find_third(&hazards->fences, &hazard->earlier, &hazard->later);

	if (!wait || users_have_used(shared->users, wait->stream, wait->call))
		return NULL;
	hazards->watch[hazards->watches++ % WATCHES] = (struct watch){ .stream = wait->stream,
		.allocation = hazard->allocation,
		.hazard = hazards->count,
		.earlier = hazard->earlier.call,
		.later = hazard->later.call,
		.otherwise = otherwise };
	return wait;
}

/* The row may have been replaced: a pair of operations has one row. */
static int is_watched(const struct hazards *hazards, const struct watch *watch)
{
	const struct hazard *hazard = &hazards->hazard[watch->hazard];

	return watch->hazard < hazards->count && hazard->fence.why == MISTAKE_third_stream &&
		hazard->earlier.call == watch->earlier && hazard->later.call == watch->later;
}

void hazards_watch(struct hazards *hazards, int64_t allocation)
{
	for (unsigned i = 0; i < WATCHES && i < hazards->watches; i++) {
		struct watch *watch = &hazards->watch[i];

		if (watch->stream != hazards->now.stream || watch->allocation != allocation)
			continue;
		watch->stream = 0;
		if (is_watched(hazards, watch))
			hazards->hazard[watch->hazard].fence =
				(struct fence){ .why = watch->otherwise };
	}
}

struct fence hazards_explain(struct hazards *hazards, const struct shared *shared,
	const struct hazard *hazard)
{
	const struct recent_wait *third;
	struct fence fence;

	if (!hazard->later.stream && !hazards->launch)
		return (struct fence){ .why = MISTAKE_host_free };
	if (hazards->launched_early)
		return (struct fence){ .why = MISTAKE_early_launch };
	if (hazards->read_early)
		return (struct fence){ .why = MISTAKE_source_order };
	if (hazards->launch)
		return fences_explain_captured(&hazards->captured, &hazard->earlier,
			&hazard->later);
	fence = fences_explain(&hazards->fences, &hazard->earlier, &hazard->later);
	if (fence.why)
		return fence;
	fence.why = find_mistake(hazards, shared, hazard);
	third = find_third_stream(hazards, shared, hazard, fence.why);
	if (third)
		return (struct fence){ MISTAKE_third_stream, third->call, third->record };
	if (!fence.why)
		fence = fences_find_unused(&hazards->fences, &hazard->earlier, &hazard->later);
	if (!fence.why && hazard->confidence == CONFIDENCE_POSSIBLE &&
		hazard->earlier.thread != hazard->later.thread)
		fence.why = MISTAKE_other_thread;
	return fence;
}

void hazards_find_late(struct hazards *hazards, const struct walk_call *wait)
{
	size_t looks = hazards->count < LATE_LOOKS ? hazards->count : LATE_LOOKS;

	for (size_t i = hazards->count - looks; i < hazards->count; i++) {
		struct hazard *hazard = &hazards->hazard[i];
		/* A wait that comes too late explains more than a guess. */
		int64_t record = hazard->launch || !mistakes[hazard->fence.why].is_guess
			? 0
			: fences_find_late(&hazards->fences, wait, &hazard->earlier,
				  &hazard->later);

		if (record)
			hazard->fence = (struct fence){ MISTAKE_late_fence, wait->id, record };
	}
}
