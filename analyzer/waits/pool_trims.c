/* SPDX-License-Identifier: Apache-2.0 */
/* Time that memory pools take in waits and allocations, without the device's work. */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "wait.h"

#define NO_TRIM SIZE_MAX

/* The part of a call's time in which a pool may have given back or mapped memory. */
struct part {
	uint32_t call;
	size_t trim; /* number of its row in run_evidence.trim */
	int64_t key; /* of comparable calls */
	int64_t time, expected, bytes;
};

/* The pools of a device in a process. */
struct pool {
	/* Freed memory that it holds, and when the free is complete. */
	struct idle {
		int64_t bytes, ready;
	} * idle;
	size_t idle_count;
	int64_t released; /* bytes given back and not mapped again */
	/* Parts: the waits that gave back memory since it was mapped. */
	size_t wait[RUN_TRIM_WAITS];
	size_t wait_count;
};

struct trims {
	struct run *run;
	struct id_map pools;
	/* ns: end of a stream's last work, the same at an event's record, of a process's work. */
	struct map tails, events, ends;
	struct map keeps; /* processes that raised a threshold */
	struct samples usual;
	struct part *part;
	size_t part_count;
};

/* --- when the device had finished --- */

static uint32_t process_of(const struct trims *trims, const struct run_call *call)
{
	return run_payload(trims->run, call)->process;
}

/* Work of the legacy default stream comes after that of others. */
static int64_t tail_of(const struct trims *trims, const struct run_call *call)
{
	if (!call->stream || run_stream(trims->run, call->stream)->kind == STREAM_KIND_LEGACY)
		return (int64_t)map_get(&trims->ends, process_of(trims, call), 0);
	return (int64_t)map_get(&trims->tails, call->stream, 0);
}

static void note_end(struct map *map, uint64_t key, int64_t end)
{
	map_set(map, key, (uint64_t)at_least((int64_t)map_get(map, key, 0), end));
}

/* --- the memory of pools --- */

static struct pool *pool_of(struct trims *trims, const struct run_call *call)
{
	int64_t device = run_context(trims->run, run_context_of(trims->run, call))->device;

	return id_map_need(&trims->pools, (int64_t)process_of(trims, call) << 16 | (device + 1),
		sizeof(struct pool));
}

static void free_pool(void *object)
{
	free(((struct pool *)object)->idle);
	free(object);
}

/* Takes up to most bytes whose free was complete at a time.  Returns their number. */
static int64_t pool_take_idle(struct pool *pool, int64_t most, int64_t at)
{
	int64_t taken = 0;
	size_t kept = 0;

	for (size_t i = 0; i < pool->idle_count; i++) {
		struct idle *idle = &pool->idle[i];
		int64_t part = idle->ready > at ? 0 : idle->bytes;

		part = at_most(part, most - taken);
		taken += part;
		idle->bytes -= part;
		if (idle->bytes)
			pool->idle[kept++] = *idle;
	}
	pool->idle_count = kept;
	return taken;
}

/* Returns the stream-ordered memory in a table of calls that made or freed it, NULL: none. */
static const struct run_allocation *memory_of(const struct run *run, const struct column *rows,
	uint32_t call)
{
	const struct run_ended *row = run_find(rows, call);
	const struct run_allocation *memory = row ? run_allocation(run, row->what) : NULL;

	return memory && memory->kind == ALLOCATION_ASYNC ? memory : NULL;
}

/* --- the calls --- */

static void process_wait(struct trims *trims, const struct run_call *call, uint32_t id)
{
	int64_t exit = run_exit(trims->run, call, id), key, time, expected;
	struct pool *pool = pool_of(trims, call);
	int64_t bytes = pool_take_idle(pool, INT64_MAX, exit);
	/* Of the work that it waits for, 0: none. */
	uint64_t end = map_get(&trims->ends, process_of(trims, call), 0);

	if (call->kind == KIND_STREAM_SYNC)
		end = (uint64_t)tail_of(trims, call);
	else if (call->kind == KIND_EVENT_SYNC)
		end = map_get(&trims->events, run_payload(trims->run, call)->event, end);
	key = (int64_t)call->type << 1 | ((int64_t)end > call->enter);
	time = exit - at_least(call->enter, (int64_t)end);
	expected = (int64_t)end > call->enter ? LATENCY_DEFAULT_NS : ASK_NS;
	if (time < 0)
		return;
	if (!bytes) {
		samples_add(&trims->usual, key, time);
		return;
	}
	pool->released += bytes;
	if (pool->wait_count < RUN_TRIM_WAITS)
		pool->wait[pool->wait_count++] = trims->part_count;
	*array_push(trims->part, trims->part_count) =
		(struct part){ id, NO_TRIM, key, time, expected, bytes };
}

/* What the pool grows by for the first time is mapped in any case. */
static void process_alloc(struct trims *trims, const struct run_call *call, uint32_t id,
	int64_t bytes)
{
	struct run_evidence *evidence = &trims->run->evidence;
	int64_t time = run_exit(trims->run, call, id) - call->enter, again;
	struct pool *pool = pool_of(trims, call);

	bytes -= pool_take_idle(pool, bytes, INT64_MAX);
	if (!bytes)
		samples_add(&trims->usual, call->type, time);
	again = at_most(bytes, pool->released);
	pool->released -= again;
	if (!again)
		return;
	for (size_t i = 0; i < pool->wait_count; i++)
		trims->part[pool->wait[i]].trim = evidence->trim_count;
	pool->wait_count = 0;
	*array_push(trims->part, trims->part_count) =
		(struct part){ id, evidence->trim_count, call->type, time, SUBMIT_NS, again };
	run_add_trim(evidence, &(struct run_trim){ .call = id });
}

static void process_call(struct trims *trims, uint32_t id)
{
	const struct run_call *call = run_call(trims->run, id);
	const struct run_allocation *made, *freed;
	const struct run_payload *payload = call ? run_payload(trims->run, call) : NULL;
	int64_t end = 0; /* of its work; RUN_NEVER if that of some of it is unknown */
	struct pool *pool;

	if (!call || call->kind == KIND_RUNTIME || call->duration == DURATION_NEVER ||
		payload->result)
		return;
	if (call->kind == KIND_EVENT_RECORD && payload->event)
		map_set(&trims->events, payload->event, (uint64_t)tail_of(trims, call));
	for (uint32_t op = call->last_work; op;) {
		const struct run_work *work = run_work(trims->run, op);

		end = at_least(end, run_end(trims->run, work, op));
		op = work->next == call->last_work ? 0 : work->next;
	}
	if (end && (call->kind != KIND_EVENT_RECORD || !payload->event)) {
		note_end(&trims->tails, call->stream, end);
		note_end(&trims->ends, process_of(trims, call), end);
	}
	if (map_get(&trims->keeps, process_of(trims, call), 0))
		return;
	if (call_is_wait(call->kind)) {
		process_wait(trims, call, id);
		return;
	}
	made = memory_of(trims->run, &trims->run->allocated, id);
	freed = memory_of(trims->run, &trims->run->freed, id);
	if (call->kind == KIND_POOL_ATTRIBUTE && payload->bytes > 0) {
		map_set(&trims->keeps, payload->process, 1);
	} else if (made) {
		process_alloc(trims, call, id, made->bytes);
	} else if (freed) {
		pool = pool_of(trims, call);
		*array_push(pool->idle, pool->idle_count) =
			(struct idle){ freed->bytes, tail_of(trims, call) };
	} else if (call->kind == KIND_POOL && payload->has_bytes) {
		/* Trimmed by the program. */
		pool_take_idle(pool_of(trims, call), INT64_MAX, INT64_MAX);
	}
}

void pool_trims_find(struct run *run)
{
	struct trims trims = { .run = run };
	int has_pools = 0;

	for (uint32_t id = 1; id < run->allocations.count && !has_pools; id++)
		has_pools = run_allocation(run, id)->kind == ALLOCATION_ASYNC;
	for (uint32_t id = 1; has_pools && id < run_call_end(run); id++)
		process_call(&trims, id);
	/* What keeping the memory saves; beyond what pools take the calls were late otherwise. */
	for (size_t i = 0; i < trims.part_count; i++) {
		const struct part *part = &trims.part[i];
		int64_t saved =
			part->time - usual_duration(&trims.usual, part->key, part->expected);
		int64_t most = POOL_SLOW_TIMES *
			(POOL_TRIM_NS +
				(int64_t)((double)part->bytes * POOL_NS_PER_MIB / (1 << 20)));
		struct run_trim *trim;
		size_t k = 0;

		if (part->trim == NO_TRIM || saved < BLOCKED_MIN_NS)
			continue;
		saved = at_most(saved, most);
		trim = &run->evidence.trim[part->trim];
		trim->time += saved;
		while (k < RUN_TRIM_WAITS && trim->wait[k])
			k++;
		if (k < RUN_TRIM_WAITS && part->call != trim->call)
			trim->wait[k] = part->call;
		map_set(&run->evidence.trimmed, part->call, (uint64_t)saved);
	}
	id_map_release(&trims.pools, free_pool);
	map_release(&trims.tails);
	map_release(&trims.events);
	map_release(&trims.ends);
	map_release(&trims.keeps);
	samples_release(&trims.usual);
	free(trims.part);
}
