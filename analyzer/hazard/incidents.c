/* SPDX-License-Identifier: Apache-2.0 */
#include "incidents.h"

#include <stdlib.h>

#include "id_map.h"
#include "order_cover.h"
#include "scope.h"

/* Calls kept of a process: the call that causes an accidental order is mostly a recent one. */
#define KEPT 16

struct incident_ring {
	struct {
		int64_t call;
		struct order_clock *clock; /* what the thread had observed complete after it */
	} kept[KEPT];
	unsigned count; /* in all */
};

static void free_ring(void *object)
{
	struct incident_ring *ring = object;

	for (unsigned i = 0; i < KEPT; i++)
		order_clock_unref(ring->kept[i].clock);
	free(ring);
}

void incidents_release(struct incidents *incidents)
{
	id_map_release(&incidents->processes, free_ring);
}

/*
 * An asynchronous copy of pageable memory may wait, too.  For a synchronous copy the wait is
 * documented.
 */
static int may_wait(const struct walk_call *call)
{
	return !call->result && !call->captured && !call->is_lazy_load &&
		scope_of(call) != SCOPE_NONE &&
		(kind_has(call->kind, K_RESOURCE) || call_is_async_copy(call->kind));
}

void incidents_process_call(struct incidents *incidents, const struct order *order,
	const struct walk_call *call)
{
	struct incident_ring *ring;
	unsigned place;

	if (!may_wait(call) || order->given_up)
		return;
	ring = id_map_need(&incidents->processes, call->process, sizeof(*ring));
	place = ring->count++ % KEPT;
	order_clock_unref(ring->kept[place].clock);
	ring->kept[place].call = call->id;
	ring->kept[place].clock = order_clock_ref(order_clock_of_thread(order, call->thread));
}

int64_t incidents_find(const struct incidents *incidents, int64_t process,
	const struct order_epoch *operation)
{
	const struct incident_ring *ring = id_map_get(&incidents->processes, process);
	unsigned first = ring && ring->count > KEPT ? ring->count - KEPT : 0;

	for (unsigned i = first; ring && i < ring->count; i++)
		if (order_clock_strength(ring->kept[i % KEPT].clock, NULL, operation) ==
			ORDER_INCIDENTAL)
			return ring->kept[i % KEPT].call;
	return 0;
}
