/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence_tables.h"

#include "rows.h"
#include "scope.h"

/* Adds what is known about an event of the call; 0: it names none. */
static int add_wait(struct event_waits *waits, const struct order *order,
	const struct walk_call *call, int64_t event)
{
	int sure;
	int64_t record = order_record_of(order, event, &sure);

	if (!event)
		return 0;
	/* In a capture, a wait refers to the last record in that capture. */
	if (call->captured)
		record = (int64_t)map_get(&waits->captured, (uint64_t)event, 0);
	sure = call->captured || (sure && !(call->contested & CONTESTED_EVENT));
	return rows_add(waits->rows,
		ROW(event_wait, call->id, event, record ? record : DB_NULL, sure));
}

int event_waits_process_call(struct event_waits *waits, const struct order *order,
	const struct walk_call *call)
{
	int is_wait = kind_family(call->kind) == FAMILY_event_wait;

	if (call->result || !call->event)
		return 0;
	if (call->captured && call->kind == KIND_EVENT_RECORD)
		map_set(&waits->captured, (uint64_t)call->event, (uint64_t)call->id);
	if (call->captured)
		return is_wait ? add_wait(waits, order, call, call->event) : 0;
	/* The success of a query or a synchronization means that the host has observed it. */
	if (!is_wait && !call->event2 &&
		(call->exit == WALK_NEVER || scope_requested(call) != SCOPE_EVENT))
		return 0;
	return add_wait(waits, order, call, call->event) ||
			add_wait(waits, order, call, call->event2)
		? -1
		: 0;
}
