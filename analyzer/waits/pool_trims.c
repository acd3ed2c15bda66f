/* SPDX-License-Identifier: Apache-2.0 */
#include "pool_trims.h"

#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "idmap.h"
#include "waits_usual.h"

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
	size_t wait
		[RUN_TRIM_WAITS]; /* parts: the waits that gave back memory since it was mapped */
	size_t wait_count;
};

struct trims {
	struct run *run;
	struct idmap pools;
	/* ns: end of a stream's last work, the same at an event's record, of a process's work. */
	struct map tails, events, ends;
	struct map keeps; /* processes that raised a threshold */
	struct usual usual;
	struct part *part;
	size_t part_count;
};

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* --- when the device had finished --- */

/* RUN_NEVER if the end of some of it is unknown, 0 without work. */
static int64_t end_of_work(const struct run *run, const struct run_call *call)
{
	uint32_t id = call->last_work;
	int64_t end = 0;

	while (id) {
		const struct run_work *work = run_work(run, id);

		end = later(end, run_end(run, work, id));
		id = work->next == call->last_work ? 0 : work->next;
	}
	return end;
}

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

static int note_end(struct map *map, uint64_t key, int64_t end)
{
	map_set(map, key, (uint64_t)later((int64_t)map_get(map, key, 0), end));
	return 0;
}

static int note_work(struct trims *trims, const struct run_call *call)
{
	uint32_t event = run_payload(trims->run, call)->event;
	int64_t end = end_of_work(trims->run, call);

	if (call->kind == KIND_EVENT_RECORD && event) {
		map_set(&trims->events, event, (uint64_t)tail_of(trims, call));
		return 0;
	}
	if (!end)
		return 0;
	return note_end(&trims->tails, call->stream, end) ||
			note_end(&trims->ends, process_of(trims, call), end)
		? -1
		: 0;
}

/* Returns the end of the work that an explicit wait waits for, 0: none. */
static int64_t awaited_end(const struct trims *trims, const struct run_call *call)
{
	uint64_t all = map_get(&trims->ends, process_of(trims, call), 0);

	if (call->kind == KIND_STREAM_SYNC)
		return tail_of(trims, call);
	if (call->kind == KIND_EVENT_SYNC)
		return (int64_t)map_get(&trims->events, run_payload(trims->run, call)->event, all);
	return (int64_t)all;
}

/* --- the memory of pools --- */

static struct pool *pool_of(struct trims *trims, const struct run_call *call)
{
	int64_t device = run_context(trims->run, run_context_of(trims->run, call))->device;

	return idmap_need(&trims->pools, (int64_t)process_of(trims, call) << 16 | (device + 1),
		sizeof(struct pool));
}

static void free_pool(void *object)
{
	struct pool *pool = object;

	free(pool->idle);
	free(pool);
}

static int pool_add_idle(struct pool *pool, int64_t bytes, int64_t ready)
{
	struct idle *more = array_room(pool->idle, pool->idle_count, sizeof(*more));

	if (!more)
		return -1;
	pool->idle = more;
	more[pool->idle_count++] = (struct idle){ bytes, ready };
	return 0;
}

/* Takes up to most bytes whose free was complete at a time.  Returns their number. */
static int64_t pool_take_idle(struct pool *pool, int64_t most, int64_t at)
{
	int64_t taken = 0;
	size_t kept = 0;

	for (size_t i = 0; i < pool->idle_count; i++) {
		struct idle *idle = &pool->idle[i];
		int64_t part = idle->ready > at ? 0 : idle->bytes;

		if (part > most - taken)
			part = most - taken;
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

static int add_part(struct trims *trims, const struct part *part)
{
	struct part *more = array_room(trims->part, trims->part_count, sizeof(*more));

	if (!more)
		return -1;
	trims->part = more;
	more[trims->part_count++] = *part;
	return 0;
}

static int process_wait(struct trims *trims, const struct run_call *call, uint32_t id)
{
	int64_t exit = run_exit(trims->run, call, id), end = awaited_end(trims, call);
	int64_t key = (int64_t)call->type << 1 | (end > call->enter);
	struct pool *pool = pool_of(trims, call);
	int64_t time = exit - later(call->enter, end), bytes;
	int64_t expected = end > call->enter ? LATENCY_DEFAULT_NS : ASK_NS;

	if (!pool)
		return -1;
	bytes = pool_take_idle(pool, INT64_MAX, exit);
	if (time < 0)
		return 0;
	if (!bytes)
		return usual_add(&trims->usual, key, time);
	pool->released += bytes;
	if (pool->wait_count < RUN_TRIM_WAITS)
		pool->wait[pool->wait_count++] = trims->part_count;
	return add_part(trims, &(struct part){ id, NO_TRIM, key, time, expected, bytes });
}

/* What the pool grows by for the first time is mapped in any case. */
static int process_alloc(struct trims *trims, const struct run_call *call, uint32_t id,
	int64_t bytes)
{
	struct run_evidence *evidence = &trims->run->evidence;
	int64_t time = run_exit(trims->run, call, id) - call->enter, again;
	struct pool *pool = pool_of(trims, call);

	if (!pool)
		return -1;
	bytes -= pool_take_idle(pool, bytes, INT64_MAX);
	if (!bytes)
		return usual_add(&trims->usual, call->type, time);
	again = bytes < pool->released ? bytes : pool->released;
	pool->released -= again;
	if (!again)
		return 0;
	for (size_t i = 0; i < pool->wait_count; i++)
		trims->part[pool->wait[i]].trim = evidence->trim_count;
	pool->wait_count = 0;
	return add_part(trims,
		       &(struct part){ id, evidence->trim_count, call->type, time, SUBMIT_NS,
			       again }) ||
			run_add_trim(evidence, &(struct run_trim){ .call = id })
		? -1
		: 0;
}

static int process_memory(struct trims *trims, const struct run_call *call, uint32_t id)
{
	const struct run_allocation *made = memory_of(trims->run, &trims->run->allocated, id);
	const struct run_allocation *freed = memory_of(trims->run, &trims->run->freed, id);
	const struct run_payload *payload = run_payload(trims->run, call);
	struct pool *pool;

	if (call->kind == KIND_POOL_ATTRIBUTE && payload->bytes > 0) {
		map_set(&trims->keeps, payload->process, 1);
		return 0;
	}
	if (made)
		return process_alloc(trims, call, id, made->bytes);
	if (!freed && (call->kind != KIND_POOL || !payload->has_bytes))
		return 0;
	pool = pool_of(trims, call);
	if (!pool)
		return -1;
	if (freed)
		return pool_add_idle(pool, freed->bytes, tail_of(trims, call));
	/* Trimmed by the program. */
	pool_take_idle(pool, INT64_MAX, INT64_MAX);
	return 0;
}

static int process_call(struct trims *trims, uint32_t id)
{
	const struct run_call *call = run_call(trims->run, id);

	if (!call || call->kind == KIND_RUNTIME || call->duration == DURATION_NEVER ||
		run_payload(trims->run, call)->result)
		return 0;
	if (note_work(trims, call))
		return -1;
	if (map_get(&trims->keeps, process_of(trims, call), 0))
		return 0;
	return call_is_wait(call->kind) ? process_wait(trims, call, id)
					: process_memory(trims, call, id);
}

/* --- what keeping the memory saves --- */

/* Beyond what pools take, a call was late for another reason. */
static int64_t saved_of(struct trims *trims, const struct part *part)
{
	int64_t usual = usual_duration(&trims->usual, part->key, part->expected);
	int64_t most = POOL_SLOW_TIMES *
		(POOL_TRIM_NS + (int64_t)((double)part->bytes * POOL_NS_PER_MIB / (1 << 20)));
	int64_t saved = part->time - usual;

	if (saved < BLOCKED_MIN_NS)
		return 0;
	return saved < most ? saved : most;
}

static int settle_part(struct trims *trims, const struct part *part)
{
	struct run_evidence *evidence = &trims->run->evidence;
	struct run_trim *trim = part->trim == NO_TRIM ? NULL : &evidence->trim[part->trim];
	int64_t saved = trim ? saved_of(trims, part) : 0;

	if (!saved)
		return 0;
	trim->time += saved;
	for (size_t i = 0; i < RUN_TRIM_WAITS && part->call != trim->call; i++)
		if (!trim->wait[i]) {
			trim->wait[i] = part->call;
			break;
		}
	map_set(&evidence->trimmed, part->call, (uint64_t)saved);
	return 0;
}

static int has_pools(const struct run *run)
{
	for (uint32_t id = 1; id < run->allocations.count; id++)
		if (run_allocation(run, id)->kind == ALLOCATION_ASYNC)
			return 1;
	return 0;
}

int pool_trims_find(struct run *run)
{
	struct trims trims = { .run = run };
	int rc = 0, wanted = has_pools(run);

	for (uint32_t id = 1; wanted && id < run_call_end(run) && !rc; id++)
		rc = process_call(&trims, id);
	for (size_t i = 0; i < trims.part_count && !rc; i++)
		rc = settle_part(&trims, &trims.part[i]);
	idmap_release(&trims.pools, free_pool);
	map_release(&trims.tails);
	map_release(&trims.events);
	map_release(&trims.ends);
	map_release(&trims.keeps);
	usual_release(&trims.usual);
	free(trims.part);
	return rc ? -1 : 0;
}
