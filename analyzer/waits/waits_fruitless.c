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
	if (exit != RUN_NEVER && !payload->result &&
		glance->wait(glance->arg, id, fruitless, exit - since))
		return -1;
	if (stream)
		map_set(&glance->results, stream, 0);
	return 0;
}

static int process_call(struct glance *glance, const struct run_call *call, uint32_t id,
	int64_t since)
{
	const struct run_payload *payload = run_payload(glance->run, call);

	if (call->kind == KIND_EVENT_RECORD) {
		map_set(&glance->events, payload->event, call->stream);
		return 0;
	}
	if (brings_results(glance->run, call)) {
		glance->last_result = id;
		map_set(&glance->results, call->stream, 1);
		return 0;
	}
	if (call_is_wait(call->kind))
		return process_wait(glance, call, id, call->enter);
	return since == INT64_MIN ? 0 : process_wait(glance, call, id, since);
}

int glance_scan(struct glance *glance, const struct run *run, const struct polls *polls)
{
	int rc = 0;

	glance->run = run;
	for (uint32_t id = 1; id < run_call_end(run) && !rc; id++) {
		const struct run_call *call = run_call(run, id);

		if (call && call->kind != KIND_RUNTIME)
			rc = process_call(glance, call, id, polls_since(polls, id));
	}
	map_release(&glance->events);
	map_release(&glance->results);
	return rc ? -1 : 0;
}
