/* SPDX-License-Identifier: Apache-2.0 */
#include "reuse.h"

#include <stdlib.h>

#include "order_cover.h"

struct reuse_known {
	struct order_clock *clock;
};

static void free_known(void *object)
{
	struct reuse_known *known = object;

	order_clock_unref(known->clock);
	free(known);
}

void reuse_release(struct reuse *reuse)
{
	id_map_release(&reuse->known, free_known);
}

static int64_t key_of(int64_t process, int allocator)
{
	return process << 8 | allocator;
}

int reuse_process_call(struct reuse *reuse, struct order *order, const struct walk_call *call)
{
	struct order_cover cover;
	struct reuse_known *known;

	if (!call->allocator || call->result || call->captured || call->contested ||
		call->exit == WALK_NEVER)
		return 0;
	known = id_map_need(&reuse->known, key_of(call->process, call->allocator), sizeof(*known));
	if (order_cover_of(order, call, &cover))
		return -1;
	order_clock_join(&order->joiner, &known->clock, NULL, cover.clock, ORDER_GUARANTEED);
	if (cover.own.seq)
		order_clock_add(&order->joiner, &known->clock, NULL, &cover.own, ORDER_GUARANTEED);
	order_cover_release(&cover);
	return 0;
}

int reuse_is_known(const struct reuse *reuse, struct callers *callers, int64_t process,
	int64_t allocation, const struct order_epoch *operation)
{
	const struct run_allocation *memory = run_allocation(callers->run, allocation);
	const struct reuse_known *known;
	int allocator;

	if (!reuse->known.count)
		return 0;
	allocator = callers_find_allocator(callers, memory->created);
	if (allocator <= 0)
		return allocator;
	known = id_map_get(&reuse->known, key_of(process, allocator));
	return known && operation->seq <= order_clock_covers(known->clock, NULL, operation);
}
