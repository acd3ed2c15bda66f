/* SPDX-License-Identifier: Apache-2.0 */
#include "event_waits.h"

#include <stdio.h>
#include <stdlib.h>

#include "map.h"
#include "rows.h"
#include "scope.h"

struct event_waits {
	struct rows *rows;
	struct map captured; /* event -> the captured call that recorded it last */
};

struct event_waits *event_waits_new(struct db *db)
{
	struct event_waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		fputs("cufence: out of memory\n", stderr);
	else
		waits->rows = rows_open(db, "INSERT OR IGNORE INTO event_wait", "iiIi");
	if (waits && waits->rows)
		return waits;
	free(waits);
	return NULL;
}

static int add(struct event_waits *waits, const struct walk_call *call, int64_t event,
	int64_t record, int sure)
{
	return rows_add(waits->rows, call->id, event, record ? record : DB_NULL, (int64_t)sure);
}

static int add_wait(struct event_waits *waits, const struct order *order,
	const struct walk_call *call, int64_t event)
{
	int sure;
	int64_t record = order_record_of(order, event, &sure);

	return event ? add(waits, call, event, record, sure && !(call->contested & CONTESTED_EVENT))
		     : 0;
}

/* In a capture, a wait refers to the last record in that capture. */
static int add_captured(struct event_waits *waits, const struct walk_call *call)
{
	if (kind_family(call->kind) == FAMILY_event_wait)
		return add(waits, call, call->event,
			(int64_t)map_get(&waits->captured, (uint64_t)call->event, 0), 1);
	if (call->kind == KIND_EVENT_RECORD)
		map_set(&waits->captured, (uint64_t)call->event, (uint64_t)call->id);
	return 0;
}

/* The call's success means that the host has observed the event complete. */
static int host_waited(const struct walk_call *call)
{
	return call->exit != WALK_NEVER && scope_requested(call) == SCOPE_EVENT;
}

int event_waits_process_call(struct event_waits *waits, const struct order *order,
	const struct walk_call *call)
{
	if (call->result || !call->event)
		return 0;
	if (call->captured)
		return add_captured(waits, call);
	if (kind_family(call->kind) != FAMILY_event_wait && !host_waited(call) && !call->event2)
		return 0;
	return add_wait(waits, order, call, call->event) ||
			add_wait(waits, order, call, call->event2)
		? -1
		: 0;
}

int event_waits_finish(struct event_waits *waits)
{
	return rows_finish(waits->rows);
}

void event_waits_free(struct event_waits *waits)
{
	if (!waits)
		return;
	rows_free(waits->rows);
	map_release(&waits->captured);
	free(waits);
}
