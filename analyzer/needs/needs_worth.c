/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "constants.h"
#include "needs_internal.h"

/* Waits at a site: how many brought the host no results, others; and the time of the former, ns. */
struct wait_site {
	int64_t fruitless, fruitful, waited, broad;
};

struct scan {
	const struct run *run;
	struct id_map sites;
	struct map events;    /* event -> the stream that recorded it */
	struct map results;   /* streams with results that no wait has covered yet */
	uint64_t last_result; /* call of the last result of any stream */
	uint64_t last_wait;   /* of the last wait for a context */
};

static struct wait_site *site_of(struct scan *scan, int64_t call)
{
	return id_map_need(&scan->sites, needs_site(scan->run, call), sizeof(struct wait_site));
}

/* An explicit wait or a loop of queries; since: its first entry, ns. */
static void process_wait(struct scan *scan, const struct run_call *call, uint32_t id, int64_t since)
{
	const struct run_payload *payload = run_payload(scan->run, call);
	uint64_t stream = payload->event ? map_get(&scan->events, payload->event, 0) : call->stream;
	int64_t exit = run_exit(scan->run, call, id);
	int fruitless = kind_waits(call->kind) == WAITS_CONTEXT
		? scan->last_result <= scan->last_wait
		: !map_get(&scan->results, stream, 0);
	struct wait_site *site;

	if (kind_waits(call->kind) == WAITS_CONTEXT)
		scan->last_wait = id;
	if (stream)
		map_set(&scan->results, stream, 0);
	if (exit == RUN_NEVER || payload->result)
		return;
	site = site_of(scan, id);
	site->fruitless += fruitless;
	site->fruitful += !fruitless;
	site->waited += fruitless ? exit - since : 0;
}

int needs_host_is_worth_it(const struct run *run, const struct polls *polls)
{
	const struct run_evidence *evidence = &run->evidence;
	struct scan scan = { .run = run };
	int64_t waited = 0;
	int is_broad = 0;

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		const struct run_call *call = run_call(run, id);
		const struct run_payload *payload;

		if (!call || call->kind == KIND_RUNTIME)
			continue;
		payload = run_payload(run, call);
		/* Other copies are complete for the host when they return. */
		if (call->kind == KIND_EVENT_RECORD) {
			map_set(&scan.events, payload->event, call->stream);
		} else if (kind_has(call->kind, K_TELLS_HOST) ||
			(call_is_async_copy(call->kind) && payload->direction == COPY_D2H &&
				payload->dst != MEMORY_PAGEABLE)) {
			scan.last_result = id;
			map_set(&scan.results, call->stream, 1);
		} else if (call_is_wait(call->kind)) {
			process_wait(&scan, call, id, call->enter);
		} else if (polls_since(polls, id) != INT64_MIN) {
			process_wait(&scan, call, id, polls_since(polls, id));
		}
	}
	/* A wait for a stream or the device that lasted until the end of an operation. */
	for (size_t i = 1; i < evidence->wait_count; i++) {
		const struct run_wait *wait = &evidence->wait[i];
		const struct run_call *call = run_call(run, wait->call);

		if (wait->kind == WAIT_EXPLICIT && wait->waited >= BLOCKED_MIN_NS && call &&
			call_is_wait(call->kind) && kind_waits(call->kind) != WAITS_EVENT)
			site_of(&scan, wait->call)->broad++;
	}
	for (size_t i = 0; i < scan.sites.size; i++) {
		const struct wait_site *site = scan.sites.slot[i].object;

		if (!site || !scan.sites.slot[i].id)
			continue;
		is_broad |= site->broad >= FINDING_MIN_COUNT;
		if (site->fruitless >= FINDING_MIN_COUNT && site->fruitful <= 1)
			waited += site->waited;
	}
	map_release(&scan.events);
	map_release(&scan.results);
	id_map_release(&scan.sites, free);
	return is_broad || waited >= SHOWN_MIN_NS;
}
