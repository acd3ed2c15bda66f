/* SPDX-License-Identifier: Apache-2.0 */
/* Time that memory pools take in waits and allocations, without the device's work. */
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "wait.h"

#define NO_TRIM SIZE_MAX

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

int pool_trims_process_call(struct pool_trims *trims, const struct run *run,
	struct run_evidence *evidence, const struct walk_call *call, int64_t end)
{
	const struct run_payload *payload = run_payload(run, run_call(run, call->id));
	const struct run_allocation *made, *freed;
	struct pool_part part = { .call = (uint32_t)call->id, .trim = NO_TRIM };
	struct pool *pool;

	if (call->result || call->exit == WALK_NEVER || map_get(&trims->keeps, payload->process, 0))
		return 0;
	made = memory_of(run, &run->allocated, (uint32_t)call->id);
	freed = memory_of(run, &run->freed, (uint32_t)call->id);
	pool = id_map_need(&trims->pools, call->process << 16 | (call->device + 1), sizeof(*pool));
	if (call_is_wait(call->kind)) {
		part.time = call->exit - at_least(call->enter, end);
		part.key = call->type << 1 | (end > call->enter);
		part.expected = end > call->enter ? LATENCY_DEFAULT_NS : ASK_NS;
		part.bytes = pool_take_idle(pool, INT64_MAX, call->exit);
		if (part.time >= 0 && !part.bytes)
			samples_add(&trims->usual, part.key, part.time);
		if (part.time < 0 || !part.bytes)
			return 0;
		pool->released += part.bytes;
		if (pool->wait_count < RUN_TRIM_WAITS)
			pool->wait[pool->wait_count++] = trims->part_count;
	} else if (call->kind == KIND_POOL_ATTRIBUTE && payload->bytes > 0) {
		map_set(&trims->keeps, payload->process, 1);
		return 0;
	} else if (made) {
		/* What the pool grows by for the first time is mapped in any case. */
		int64_t more = made->bytes - pool_take_idle(pool, made->bytes, INT64_MAX);

		part.time = call->exit - call->enter;
		part.key = call->type;
		part.expected = SUBMIT_NS;
		if (!more)
			samples_add(&trims->usual, part.key, part.time);
		part.bytes = at_most(more, pool->released);
		pool->released -= part.bytes;
		if (!part.bytes)
			return 0;
		part.trim = evidence->trim_count;
		for (size_t i = 0; i < pool->wait_count; i++)
			trims->part[pool->wait[i]].trim = part.trim;
		pool->wait_count = 0;
		*array_push(evidence->trim, evidence->trim_count) =
			(struct run_trim){ .call = part.call };
	} else {
		if (freed)
			*array_push(pool->idle, pool->idle_count) =
				(struct idle){ freed->bytes, end };
		else if (call->kind == KIND_POOL && payload->has_bytes)
			/* Trimmed by the program. */
			pool_take_idle(pool, INT64_MAX, INT64_MAX);
		return 0;
	}
	*array_push(trims->part, trims->part_count) = part;
	return 1;
}

void pool_trims_join(struct pool_trims *trims, const struct pool_trims *later, size_t rows)
{
	for (size_t i = 0; i < later->part_count; i++) {
		struct pool_part *part = array_push(trims->part, trims->part_count);

		*part = later->part[i];
		part->trim += part->trim == NO_TRIM ? 0 : rows;
	}
	samples_join(&trims->usual, &later->usual);
}

/* What keeping the memory saves; beyond what pools take the calls were late otherwise. */
void pool_trims_finish(struct pool_trims *trims, struct run *run)
{
	for (size_t i = 0; i < trims->part_count; i++) {
		const struct pool_part *part = &trims->part[i];
		int64_t saved = part->time - usual_of(&trims->usual, part->key, part->expected).ns;
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
}

void pool_trims_release(struct pool_trims *trims)
{
	id_map_release(&trims->pools, free_pool);
	map_release(&trims->keeps);
	samples_release(&trims->usual);
	free(trims->part);
}
