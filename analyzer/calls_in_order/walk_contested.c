/* SPDX-License-Identifier: Apache-2.0 */
#include "walk_contested.h"

#include <stdlib.h>

#include "id_map.h"
#include "memory.h"

/* The last call of each thread for one stream or event, if it may not have returned yet. */
struct shared {
	struct last_call {
		int64_t call, thread, exit;
		int changes; /* it changes the state of the stream or event */
	} * last;
	size_t count;
};

struct finder {
	struct contested *contested;
	struct id_map streams, events;
};

static void add_contested(struct contested *contested, int64_t call, unsigned by)
{
	*array_push(contested->list, contested->count) =
		(struct contested_call){ .call = call, .by = by };
}

static void keep_last(struct shared *shared, const struct last_call *last)
{
	for (size_t i = 0; i < shared->count; i++) {
		if (shared->last[i].thread == last->thread) {
			shared->last[i] = *last;
			return;
		}
	}
	*array_push(shared->last, shared->count) = *last;
}

static int check_object(struct finder *finder, struct id_map *map, int64_t object, int64_t enter,
	const struct last_call *call)
{
	unsigned by = map == &finder->streams ? CONTESTED_STREAM : CONTESTED_EVENT;
	struct shared *shared = object ? id_map_need(map, object, sizeof(*shared)) : NULL;

	if (!shared)
		return object ? -1 : 0;
	/* Calls come in order of entry. */
	size_t kept = 0;

	for (size_t i = 0; i < shared->count; i++)
		if (shared->last[i].exit > enter)
			shared->last[kept++] = shared->last[i];
	shared->count = kept;
	for (size_t i = 0; i < shared->count; i++) {
		const struct last_call *other = &shared->last[i];

		if (other->thread == call->thread || (!other->changes && !call->changes))
			continue;
		add_contested(finder->contested, other->call, by);
		add_contested(finder->contested, call->call, by);
	}
	keep_last(shared, call);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct contested_call *p = a, *q = b;

	return p->call < q->call ? -1 : p->call > q->call;
}

static void free_shared(void *object)
{
	struct shared *shared = object;

	free(shared->last);
	free(shared);
}

static int check_call(struct finder *finder, const struct run *run, const struct run_call *row,
	uint32_t id)
{
	struct last_call call = { .call = id,
		.thread = row->thread,
		.exit = run_exit(run, row, id) };
	enum call_kind kind = row->kind;

	/* Waits and queries change nothing, in any order. */
	call.changes = !call_is_wait(kind) &&
		(!kind_has(kind, K_IDLE) || kind_family(kind) == FAMILY_capture);
	if (check_object(finder, &finder->streams, row->stream, row->enter, &call))
		return -1;
	call.changes = kind_family(kind) == FAMILY_event;
	return check_object(finder, &finder->events, run_payload(run, row)->event, row->enter,
		&call);
}

int contested_find(const struct run *run, struct contested *contested)
{
	struct finder finder = { .contested = contested };
	int rc = 0;

	*contested = (struct contested){ 0 };
	for (uint32_t id = 1; run->threads_share && id < run_call_end(run) && !rc; id++) {
		const struct run_call *row = run_call(run, id);

		if (row && row->kind != KIND_RUNTIME && !run_payload(run, row)->result)
			rc = check_call(&finder, run, row, id);
	}
	id_map_release(&finder.streams, free_shared);
	id_map_release(&finder.events, free_shared);
	size_t kept = 0;

	if (contested->count)
		qsort(contested->list, contested->count, sizeof(*contested->list), compare);
	for (size_t i = 0; i < contested->count; i++) {
		if (kept && contested->list[kept - 1].call == contested->list[i].call)
			contested->list[kept - 1].by |= contested->list[i].by;
		else
			contested->list[kept++] = contested->list[i];
	}
	contested->count = kept;
	return rc;
}

unsigned contested_of(struct contested *contested, int64_t call)
{
	while (contested->at < contested->count && contested->list[contested->at].call < call)
		contested->at++;
	if (contested->at < contested->count && contested->list[contested->at].call == call)
		return contested->list[contested->at].by;
	return 0;
}

void contested_release(struct contested *contested)
{
	free(contested->list);
	*contested = (struct contested){ 0 };
}
