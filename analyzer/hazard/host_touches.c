/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of the program's own code to host memory that pending work uses, as reported by the
 * recorder's guard: pinned memory of copies and graphs, and managed memory.  "For transfers from
 * device memory to pinned host memory, the function returns before the copy is done" (CUDA runtime
 * API, "API synchronization behavior"); launches return before the kernel has begun, and managed
 * memory needs a wait before the host uses what a kernel writes (CUDA programming guide, "Unified
 * memory programming", coherency and concurrency).  The guard reports the accesses; the order tells
 * which of them came after a wait, and the accesses of the operation which of them conflict.
 */
#include "hazards_internal.h"

#include <stdlib.h>

#include "constants.h"
#include "host_runs.h"
#include "id_map.h"
#include "memory.h"
#include "order_cover.h"

/* Uses kept.  An older one that may be pending is counted, if the host accesses such memory. */
#define USE_LIMIT 16384 /* the guard itself watches fewer at a time */

struct host_use {
	int64_t process;
	struct memory_access access; /* of the device */
	struct operation_point by;
	uint32_t touched; /* 1 + the site of the last access that conflicted, 0: none */
};

void hazards_find_touches(struct hazards *hazards, const struct walk_part *part)
{
	const struct run *run = hazards->run;

	for (uint32_t id = part->first; id < part->end && !hazards->uses; id++) {
		const struct run_call *call = run_call(run, id);

		if (!call || kind_family(call->kind) != FAMILY_host_access)
			continue;
		hazards->uses = xcalloc(USE_LIMIT, sizeof(*hazards->uses));
	}
	for (uint64_t i = 0; hazards->uses && i < host_run_count(run); i++)
		map_set(&hazards->functions, host_run_at(run, i)->thread, 1);
}

static int is_on_host(const struct run *run, int64_t allocation)
{
	unsigned kind = run_allocation(run, allocation)->kind;

	return kind == ALLOCATION_PINNED || kind == ALLOCATION_REGISTERED ||
		kind == ALLOCATION_MANAGED;
}

static int is_watched(const struct walk_call *call)
{
	switch (kind_family(call->kind)) {
	case FAMILY_copy:
		return call_is_async_copy(call->kind);
	case FAMILY_set:
	case FAMILY_launch:
	case FAMILY_graph_launch:
		return 1;
	default:
		return 0;
	}
}

static int may_be_pending(const struct hazards *hazards, const struct host_use *use)
{
	return use->process && !use->touched &&
		!order_is_complete(hazards->order, use->process, &use->by.epoch);
}

int hazards_any_observed(const struct order *order, const struct order_epoch *epoch)
{
	for (size_t i = 0; i < order->threads.size; i++)
		if (order->threads.slot[i].object &&
			order_knows(order, (int64_t)order->threads.slot[i].id, epoch))
			return 1;
	return 0;
}

static int is_copy_or_set(const struct operation_point *by)
{
	return kind_family(by->kind) == FAMILY_copy || kind_family(by->kind) == FAMILY_set;
}

/*
 * A word that a kernel writes may be a flag that the host polls while it runs: surely if it counts,
 * perhaps if it is stored.
 */
static enum confidence confidence_of(const struct hazards *hazards, const struct host_use *use,
	const struct access_conflict *conflict)
{
	const struct memory_access *access = &use->access;
	int is_word = !is_copy_or_set(&use->by) && !access->stride_count &&
		access->run <= HAZARD_FLAG_BYTES;

	if (use->by.outside || use->by.spins || access->maybe ||
		hazards_any_observed(hazards->order, &use->by.epoch) ||
		(is_word && access->direction == ACCESS_ATOMIC))
		return CONFIDENCE_POSSIBLE;
	if (conflict->overlap != OVERLAP_SURE && !conflict->covered)
		return CONFIDENCE_POSSIBLE;
	return conflict->overlap != OVERLAP_SURE || conflict->evidence < EVIDENCE_PTX || is_word
		? CONFIDENCE_LIKELY
		: CONFIDENCE_CERTAIN;
}

/* The host function that made the access, NULL: none. */
static const struct host_run *host_function_of(const struct hazards *hazards,
	const struct walk_call *call)
{
	uint64_t count = host_run_count(hazards->run);

	if (!map_get(&hazards->functions, (uint64_t)call->thread, 0))
		return NULL;
	for (uint64_t i = host_runs_find(hazards->run, call->enter); i < count; i++) {
		const struct host_run *host = host_run_at(hazards->run, i);

		if (host->thread == call->thread)
			return host->enter <= call->enter ? host : NULL;
	}
	return NULL;
}

static int judge(struct hazards *hazards, const struct walk_call *call, const struct host_use *use,
	const struct memory_access *touch, const struct access_conflict *conflict)
{
	enum order_strength strength = order_known(hazards->order, call->thread, use->by.epoch);
	const struct host_run *function;
	struct hazard hazard = { .process = call->process,
		.allocation = use->access.allocation,
		.low = call->ptr,
		.high = call->ptr + 1,
		.earlier = use->by,
		.later = hazards->now,
		.evidence = { EVIDENCE_GUARD, (enum evidence)use->access.evidence },
		.same_bytes = conflict->same_bytes,
		.count = 1,
		.rule = touch->direction == ACCESS_WRITE ? EARLY_HOST_WRITE : EARLY_HOST_READ,
		.order = conflict->order,
		.confidence = CONFIDENCE_POSSIBLE };

	int reused = touch->direction == ACCESS_WRITE
		? reuse_is_known(&hazards->reuse, &hazards->callers, call->process,
			  use->access.allocation, &use->by.epoch)
		: 0;

	if (strength == ORDER_GUARANTEED || reused)
		return reused < 0 ? -1 : 0;
	/*
	 * A host function runs in its stream's order, but nodes of one graph may run at a time;
	 * events may order it with other streams.
	 */
	function = host_function_of(hazards, call);
	if (function && function->stream && function->stream == use->by.stream &&
		function->call != use->by.call)
		return 0;
	if (strength == ORDER_UNORDERED && !function)
		hazard.confidence = confidence_of(hazards, use, conflict);
	hazard.later.start = hazard.later.end = call->enter;
	hazards_add(hazards, &hazard);
	return 0;
}

/* Copies are not watched after the first access, the memory of kernels page by page. */
static int is_known(const struct host_use *use, uint32_t site)
{
	return use->touched && (is_copy_or_set(&use->by) || use->touched == site + 1);
}

static int judge_access(struct hazards *hazards, const struct walk_call *call)
{
	size_t count = hazards->use_count < USE_LIMIT ? hazards->use_count : USE_LIMIT;
	uint32_t site = run_link(hazards->run, call->id)->site;
	struct memory_access touch = { .low = call->ptr,
		.high = call->ptr + 1,
		.start = call->ptr,
		.run = 1,
		.direction = call->kind == KIND_HOST_WRITE ? ACCESS_WRITE : ACCESS_READ,
		.evidence = EVIDENCE_GUARD,
		.sure = 1,
		.exact = 1 };
	int forgotten = hazards->uses_forgotten;

	hazards->uses_forgotten = 0;
	if (hazards_forget(hazards, forgotten))
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct host_use *use = &hazards->uses[i];
		const struct run_allocation *memory =
			run_allocation(hazards->run, use->access.allocation);
		struct access_conflict conflict;

		if (use->process != call->process || is_known(use, site) ||
			(memory->freed && memory->freed < call->id) ||
			call->ptr < use->access.low || call->ptr >= use->access.high)
			continue;
		touch.allocation = use->access.allocation;
		conflict = access_conflict(&use->access, &touch);
		if (conflict.overlap == OVERLAP_NONE)
			continue;
		use->touched = site + 1;
		if (judge(hazards, call, use, &touch, &conflict))
			return -1;
	}
	return 0;
}

int hazards_process_touch(struct hazards *hazards, const struct walk_call *call)
{
	if (!hazards->uses)
		return 0;
	if (kind_family(call->kind) == FAMILY_host_access)
		return judge_access(hazards, call);
	if (!is_watched(call) || !hazards->now.epoch.seq || call->captured)
		return 0;
	const struct accesses *accesses = access_read(hazards->others, call->id);
	struct operation_point by = hazards->now;

	if (!accesses)
		return -1;
	by.spins = (uint8_t)hazards_spins(accesses->access, accesses->count);
	for (size_t i = 0; i < accesses->count; i++) {
		struct host_use *use = &hazards->uses[hazards->use_count % USE_LIMIT];

		if (accesses->access[i].direction == ACCESS_UNKNOWN ||
			!is_on_host(hazards->run, accesses->access[i].allocation))
			continue;
		hazards->uses_forgotten += may_be_pending(hazards, use);
		hazards->use_count++;
		*use = (struct host_use){ call->process, accesses->access[i], by, 0 };
	}
	return 0;
}
