/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_key.h"

#include "map.h"

static uint64_t add_access(uint64_t key, const struct memory_access *access)
{
	const uint64_t words[] = { (uint64_t)access->allocation, (uint64_t)access->low,
		(uint64_t)access->high, (uint64_t)access->start, (uint64_t)access->run,
		access->direction | (uint64_t)access->evidence << 8 | (uint64_t)access->sure << 16 |
			(uint64_t)access->exact << 24 | (uint64_t)access->early << 32 |
			(uint64_t)access->spins << 40 | (uint64_t)access->loose << 48 |
			(uint64_t)access->maybe << 56,
		access->node | (uint64_t)access->stride_count << 32 };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		key = map_hash_next(key, words[i]);
	for (unsigned i = 0; i < access->stride_count; i++) {
		key = map_hash_next(key, (uint64_t)access->stride[i].bytes);
		key = map_hash_next(key, (uint64_t)access->stride[i].count);
	}
	return key;
}

/*
 * Kernels, copies and memsets of one place that access the same are the same.  Of other nodes,
 * such as events, host functions and allocations, it counts which they are.
 */
static uint64_t add_node(uint64_t key, const struct run *run, const struct graph_part_node *node)
{
	const struct run_call *call = run_call(run, node->call);
	int is_work = kind_has((enum call_kind)node->kind, K_ACCESSES);

	key = map_hash_next(key,
		node->part | (uint64_t)node->kind << 32 | (uint64_t)node->maybe << 40);
	if (!call || !is_work)
		return map_hash_next(map_hash_next(key, (uint64_t)node->id), (uint64_t)node->call);
	key = map_hash_next(key, run_outer_site(run, node->call));
	return map_hash_next(key,
		run_payload(run, call)->kernel |
			(uint64_t)run_object(run, node->call, OBJECT_ATTRIBUTES) << 32);
}

/* Row ids of the nodes of a part ascend: the key has how far they are from the first one. */
static int add_edges(uint64_t *key, const struct graph_part *part, int64_t first,
	sqlite3_stmt *edges)
{
	int step = db_bind(edges, "ii", part->graph, part->at);

	while (!step && (step = db_step(edges)) > 0) {
		for (int i = 0; i < 2; i++)
			*key = map_hash_next(*key,
				(uint64_t)(sqlite3_column_int64(edges, i) - first));
		*key = map_hash_next(*key, (uint64_t)sqlite3_column_int64(edges, 2));
		step = 0;
	}
	sqlite3_reset(edges);
	return step;
}

int graph_key(const struct run *run, const struct graph_content *content,
	const struct access_rows *launch, sqlite3_stmt *edges, uint64_t *key)
{
	const struct accesses *accesses = content->accesses;
	size_t node = 0;

	*key = map_hash_next((uint64_t)content->exec,
		(uint64_t)content->complete | (uint64_t)accesses->complete << 1 |
			(uint64_t)accesses->named << 2 | (uint64_t)accesses->reaches << 3);
	for (const struct run_operand *row = launch->operand; row < launch->operands_end; row++)
		*key = map_hash_next(*key, row->allocation | (uint64_t)row->role << 32);
	for (size_t i = 0; i < accesses->count; i++)
		*key = add_access(*key, &accesses->access[i]);
	for (size_t i = 0; i < content->part_count; i++) {
		const struct graph_part *part = &content->part[i];
		int64_t first = node < content->node_count ? content->node[node].id : 0;

		*key = map_hash_next(*key, part->owner | (uint64_t)part->maybe << 32);
		for (; node < content->node_count && content->node[node].part == i; node++) {
			*key = add_node(*key, run, &content->node[node]);
			*key = map_hash_next(*key, (uint64_t)(content->node[node].id - first));
		}
		if (add_edges(key, part, first, edges))
			return -1;
	}
	return 0;
}
