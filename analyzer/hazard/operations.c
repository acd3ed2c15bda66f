/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include <stdlib.h>

/* Limit of graph nodes read, at 10 us each.  A graph beyond it is a loss (HAZARD_LOSS). */
#define MOST_NODES 200000

static void release_nothing(void *object)
{
	(void)object;
}

static int find_told(struct operations *operations, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT kernel FROM kernel_access UNION SELECT c.kernel FROM collective l"
		" JOIN call c ON c.id = l.launch");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		id_map_put(&operations->known, sqlite3_column_int64(q, 0), operations);
	sqlite3_finalize(q);
	return step;
}

int operations_init(struct operations *operations, struct db *db, const struct walk_part *part)
{
	operations->reader = access_share(db, part->number);
	if (operations->reader)
		access_graph_limit(operations->reader, MOST_NODES);
	operations->run = db->run;
	operations->operands = (struct run_cursor){ .rows = &db->run->operands };
	return operations->reader ? find_told(operations, db) : -1;
}

void operations_release(struct operations *operations)
{
	access_close(operations->reader);
	id_map_release(&operations->known, release_nothing);
}

int operations_graph(const struct operations *operations, struct graph_content *content)
{
	return operations->graph_is_new && access_graph_is_new(operations->reader, content);
}

/* Reads the accesses in any case: the nodes may conflict with each other. */
static int read_graph(struct operations *operations, const struct walk_call *call, int wanted,
	const struct accesses **accesses)
{
	const struct accesses *found = access_read(operations->reader, call->id);
	struct graph_content content;

	if (!found)
		return -1;
	operations->graph_is_new = access_graph_is_new(operations->reader, &content);
	operations->graph = content.number;
	operations->graph_is_left_out = access_graph_is_left_out(operations->reader);
	*accesses = wanted ? found : NULL;
	return 0;
}

int operations_read(struct operations *operations, const struct walk_call *call,
	const struct usage *usage, const struct accesses **accesses)
{
	const struct run_operand *operand;
	int wanted = 0;

	for (; (operand = run_cursor_at(&operations->operands, call->id));
		operations->operands.at++)
		wanted |= usage_is_shared_through(usage, operand->allocation);

	*accesses = NULL;
	operations->graph_is_new = operations->graph_is_left_out = 0;
	operations->graph = 0;
	if (call->kind == KIND_GRAPH_LAUNCH && call->exec)
		return read_graph(operations, call, wanted, accesses);
	if (!wanted || !kind_has(call->kind, K_ACCESSES) ||
		(call->kind == KIND_LAUNCH && !id_map_get(&operations->known, call->kernel)))
		return 0;
	*accesses = access_read(operations->reader, call->id);
	return *accesses ? 0 : -1;
}
