/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executable graphs: the graphs they are instantiated from, and calls that change them or the nodes
 * of graphs ("cuGraphExecUpdate", "...SetParams").
 */
#include "load_graph.h"

#include <string.h>

#include "unnamed_memory.h"

/* graph: row, 0 for an executable that was created before the trace. */
static int64_t add_exec(struct loader *loader, const struct loaded_call *call, uint64_t handle,
	int64_t graph)
{
	uint64_t begin = graph ? call->exit : call->enter;
	int64_t row = ++loader->exec, made = graph ? row_of(loader, call) : DB_NULL;

	if (db_add(loader->db,
		    ROW(graph_exec, row, loader->process, handle, cell_id(graph), made, made,
			    DB_NULL)))
		return -1;
	handle_begin(&loader->p.graphs->exec, handle, begin, row);
	return row;
}

static int64_t exec_of(struct loader *loader, const struct loaded_call *call)
{
	int64_t row = handle_row(&loader->p.graphs->exec, call, VALUE(call, exec));

	return row ? row : add_exec(loader, call, VALUE(call, exec), 0);
}

static int write_launch(struct loader *loader, const struct loaded_call *call, int64_t exec)
{
	static const struct footprint unknown = { .content = CONTENT_UNNAMED };
	const struct footprint *names = footprint_of_exec(&loader->p.graphs->memory, exec);

	if (!names)
		names = &unknown;
	if (names->content && loader_write_object(loader, call, "content", names->content))
		return -1;
	return loader_write_graph_operands(loader, call, names->address, names->count);
}

int exec_apply_call(struct loader *loader, const struct loaded_call *call)
{
	int64_t row = exec_of(loader, call);

	if (row < 0 || loader_write_object(loader, call, "exec", row))
		return -1;
	if (call->kind == KIND_GRAPH_LAUNCH)
		return write_launch(loader, call, row);
	if (call->kind != KIND_EXEC_DESTROY)
		return 0;
	footprint_drop_exec(&loader->p.graphs->memory, row);
	handle_end(&loader->p.graphs->exec, call, VALUE(call, exec));
	return loader_run(loader, "UPDATE graph_exec SET destroyed = ? WHERE id = ?",
		row_of(loader, call), row, 0, 0);
}

int exec_instantiate(struct loader *loader, const struct loaded_call *call)
{
	int64_t graph = graph_of(loader, call, VALUE(call, graph)), exec;

	exec = graph < 0 ? -1 : add_exec(loader, call, VALUE(call, new_exec), graph);
	return exec < 0 ? -1 : footprint_instantiate(&loader->p.graphs->memory, exec, graph);
}

int exec_update(struct loader *loader, const struct loaded_call *call)
{
	int64_t graph = graph_of(loader, call, VALUE(call, graph));
	int64_t exec = graph < 0 ? -1 : exec_of(loader, call);

	return exec < 0 || loader_write_object(loader, call, "exec", exec) ||
			db_add(loader->db, ROW(graph_update, row_of(loader, call), exec, graph)) ||
			footprint_instantiate(&loader->p.graphs->memory, exec, graph)
		? -1
		: 0;
}

/* --- nodes --- */

/* CU_KERNEL_NODE_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: device code may change the node. */
#define UPDATABLE_NODE 13

/* Does this call change what a node does? Other kernel attributes do not. */
static int says_what(const struct loaded_call *call)
{
	if (call->kind == KIND_GRAPH_NODE_SET && HAS(call, flags))
		return VALUE(call, flags) == UPDATABLE_NODE;
	return HAS(call, function) || HAS(call, dst) || HAS(call, event) || HAS(call, callback) ||
		HAS(call, more) || (HAS(call, handle) && HAS(call, exec)) ||
		VALUE(call, type) == NODE_ENABLED;
}

/* A node whose row is not known: no row is that large. */
#define UNKNOWN_NODE (UINT64_C(1) << 63)

static int add_names(struct loader *loader, const struct loaded_call *call, const char *type,
	int64_t exec, int64_t graph, int64_t node)
{
	struct footprints *memory = &loader->p.graphs->memory;
	struct footprint names = graph_named(loader, type);

	if (exec) {
		footprint_set_in_exec(memory, exec,
			node ? (uint64_t)node : VALUE(call, node) | UNKNOWN_NODE, &names);
		return 0;
	}
	if (node && graph)
		return footprint_set_node(memory, graph, node, &names);
	if (graph)
		return footprint_add_to_graph(memory, graph, &names);
	memory->doubt |= CONTENT_UNNAMED;
	return 0;
}

int graph_change(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	int64_t node = handle_row(&graphs->node, call, VALUE(call, node)), graph, exec = 0;
	int enabling = VALUE(call, type) == NODE_ENABLED;
	const char *type = enabling ? "other" : graph_node_type(VALUE(call, type));

	if (!says_what(call))
		return 0;
	if (HAS(call, exec))
		exec = exec_of(loader, call);
	graph = node ? footprint_graph_of(&graphs->memory, node)
		     : (int64_t)map_get(&graphs->strangers, VALUE(call, node), 0);
	if (exec < 0 || (exec && loader_write_object(loader, call, "exec", exec)))
		return -1;
	if (db_add(loader->db,
		    ROW(graph_change, row_of(loader, call), cell_id(graph), cell_id(node),
			    cell_text(type), cell_id(exec), cell_id(call->event),
			    enabling ? (int64_t)VALUE(call, value) : DB_NULL)))
		return -1;
	return enabling ? 0 : add_names(loader, call, type, exec, graph, node);
}

/* --- handles returned by queries --- */

static int name_node(struct loader *loader, const struct loaded_call *call, uint64_t handle,
	int64_t node)
{
	handle_begin(&loader->p.graphs->node, handle, call->exit, node);
	return loader_run(loader, "UPDATE graph_node SET handle = ? WHERE id = ?", (int64_t)handle,
		       node, 0, 0)
		? -1
		: 0;
}

/* cuGraphNodeFindInClone returns the copy of a node. */
static int name_copy(struct loader *loader, const struct loaded_call *call)
{
	static const char find[] =
		"SELECT n.id FROM graph_node n JOIN graph_node o ON o.id = ?1 "
		"WHERE n.graph = ?2 AND n.origin IN (ifnull(o.origin, o.call), (SELECT max(c.call) "
		" FROM graph_change c WHERE c.node = o.id AND c.exec IS NULL AND c.call < n.call))";
	struct graphs *graphs = loader->p.graphs;
	int64_t original = handle_row(&graphs->node, call, VALUE(call, node));
	int64_t graph = handle_row(&graphs->graph, call, VALUE(call, graph)), copy = 0;
	sqlite3_stmt *q;
	int rc;

	if (!original || !graph)
		return 0;
	q = db_prepare(loader->db, find);
	rc = !q || db_bind(q, "ii", original, graph) ? -1 : db_step(q);
	if (rc > 0)
		copy = sqlite3_column_int64(q, 0);
	sqlite3_finalize(q);
	return rc < 0 || (copy && name_node(loader, call, VALUE(call, new_node), copy)) ? -1 : 0;
}

/*
 * cuGraphGetNodes: the handles of several captured nodes cannot be assigned; that of a single one
 * can.
 */
static int name_strangers(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	int64_t graph = handle_row(&graphs->graph, call, VALUE(call, graph));
	struct lists lists = lists_of(call, 1, 1);

	if (!graph || !lists.word)
		return 0;
	if (lists.count == 1 && footprint_node_count(&graphs->memory, graph) == 1)
		return name_node(loader, call, lists.word[0],
			footprint_first_node(&graphs->memory, graph));
	for (size_t i = 0; i < lists.count; i++)
		if (!handle_row(&graphs->node, call, lists.word[i]))
			map_set(&graphs->strangers, lists.word[i], (uint64_t)graph);
	return 0;
}

int graph_query(struct loader *loader, const struct loaded_call *call)
{
	if (HAS(call, new_node))
		return name_copy(loader, call);
	if (HAS(call, new_graph))
		return graph_give_child(loader, call);
	return HAS(call, graph) && HAS(call, count) ? name_strangers(loader, call) : 0;
}
