/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses of the program's own code to the pinned memory of copies, as reported by the recorder's
 * guard.  "For transfers from device memory to pinned host memory, the function returns before the
 * copy is done" (CUDA runtime API, "API synchronization behavior"): the program must wait for the
 * copy before it accesses that memory.  The guard reports the accesses; the order tells which of
 * them came after a wait.
 */
#include "hazards_parts.h"

#include <stdlib.h>

#include "idmap.h"

#define COPY_LIMIT 4096 /* the guard itself watches fewer at a time */

struct host_copy {
	int64_t process;
	uint32_t allocation;
	int64_t address; /* on the host */
	struct shape {
		int64_t bytes, pitch, rows, slice, slices; /* as in table extent */
	} shape;
	int written; /* by the device */
	int touched; /* the guard reported the first access and stopped watching the copy */
	struct operation_point by;
};

static int is_pinned(const struct run *run, uint32_t allocation)
{
	unsigned kind = run_allocation(run, allocation)->kind;

	return kind == ALLOCATION_PINNED || kind == ALLOCATION_REGISTERED;
}

static struct shape shape_of(struct hazards *hazards, const struct walk_call *call,
	const struct run_operand *operand)
{
	struct run_cursor extents;
	const struct run_extent *extent;

	run_cursor_at(&hazards->extents, call->id);
	for (extents = hazards->extents; (extent = run_cursor_at(&extents, call->id)); extents.at++)
		if (extent->role == operand->role && extent->address == operand->address)
			return (struct shape){ extent->bytes, extent->pitch, extent->rows,
				extent->slice, extent->slices };
	return (struct shape){ call->bytes, 0, 1, 0, 1 };
}

/* Bytes between rows and slices are not part of the copy. */
static int has_byte(const struct host_copy *copy, int64_t address)
{
	const struct shape *shape = &copy->shape;
	int64_t at = address - copy->address, slice = 0, row = 0;

	if (at < 0)
		return 0;
	if (shape->slice > 0)
		slice = at / shape->slice;
	at -= slice * shape->slice;
	if (shape->pitch > 0)
		row = at / shape->pitch;
	at -= row * shape->pitch;
	return slice < shape->slices && row < shape->rows && at < shape->bytes;
}

static int add_copies(struct hazards *hazards, const struct walk_call *call)
{
	const struct run_operand *operand;

	if (!hazards->copies)
		hazards->copies = calloc(COPY_LIMIT, sizeof(*hazards->copies));
	if (!hazards->copies)
		return -1;
	for (; (operand = run_cursor_at(&hazards->ends, call->id)); hazards->ends.at++)
		if (is_pinned(hazards->run, operand->allocation) &&
			(operand->role == OPERAND_DST || operand_is_source(operand->role)))
			hazards->copies[hazards->copy_count++ % COPY_LIMIT] =
				(struct host_copy){ call->process, operand->allocation,
					operand->address, shape_of(hazards, call, operand),
					operand->role == OPERAND_DST, 0, hazards->now };
	return 0;
}

/*
 * If another thread has observed it complete, that thread may have signalled this one by means that
 * are not recorded.
 */
static int any_thread_observed(const struct order *order, const struct order_epoch *epoch)
{
	for (size_t i = 0; i < order->threads.size; i++)
		if (order->threads.slot[i].object &&
			order_knows(order, (int64_t)order->threads.slot[i].id, epoch))
			return 1;
	return 0;
}

static int judge(struct hazards *hazards, const struct walk_call *call,
	const struct host_copy *copy)
{
	int write = call->kind == KIND_HOST_WRITE;
	enum order_strength strength = order_known(hazards->order, call->thread, copy->by.epoch);
	struct hazard hazard = { .process = call->process,
		.allocation = copy->allocation,
		.low = call->ptr,
		.high = call->ptr + 1,
		.earlier = copy->by,
		.later = hazards->now,
		.evidence = { EVIDENCE_GUARD, EVIDENCE_EXACT },
		.count = 1,
		.rule = write ? EARLY_HOST_WRITE : EARLY_HOST_READ,
		.order = write ? copy->written ? ACCESS_WAW : ACCESS_WAR : ACCESS_RAW,
		.confidence = CONFIDENCE_POSSIBLE };

	int reused = write ? reuse_is_known(&hazards->reuse, &hazards->callers, call->process,
				     copy->allocation, &copy->by.epoch)
			   : 0;

	if (strength == ORDER_GUARANTEED || reused)
		return reused < 0 ? -1 : 0;
	if (strength == ORDER_UNORDERED && !copy->by.outside &&
		!any_thread_observed(hazards->order, &copy->by.epoch))
		hazard.confidence = CONFIDENCE_CERTAIN;
	hazard.later.start = hazard.later.end = call->enter;
	return hazards_add(hazards, &hazard);
}

static int judge_access(struct hazards *hazards, const struct walk_call *call)
{
	size_t count = hazards->copy_count < COPY_LIMIT ? hazards->copy_count : COPY_LIMIT;

	for (size_t i = 0; i < count; i++) {
		struct host_copy *copy = &hazards->copies[i];

		if (copy->process != call->process || copy->touched ||
			!(copy->written || call->kind == KIND_HOST_WRITE) ||
			!has_byte(copy, call->ptr))
			continue;
		copy->touched = 1;
		if (judge(hazards, call, copy))
			return -1;
	}
	return 0;
}

int hazards_process_touch(struct hazards *hazards, const struct walk_call *call)
{
	if (kind_family(call->kind) == FAMILY_host_access)
		return judge_access(hazards, call);
	if (!call_is_async_copy(call->kind) || !hazards->now.epoch.seq || call->captured)
		return 0;
	return add_copies(hazards, call);
}
