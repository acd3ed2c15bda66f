/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of graphs: clones, and child graphs, which are copied when a child node is added
 * ("cuGraphAddChildGraphNode").  If the program queries and changes the child graph, it is a body
 * of its node, evaluated when an executable is instantiated.
 */
#include "load_graph.h"

#include <stdio.h>

#include "unnamed_memory.h"

/* Copies nodes and edges of graph ?4 as of call ?3 into graph ?2. */
static const char nodes[] =
	"INSERT INTO graph_node (id, graph, type, call, event, child, origin) "
	"SELECT ?1 + row_number() OVER (ORDER BY id), ?2, type, ?3, event, child, "
	"coalesce((SELECT max(c.call) FROM graph_change c WHERE c.node = n.id "
	" AND c.exec IS NULL AND c.call < ?3), origin, call) FROM graph_node n "
	"WHERE graph = ?4 AND call < ?3 AND ifnull(removed, ?3) >= ?3";
static const char edges[] =
	"WITH copy AS (SELECT id AS old, "
	" ?1 + row_number() OVER (ORDER BY id) AS new FROM graph_node"
	" WHERE graph = ?4 AND call < ?3 AND ifnull(removed, ?3) >= ?3) "
	"INSERT INTO graph_edge (graph, from_node, to_node, added, programmatic) "
	"SELECT ?2, a.new, b.new, ?3, programmatic FROM graph_edge e "
	"JOIN copy a ON a.old = e.from_node JOIN copy b ON b.old = e.to_node "
	"WHERE e.graph = ?4 AND e.added < ?3 AND ifnull(e.removed, ?3) >= ?3";

/* Returns 0, or -1 after a message; the new nodes are numbered from loader->node + 1 on. */
static int copy_rows(struct loader *loader, int64_t from, int64_t to, int64_t as_of)
{
	static const char strays[] =
		"SELECT EXISTS (SELECT 1 FROM graph_change WHERE graph = %lld "
		"AND node IS NULL AND exec IS NULL)";
	static const struct footprint unknown = { .content = CONTENT_UNNAMED };
	char sql[160];

	/* An unidentified node was changed, so nodes of the copy cannot be identified either. */
	snprintf(sql, sizeof(sql), strays, (long long)from);
	if (db_int(loader->db, sql, 0) &&
		footprint_add_to_graph(&loader->p.graphs->memory, to, &unknown))
		return -1;
	return loader_run(loader, nodes, loader->node, to, as_of, from) ||
			loader_run(loader, edges, loader->node, to, as_of, from)
		? -1
		: 0;
}

static int64_t last_node(struct loader *loader)
{
	return db_int(loader->db, "SELECT max(id) FROM graph_node", loader->node);
}

/* The nodes of a clone have their own handles, which the program must query. */
int graph_clone(struct loader *loader, const struct loaded_call *call)
{
	int64_t from = graph_of(loader, call, VALUE(call, graph)), to;

	to = from < 0 ? -1 : graph_add(loader, call, VALUE(call, new_graph), call->exit);
	if (to < 0 || copy_rows(loader, from, to, row_of(loader, call)) ||
		footprint_clone(&loader->p.graphs->memory, from, to, loader->node + 1))
		return -1;
	loader->node = last_node(loader);
	return 0;
}

struct child_node {
	int64_t graph, child, call;
	int given_out; /* before this call */
};

/* Returns 1 if it is a child node of a known graph, 0 otherwise. */
static int read_child(struct loader *loader, int64_t node, struct child_node *child)
{
	static const char sql[] =
		"SELECT n.graph, n.child, n.call, EXISTS (SELECT 1 FROM graph_body b WHERE "
		"b.node = n.id AND b.graph = n.child) FROM graph_node n "
		"WHERE n.id = ? AND n.child NOT NULL";
	sqlite3_stmt *q = db_prepare(loader->db, sql);
	int rc = !q || db_bind(q, "i", node) ? -1 : db_step(q);

	if (rc > 0)
		*child =
			(struct child_node){ sqlite3_column_int64(q, 0), sqlite3_column_int64(q, 1),
				sqlite3_column_int64(q, 2), sqlite3_column_int(q, 3) };
	sqlite3_finalize(q);
	return rc;
}

int graph_add_body(struct loader *loader, int64_t graph, int64_t node, int64_t body)
{
	if (db_add(loader->db, ROW(graph_body, node, body)))
		return -1;
	footprint_add_body(&loader->p.graphs->memory, graph, node, body);
	return 0;
}

/*
 * Body nodes have empty footprints until they are changed; their memory belongs to the child node.
 */
static int make_body(struct loader *loader, int64_t node, const struct child_node *child,
	int64_t body)
{
	static const struct footprint nothing = { .count = 0 };
	int64_t first = loader->node + 1;

	if (copy_rows(loader, child->child, body, child->call))
		return -1;
	loader->node = last_node(loader);
	for (int64_t row = first; row <= loader->node; row++)
		if (footprint_set_node(&loader->p.graphs->memory, body, row, &nothing))
			return -1;
	return loader_run(loader, "UPDATE graph_node SET child = ? WHERE id = ?", body, node, 0,
		       0) ||
			graph_add_body(loader, child->graph, node, body)
		? -1
		: 0;
}

int graph_give_child(struct loader *loader, const struct loaded_call *call)
{
	int64_t node = handle_row(&loader->p.graphs->node, call, VALUE(call, node)), body;
	struct child_node child;
	int rc = node ? read_child(loader, node, &child) : 0;

	if (rc < 0 || (rc && child.given_out))
		return rc < 0 ? -1 : 0;
	body = graph_add(loader, call, VALUE(call, new_graph), call->exit);
	if (body < 0)
		return -1;
	/* The node is unknown: additions may become part of any executable. */
	if (!rc) {
		map_set(&loader->p.graphs->unplaced, (uint64_t)body, 1);
		return 0;
	}
	return make_body(loader, node, &child, body);
}
