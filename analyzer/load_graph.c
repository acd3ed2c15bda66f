/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graphs are made of: nodes and edges that calls add, and those that capture makes of calls.
 * Captured calls get a row of call_object that says so.
 */
#include "loader.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define HAS(call, kind) ((call)->fields.present & 1ull << FIELD_##kind)
#define VALUE(call, kind) ((call)->fields.value[FIELD_##kind])

/* Nodes (rows) that what is next in a captured stream, or after a captured event, comes after. */
struct front {
	uint32_t capture;            /* index + 1, 0: not captured */
	int64_t *node;
	size_t count;
};

struct capture {
	int64_t graph;               /* row */
	int active;
};

struct graphs {
	struct map graph, node, exec; /* handle -> row; 0: destroyed */
	struct map streams, events;  /* stream life, event row -> front, index + 1 */
	struct front *front;
	size_t front_count;
	struct capture *capture;
	size_t capture_count;
};

static struct graphs *graphs_of(struct loaded_process *p)
{
	if (!p->graphs)
		p->graphs = calloc(1, sizeof(*p->graphs));
	if (!p->graphs)
		fputs("cufence: out of memory\n", stderr);
	return p->graphs;
}

void loader_release_graphs(struct loaded_process *p)
{
	struct graphs *graphs = p->graphs;

	if (!graphs)
		return;
	for (size_t i = 0; i < graphs->front_count; i++)
		free(graphs->front[i].node);
	map_release(&graphs->graph);
	map_release(&graphs->node);
	map_release(&graphs->exec);
	map_release(&graphs->streams);
	map_release(&graphs->events);
	free(graphs->front);
	free(graphs->capture);
	free(graphs);
	p->graphs = NULL;
}

static int64_t row_of(const struct loader *loader, const struct loaded_call *call)
{
	return loader->call + call->number;
}

/* --- rows --- */

static int64_t add_graph(struct loader *loader, const struct loaded_call *call, uint64_t handle)
{
	int64_t row = ++loader->graph;

	if (db_run(loader->insert[INSERT_GRAPH], "iiii", row, loader->process, (int64_t)handle,
		    row_of(loader, call)))
		return -1;
	return handle && map_set(&loader->p.graphs->graph, handle, (uint64_t)row) ? -1 : row;
}

/* A graph that was made before the trace has no row until it is named. */
static int64_t graph_of(struct loader *loader, const struct loaded_call *call, uint64_t handle)
{
	int64_t row = (int64_t)map_get(&loader->p.graphs->graph, handle, 0);

	return row ? row : add_graph(loader, call, handle);
}

/* event and child: rows, 0 for none. */
static int64_t add_node(struct loader *loader, const struct loaded_call *call, int64_t graph,
	const char *type, uint64_t handle, int64_t event, int64_t child)
{
	int64_t row = ++loader->node;

	if (db_run(loader->insert[INSERT_GRAPH_NODE], "iiIsiII", row, graph,
		    handle ? (int64_t)handle : DB_NULL, type, row_of(loader, call),
		    event ? event : DB_NULL, child ? child : DB_NULL))
		return -1;
	return handle && map_set(&loader->p.graphs->node, handle, (uint64_t)row) ? -1 : row;
}

static int add_edge(struct loader *loader, const struct loaded_call *call, int64_t graph,
	int64_t from, int64_t to, int programmatic)
{
	if (!from || !to)
		return 0;
	return db_run(loader->insert[INSERT_GRAPH_EDGE], "iiiii", graph, from, to,
		row_of(loader, call), (int64_t)programmatic);
}

static int run(struct loader *loader, const char *sql, int64_t first, int64_t second,
	int64_t third, int64_t fourth)
{
	sqlite3_stmt *q = db_prepare(loader->db, sql);
	int wanted = q ? sqlite3_bind_parameter_count(q) : 0, rc = -1;

	if (q)
		rc = wanted == 2 ? db_run(q, "ii", first, second)
		   : wanted == 3 ? db_run(q, "iii", first, second, third)
				 : db_run(q, "iiii", first, second, third, fourth);
	sqlite3_finalize(q);
	return rc;
}

/* --- lists behind the fields (doc/FORMAT.md) --- */

struct lists {
	const uint64_t *word;
	size_t count;                /* of each */
	size_t lists;
};

/*
 * The first lists of count words each; further words follow those.  None if the recorder cut them.
 */
static struct lists lists_of(const struct loaded_call *call, size_t lists)
{
	const struct call_record *record = (const struct call_record *)call->record;
	const struct call_type_record *type = call->type->record;
	size_t count = HAS(call, count) ? VALUE(call, count) : 0;
	size_t more = HAS(call, more) ? VALUE(call, more) : 0;
	size_t words = record->head.words - sizeof(*record) / TRACE_ALIGN;
	size_t fields = type->field_count + (record->head.flags & CALL_BUFFER
		? record->pointer_count : (record->pointer_count * (size_t)12 + 7) / 8);

	if (count > 4096 || more > 4096 || words < fields + count * lists + more)
		return (struct lists){ .word = NULL };
	return (struct lists){ &record->field[words - count * lists - more], count, lists };
}

/* struct CUgraphEdgeData: from_port, to_port, type; all 0 is a full dependency. */
static int is_programmatic(const struct lists *lists, size_t list, size_t i)
{
	return lists->lists > list && lists->word[list * lists->count + i] != 0;
}

static int64_t node_at(const struct loader *loader, const struct lists *lists, size_t list,
	size_t i)
{
	return (int64_t)map_get(&loader->p.graphs->node, lists->word[list * lists->count + i], 0);
}

/* --- calls that make graphs --- */

static const char *const node_types[] = { "kernel", "copy", "set", "host", "graph", "empty",
	"wait", "record", "signal", "external_wait", "alloc", "free", "memop", "conditional" };

static int take_node(struct loader *loader, const struct loaded_call *call)
{
	uint64_t type = VALUE(call, type);
	const char *name = type < sizeof(node_types) / sizeof(*node_types) ? node_types[type]
									    : "other";
	int64_t graph = graph_of(loader, call, VALUE(call, graph)), child = 0, node;
	/* cuGraphAddNode has edges and further words, the others nodes alone. */
	struct lists lists = lists_of(call, HAS(call, ptr) && HAS(call, more) ? 2 : 1);

	if (type == 4)
		child = graph_of(loader, call, VALUE(call, handle));
	node = graph < 0 || child < 0 ? -1
	     : add_node(loader, call, graph, name, VALUE(call, new_node),
		       type == 6 || type == 7 ? call->event : 0, child);
	for (size_t i = 0; lists.word && i < lists.count && node > 0; i++)
		if (add_edge(loader, call, graph, node_at(loader, &lists, 0, i), node,
			    is_programmatic(&lists, 1, i)))
			return -1;
	return node < 0 ? -1 : 0;
}

static int take_edges(struct loader *loader, const struct loaded_call *call)
{
	static const char remove[] = "UPDATE graph_edge SET removed = ? "
		"WHERE from_node = ? AND to_node = ? AND removed IS NULL";
	int64_t graph = graph_of(loader, call, VALUE(call, graph));
	const struct call_type_record *type = call->type->record;
	size_t words = call->record->words - sizeof(struct call_record) / TRACE_ALIGN;
	size_t count = VALUE(call, count);
	struct lists lists = lists_of(call,
		count && words - type->field_count >= 3 * count ? 3 : 2);

	for (size_t i = 0; lists.word && i < lists.count && graph > 0; i++) {
		int64_t from = node_at(loader, &lists, 0, i), to = node_at(loader, &lists, 1, i);

		if (call->kind == KIND_GRAPH_ADD_EDGES
				? add_edge(loader, call, graph, from, to,
					  is_programmatic(&lists, 2, i))
				: run(loader, remove, row_of(loader, call), from, to, 0))
			return -1;
	}
	return graph < 0 ? -1 : 0;
}

static int take_node_destroy(struct loader *loader, const struct loaded_call *call)
{
	int64_t node = (int64_t)map_get(&loader->p.graphs->node, VALUE(call, node), 0);

	return node ? run(loader, "UPDATE graph_node SET removed = ? WHERE id = ?",
			      row_of(loader, call), node, 0, 0) : 0;
}

/* Its nodes have handles of their own, which the program has to ask for. */
static int take_clone(struct loader *loader, const struct loaded_call *call)
{
	static const char nodes[] = "INSERT INTO graph_node "
		"(id, graph, type, call, event, child, origin) "
		"SELECT ?1 + row_number() OVER (ORDER BY id), ?2, type, ?3, event, child, "
		"ifnull(origin, call) FROM graph_node WHERE graph = ?4 AND removed IS NULL";
	static const char edges[] = "WITH copy AS (SELECT id AS old, "
		" ?1 + row_number() OVER (ORDER BY id) AS new FROM graph_node"
		" WHERE graph = ?4 AND removed IS NULL) "
		"INSERT INTO graph_edge (graph, from_node, to_node, added, programmatic) "
		"SELECT ?2, a.new, b.new, ?3, programmatic FROM graph_edge e "
		"JOIN copy a ON a.old = e.from_node JOIN copy b ON b.old = e.to_node "
		"WHERE e.graph = ?4 AND e.removed IS NULL";
	int64_t from = graph_of(loader, call, VALUE(call, graph)), to;

	to = from < 0 ? -1 : add_graph(loader, call, VALUE(call, new_graph));
	if (to < 0 || run(loader, nodes, loader->node, to, row_of(loader, call), from) ||
		run(loader, edges, loader->node, to, row_of(loader, call), from))
		return -1;
	loader->node = db_int(loader->db, "SELECT max(id) FROM graph_node", loader->node);
	return 0;
}

static int take_graph_destroy(struct loader *loader, const struct loaded_call *call)
{
	int64_t graph = (int64_t)map_get(&loader->p.graphs->graph, VALUE(call, graph), 0);

	if (!graph)
		return 0;
	return map_set(&loader->p.graphs->graph, VALUE(call, graph), 0) ||
	       run(loader, "UPDATE graph SET destroyed = ? WHERE id = ?", row_of(loader, call),
		       graph, 0, 0) ? -1 : 0;
}

/* --- executable graphs --- */

static int64_t add_exec(struct loader *loader, const struct loaded_call *call, uint64_t handle,
	int64_t graph)
{
	int64_t row = ++loader->exec, made = graph ? row_of(loader, call) : DB_NULL;

	if (db_run(loader->insert[INSERT_GRAPH_EXEC], "iiiIII", row, loader->process,
		    (int64_t)handle, graph ? graph : DB_NULL, made, made) ||
		map_set(&loader->p.graphs->exec, handle, (uint64_t)row))
		return -1;
	return row;
}

static int take_exec(struct loader *loader, const struct loaded_call *call)
{
	int64_t row = (int64_t)map_get(&loader->p.graphs->exec, VALUE(call, exec), 0);

	if (!row)
		row = add_exec(loader, call, VALUE(call, exec), 0);
	if (row < 0 || loader_write_object(loader, call, "exec", row))
		return -1;
	if (call->kind != KIND_EXEC_DESTROY)
		return 0;
	return map_set(&loader->p.graphs->exec, VALUE(call, exec), 0) ||
	       run(loader, "UPDATE graph_exec SET destroyed = ? WHERE id = ?",
		       row_of(loader, call), row, 0, 0) ? -1 : 0;
}

static int take_instantiate(struct loader *loader, const struct loaded_call *call)
{
	int64_t graph = graph_of(loader, call, VALUE(call, graph));

	return graph < 0 || add_exec(loader, call, VALUE(call, new_exec), graph) < 0 ? -1 : 0;
}

/* --- capture --- */

/* The front of a stream or event; NULL without one, or after a message when made. */
static struct front *front_of(struct graphs *graphs, struct map *map, uint64_t key, int make)
{
	uint64_t known = map_get(map, key, 0);
	struct front *more;

	if (known)
		return &graphs->front[known - 1];
	more = make ? array_room(graphs->front, graphs->front_count, sizeof(*more)) : NULL;
	if (!more)
		return NULL;
	graphs->front = more;
	more[graphs->front_count++] = (struct front){ .capture = 0 };
	return map_set(map, key, graphs->front_count) ? NULL : &more[graphs->front_count - 1];
}

static int is_captured(const struct graphs *graphs, const struct front *front)
{
	return front && front->capture && graphs->capture[front->capture - 1].active;
}

static int add_to_front(struct front *front, int64_t node)
{
	int64_t *more;

	for (size_t i = 0; i < front->count; i++)
		if (front->node[i] == node)
			return 0;
	more = realloc(front->node, (front->count + 1) * sizeof(*more));
	if (!more)
		return -1;
	front->node = more;
	more[front->count++] = node;
	return 0;
}

static int begin_capture(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	struct capture *more =
		array_room(graphs->capture, graphs->capture_count, sizeof(*more));
	struct front *front = front_of(graphs, &graphs->streams, call->stream, 1);
	struct lists lists = lists_of(call, 1);
	int64_t graph;

	if (!more || !front)
		return -1;
	graphs->capture = more;
	graph = VALUE(call, graph) ? graph_of(loader, call, VALUE(call, graph))
				   : add_graph(loader, call, 0);
	more[graphs->capture_count++] = (struct capture){ .graph = graph, .active = 1 };
	front->capture = (uint32_t)graphs->capture_count;
	front->count = 0;
	for (size_t i = 0; lists.word && i < lists.count; i++) {
		int64_t node = node_at(loader, &lists, 0, i);
		if (node && add_to_front(front, node))
			return -1;
	}
	return graph < 0 ? -1 : 0;
}

/* All streams of a capture leave it, even if it failed. */
static int end_capture(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	struct front *front = front_of(graphs, &graphs->streams, call->stream, 0);
	uint64_t handle = call->failed ? 0 : VALUE(call, new_graph);
	int64_t graph;

	if (!is_captured(graphs, front))
		return 0;
	graph = graphs->capture[front->capture - 1].graph;
	graphs->capture[front->capture - 1].active = 0;
	if (!handle)
		return 0;
	return map_set(&graphs->graph, handle, (uint64_t)graph) ||
	       run(loader, "UPDATE graph SET handle = ? WHERE id = ?", (int64_t)handle, graph, 0,
		       0) ? -1 : 0;
}

/* cuStreamUpdateCaptureDependencies: flag 1 sets them instead of adding to them. */
static int update_capture(struct loader *loader, const struct loaded_call *call,
	struct front *front)
{
	struct lists lists = lists_of(call, 1);

	if (VALUE(call, type) & 1)
		front->count = 0;
	for (size_t i = 0; lists.word && i < lists.count; i++) {
		int64_t node = node_at(loader, &lists, 0, i);
		if (node && add_to_front(front, node))
			return -1;
	}
	return 0;
}

/* Where a stream stands in its capture: that gives handles to nodes. */
static int name_node(struct loader *loader, const struct loaded_call *call, struct front *front)
{
	struct lists lists = lists_of(call, 1);

	if (!lists.word || lists.count != 1 || front->count != 1 || !lists.word[0])
		return 0;
	return map_set(&loader->p.graphs->node, lists.word[0], (uint64_t)front->node[0]) ||
	       run(loader, "UPDATE graph_node SET handle = ? WHERE id = ?",
		       (int64_t)lists.word[0], front->node[0], 0, 0) ? -1 : 0;
}

static const char *captured_type(unsigned kind)
{
	static const struct { unsigned kind; const char *type; } types[] = {
		{ KIND_LAUNCH, "kernel" }, { KIND_COPY_ASYNC, "copy" }, { KIND_COPY_BATCH, "copy" },
		{ KIND_COPY_PEER_ASYNC, "copy" }, { KIND_SET_ASYNC, "set" },
		{ KIND_HOST_FUNC, "host" }, { KIND_STREAM_CALLBACK, "host" },
		{ KIND_ALLOC_ASYNC, "alloc" }, { KIND_FREE_ASYNC, "free" },
		{ KIND_STREAM_VALUE_WAIT, "memop" }, { KIND_STREAM_VALUE_WRITE, "memop" },
		{ KIND_STREAM_MEMOP, "memop" }, { KIND_EXTERNAL_SIGNAL, "signal" },
		{ KIND_EXTERNAL_WAIT, "external_wait" }, { KIND_GRAPH_LAUNCH, "graph" },
		{ KIND_PREFETCH, "other" }, { KIND_DISCARD, "other" },
		{ KIND_DECOMPRESS, "other" },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].kind == kind)
			return types[i].type;
	return NULL;
}

/* The call becomes a node after the stream's front, and the front. */
static int capture_node(struct loader *loader, const struct loaded_call *call,
	struct front *front, const char *type)
{
	int64_t graph = loader->p.graphs->capture[front->capture - 1].graph, node;

	node = add_node(loader, call, graph, type, 0,
		type[0] == 'w' || type[0] == 'r' ? call->event : 0, 0);
	for (size_t i = 0; i < front->count && node > 0; i++)
		if (add_edge(loader, call, graph, front->node[i], node, 0))
			return -1;
	front->count = 0;
	return node < 0 || add_to_front(front, node) ||
	       loader_write_object(loader, call, "captured", graph) ? -1 : 0;
}

/* A captured event is the front of its stream, not work; with flag 1 (external) it is a node. */
static int capture_record(struct loader *loader, const struct loaded_call *call, size_t stream)
{
	struct graphs *graphs = loader->p.graphs;
	struct front *event, *front;

	if (HAS(call, flags) && VALUE(call, flags) & 1)
		return capture_node(loader, call, &graphs->front[stream], "record");
	event = front_of(graphs, &graphs->events, (uint64_t)call->event, 1);
	front = &graphs->front[stream];
	if (!event)
		return -1;
	event->capture = front->capture;
	event->count = 0;
	for (size_t i = 0; i < front->count; i++)
		if (add_to_front(event, front->node[i]))
			return -1;
	return loader_write_object(loader, call, "captured",
		graphs->capture[front->capture - 1].graph);
}

/* A stream that waits for a captured event becomes a part of that capture. */
static int capture_wait(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	uint64_t key = (uint64_t)call->event;
	struct front *stream = front_of(graphs, &graphs->streams, call->stream, 0);
	struct front *event = front_of(graphs, &graphs->events, key, 0);

	if (!is_captured(graphs, event)) {
		if (is_captured(graphs, stream))
			return capture_node(loader, call, stream, "wait");
		return 0;
	}
	stream = front_of(graphs, &graphs->streams, call->stream, 1);
	event = front_of(graphs, &graphs->events, key, 0);
	if (!stream)
		return -1;
	if (!is_captured(graphs, stream))
		stream->count = 0;
	stream->capture = event->capture;
	for (size_t i = 0; i < event->count; i++)
		if (add_to_front(stream, event->node[i]))
			return -1;
	return loader_write_object(loader, call, "captured",
		graphs->capture[event->capture - 1].graph);
}

static int take_on_stream(struct loader *loader, const struct loaded_call *call, int *captured)
{
	struct graphs *graphs = loader->p.graphs;
	struct front *front = front_of(graphs, &graphs->streams, call->stream, 0);
	const char *type = captured_type(call->kind);

	*captured = is_captured(graphs, front);
	if (call->kind == KIND_STREAM_WAIT)
		return capture_wait(loader, call);
	if (!*captured) {
		/* A record outside of a capture ends what the event stood for. */
		front = call->kind == KIND_EVENT_RECORD
				? front_of(graphs, &graphs->events, (uint64_t)call->event, 0)
				: NULL;
		if (front)
			front->capture = 0;
		return 0;
	}
	switch (call->kind) {
	case KIND_EVENT_RECORD:
		return capture_record(loader, call, (size_t)(front - graphs->front));
	case KIND_CAPTURE_UPDATE:
		return update_capture(loader, call, front);
	case KIND_CAPTURE_INFO:
		return name_node(loader, call, front);
	default:
		return type ? capture_node(loader, call, front, type) : 0;
	}
}

static int (*taker(unsigned kind))(struct loader *, const struct loaded_call *)
{
	switch (kind) {
	case KIND_GRAPH_ADD_NODE:
		return take_node;
	case KIND_GRAPH_ADD_EDGES:
	case KIND_GRAPH_REMOVE_EDGES:
		return take_edges;
	case KIND_GRAPH_NODE_DESTROY:
		return take_node_destroy;
	case KIND_GRAPH_CLONE:
		return take_clone;
	case KIND_GRAPH_DESTROY:
		return take_graph_destroy;
	case KIND_GRAPH_INSTANTIATE:
		return take_instantiate;
	case KIND_GRAPH_LAUNCH:
	case KIND_GRAPH_UPLOAD:
	case KIND_EXEC_DESTROY:
		return take_exec;
	case KIND_CAPTURE_BEGIN:
		return begin_capture;
	default:
		return NULL;
	}
}

int loader_take_graphs(struct loader *loader, const struct loaded_call *call)
{
	int (*take)(struct loader *, const struct loaded_call *) = taker(call->kind);
	int captured = 0;

	/* Programs without graphs have nothing here. */
	if ((!take && call->kind != KIND_GRAPH_CREATE && !loader->p.graphs) ||
		!graphs_of(&loader->p))
		return loader->p.graphs || !take ? 0 : -1;
	if (call->kind == KIND_CAPTURE_END)
		return end_capture(loader, call);
	if (call->failed)
		return 0;
	if (call->kind == KIND_GRAPH_CREATE)
		return add_graph(loader, call, VALUE(call, new_graph)) < 0 ? -1 : 0;
	if (call->stream && call->kind != KIND_CAPTURE_BEGIN &&
		take_on_stream(loader, call, &captured))
		return -1;
	return take ? take(loader, call) : 0;
}
