/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is allocated and freed in stream order: by calls, whose lives are rows of table
 * allocation, and by graphs.  "The lifetime of a graph allocation begins when GPU execution reaches
 * the allocating graph node", and its address is the same in each launch (CUDA programming guide,
 * "Graph memory nodes"): each launch begins another life of its single row.
 */
#include <stdlib.h>

#include "hazards_internal.h"
#include "memory.h"

/* Allocations of an executable graph. */
struct graph_memory {
	uint32_t *allocation;
	size_t count;
};

struct memory_access hazards_life_of(const struct run *run, uint32_t allocation)
{
	const struct run_allocation *row = run_allocation(run, allocation);
	int64_t low = row->address, high;

	/* Values in a trace are not trusted. */
	if (__builtin_add_overflow(low, row->bytes, &high))
		high = low;
	return (struct memory_access){ .allocation = allocation,
		.low = low,
		.high = high,
		.start = low,
		.run = high - low,
		.direction = ACCESS_WRITE,
		.evidence = EVIDENCE_EXACT,
		.sure = 1,
		.exact = 1 };
}

uint32_t hazards_made_by(const struct run *run, int64_t call)
{
	const struct run_ended *made = run_find(&run->allocated, call);

	return made ? made->what : 0;
}

/* Judges and adds the access of an operation that allocates or frees memory. */
static int add_life(struct hazards *hazards, uint32_t allocation)
{
	struct memory_access all = hazards_life_of(hazards->run, allocation);
	int rc;

	if (all.low == all.high)
		return 0;
	hazards->now.is_life = 1;
	rc = hazards_check_access(hazards, &all) || hazards_add_access(hazards, &all);
	hazards->now.is_life = 0;
	return rc ? -1 : 0;
}

static int is_async(const struct run *run, uint32_t allocation)
{
	return run_allocation(run, allocation)->kind == ALLOCATION_ASYNC;
}

/* Table allocation has no free of a graph's memory. */
static int free_graph_memory(struct hazards *hazards, const struct walk_call *call)
{
	uint64_t address = (uint64_t)call->ptr;
	uint64_t id = call->kind == KIND_FREE_ASYNC && !call->result
		? map_get(&hazards->graph_addresses, address, 0)
		: 0;

	if (!id)
		return 0;
	if (add_life(hazards, (uint32_t)id))
		return -1;
	map_set(&hazards->graph_addresses, address, 0);
	return 0;
}

/*
 * Work is complete for who frees on the host if the thread has observed that.  Another thread that
 * has may have signalled it.  What was only allocated is not accessed.
 */
static enum order_strength order_on_host(void *arg, const struct past_access *past,
	const struct memory_access *access)
{
	const struct hazards *hazards = arg;

	enum order_strength strength;

	(void)access;
	if (past->by.is_life)
		return ORDER_GUARANTEED;
	strength = order_known(hazards->order, hazards->now.thread, past->by.epoch);
	return strength == ORDER_UNORDERED && hazards_any_observed(hazards->order, &past->by.epoch)
		? ORDER_ASSUMED
		: strength;
}

/*
 * cudaFree of memory that was allocated in stream order does not wait: "the driver assumes that all
 * accesses to the allocation are complete and performs no further synchronization" (CUDA
 * programming guide, "Stream Ordered Memory Allocator"; the same on an H200).
 */
static int free_on_host(struct hazards *hazards, uint32_t allocation)
{
	struct memory_access all = hazards_life_of(hazards->run, allocation);
	int rc;

	hazards->ordering = (struct ordering){ order_on_host, hazards };
	hazards->now.is_life = 1;
	rc = hazards_check_access(hazards, &all);
	hazards->now.is_life = 0;
	return rc;
}

int hazards_process_lives(struct hazards *hazards, const struct walk_call *call, int submitted)
{
	const struct run_ended *made = run_cursor_at(&hazards->made, call->id), *freed;

	if (made && submitted && is_async(hazards->run, made->what) &&
		add_life(hazards, made->what))
		return -1;
	if (submitted && free_graph_memory(hazards, call))
		return -1;
	while ((freed = run_cursor_at(&hazards->freed, call->id))) {
		if (submitted && call->kind == KIND_FREE_ASYNC && add_life(hazards, freed->what))
			return -1;
		if (usage_frees_on_host(hazards->run, freed->what) &&
			free_on_host(hazards, freed->what))
			return -1;
		usage_forget(&hazards->usage, freed->what);
		hazards->freed.at++;
	}
	return 0;
}

/* Lists the allocations of the executable that the last operation launches. */
static void note_memory(struct hazards *hazards, const struct graph_content *content)
{
	struct graph_memory *memory =
		id_map_need(&hazards->graph_memory, content->number, sizeof(*memory));

	memory->count = 0;
	for (size_t i = 0; i < content->node_count; i++) {
		const struct graph_part_node *node = &content->node[i];
		uint32_t made = node->kind == KIND_ALLOC_ASYNC
			? hazards_made_by(hazards->run, node->call)
			: 0;

		if (made)
			*array_push(memory->allocation, memory->count) = made;
	}
}

/* The launch frees what was not freed (cudaGraphInstantiateFlagAutoFreeOnLaunch). */
static int begin_life(struct hazards *hazards, uint32_t id)
{
	uint64_t address = (uint64_t)run_allocation(hazards->run, id)->address;
	struct shared *shared;

	if (map_get(&hazards->graph_addresses, address, 0) == id && add_life(hazards, id))
		return -1;
	shared = id_map_get(&hazards->usage.shared, id);
	if (shared)
		history_release(&shared->history);
	map_set(&hazards->graph_addresses, address, id);
	return add_life(hazards, id) ? -1 : 0;
}

int hazards_begin_graph_memory(struct hazards *hazards, const struct walk_call *call)
{
	const struct graph_memory *memory;
	struct graph_content content;

	if (operations_graph(&hazards->operations, &content))
		note_memory(hazards, &content);
	memory = call->exec && hazards->operations.graph
		? id_map_get(&hazards->graph_memory, hazards->operations.graph)
		: NULL;
	for (size_t i = 0; memory && i < memory->count; i++)
		if (begin_life(hazards, memory->allocation[i]))
			return -1;
	return 0;
}

static void free_memory(void *object)
{
	struct graph_memory *memory = object;

	free(memory->allocation);
	free(memory);
}

void hazards_release_graph_memory(struct hazards *hazards)
{
	id_map_release(&hazards->graph_memory, free_memory);
	map_release(&hazards->graph_addresses);
}
