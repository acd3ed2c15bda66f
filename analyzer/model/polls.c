/* SPDX-License-Identifier: Apache-2.0 */
#include "polls.h"

#include <stdlib.h>

#include "id_map.h"
#include "ids.h"

/* The object that a thread is polling. */
struct asking {
	int64_t what; /* a stream, or an event as its complement; 0: none */
	int64_t since;
	int again;
};

static void update(struct run *run, const struct map *loops, struct asking *asking, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	const struct run_payload *payload = run_payload(run, call);
	int64_t what = payload->event ? ~(int64_t)payload->event : call->stream;
	int64_t since = asking->since;
	int is_same = what && asking->what == what;

	if (!kind_has(call->kind, K_POLLS)) {
		asking->what = 0;
		return;
	}
	if (payload->result) {
		asking->again = is_same || map_get(loops, id, 0);
		asking->since = is_same ? since : call->enter;
		asking->what = what;
		return;
	}
	asking->what = 0;
	if (is_same && asking->again)
		map_set(&run->polls, id, (uint64_t)since);
}

int polls_find(struct run *run, struct db *db)
{
	struct id_map threads = { 0 };
	struct map loops = { 0 };
	/* Calls that stand for several queries with the same answer. */
	int rc = ids_read(&loops, db, "SELECT call FROM polling WHERE count > 1", 1);

	for (uint32_t id = 1; !rc && id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		struct asking *asking;

		if (!call || call->kind == KIND_RUNTIME)
			continue;
		asking = id_map_need(&threads, call->thread, sizeof(*asking));
		update(run, &loops, asking, id);
	}
	id_map_release(&threads, free);
	map_release(&loops);
	return rc;
}

int64_t polls_since(const struct run *run, int64_t call)
{
	return (int64_t)map_get(&run->polls, (uint64_t)call, (uint64_t)INT64_MIN);
}
