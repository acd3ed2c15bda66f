/* SPDX-License-Identifier: Apache-2.0 */
#include "timed_events.h"

#include "calls.h"

static int add(struct map *timed, const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);

	map_set(timed, run_payload(run, call)->event, 1);
	map_set(timed, (uint64_t)run_object(run, id, OBJECT_EVENT), 1);
	return 0;
}

int timed_events_find(struct map *timed, const struct run *run)
{
	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);

		if (call && call->kind == KIND_EVENT_ELAPSED && add(timed, run, id))
			return -1;
	}
	return 0;
}

int timed_events_has(const struct map *timed, int64_t event)
{
	return event && map_get(timed, (uint64_t)event, 0);
}
