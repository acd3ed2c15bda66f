/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_fruitless.h"

/* Copies to pageable memory and synchronous copies are complete for the host when they return. */
static int brings_results(const struct run *run, const struct run_call *call)
{
	const struct run_payload *payload = run_payload(run, call);

	return kind_has(call->kind, K_TELLS_HOST) ||
		(call_is_async_copy(call->kind) && payload->direction == COPY_D2H &&
			payload->dst != MEMORY_PAGEABLE);
}

static int process_wait(struct glance *glance, const struct run_call *call, uint32_t id,
	int64_t since)
{
	const struct run_payload *payload = run_payload(glance->run, call);
	uint64_t stream =
		payload->event ? map_get(&glance->events, payload->event, 0) : call->stream;
	int64_t exit = run_exit(glance->run, call, id);
	int fruitless = kind_waits(call->kind) == WAITS_CONTEXT
		? glance->last_result <= glance->last_wait
		: !map_get(&glance->results, stream, 0);

	if (kind_waits(call->kind) == WAITS_CONTEXT)
		glance->last_wait = id;
	if (stream)
		map_set(&glance->results, stream, 0);
	return exit == RUN_NEVER || payload->result
		? 0
		: glance->wait(glance->arg, id, fruitless, exit - since);
}

int glance_scan(struct glance *glance, const struct run *run, const struct polls *polls)
{
	int rc = 0;

	glance->run = run;
	for (uint32_t id = 1; id < run_call_end(run) && !rc; id++) {
		const struct run_call *call = run_call(run, id);

		if (!call || call->kind == KIND_RUNTIME)
			continue;
		if (call->kind == KIND_EVENT_RECORD) {
			map_set(&glance->events, run_payload(run, call)->event, call->stream);
		} else if (brings_results(run, call)) {
			glance->last_result = id;
			map_set(&glance->results, call->stream, 1);
		} else if (call_is_wait(call->kind)) {
			rc = process_wait(glance, call, id, call->enter);
		} else if (polls_since(polls, id) != INT64_MIN) {
			rc = process_wait(glance, call, id, polls_since(polls, id));
		}
	}
	map_release(&glance->events);
	map_release(&glance->results);
	return rc ? -1 : 0;
}
