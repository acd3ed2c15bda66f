/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence_tables.h"

#include "large.h"
#include "rows.h"
#include "scope.h"

/* Adds what is known about an event of the call; 0: it names none. */
static void add_wait(struct event_waits *waits, const struct order *order,
	const struct walk_call *call, int64_t event)
{
	int sure;
	int64_t record = order_record_of(order, event, &sure);

	if (!event)
		return;
	/* In a capture, a wait refers to the last record in that capture. */
	if (call->captured)
		record = (int64_t)map_get(&waits->captured, (uint64_t)event, 0);
	sure = call->captured || (sure && !(call->contested & CONTESTED_EVENT));
	*large_push(waits->wait, waits->count) = (struct found_wait){ .call = (uint32_t)call->id,
		.event = (uint32_t)event,
		.record = (uint32_t)record,
		.sure = (uint32_t)sure };
}

void event_waits_process_call(struct event_waits *waits, const struct order *order,
	const struct walk_call *call)
{
	int is_wait = kind_family(call->kind) == FAMILY_event_wait;

	if (call->result || !call->event)
		return;
	if (call->captured && call->kind == KIND_EVENT_RECORD)
		map_set(&waits->captured, (uint64_t)call->event, (uint64_t)call->id);
	if (call->captured) {
		if (is_wait)
			add_wait(waits, order, call, call->event);
		return;
	}
	/* The success of a query or a synchronization means that the host has observed it. */
	if (!is_wait && !call->event2 &&
		(call->exit == WALK_NEVER || scope_requested(call) != SCOPE_EVENT))
		return;
	add_wait(waits, order, call, call->event);
	add_wait(waits, order, call, call->event2);
}

int event_waits_store(const struct event_waits *waits, struct rows *rows)
{
	int rc = 0;

	for (size_t i = 0; i < waits->count && !rc; i++) {
		const struct found_wait *wait = &waits->wait[i];

		rc = rows_add(rows,
			ROW(event_wait, wait->call, wait->event, cell_id(wait->record),
				wait->sure));
	}
	return rc;
}

void event_waits_release(struct event_waits *waits)
{
	large_free(waits->wait);
	map_release(&waits->captured);
}
