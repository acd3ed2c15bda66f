/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of graphs: nodes and edges added by calls. */
#include "load_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "unnamed_memory.h"

/* lives.retire: the rows are written. */
static int drop_life(void *arg, const struct life *life)
{
	return 0;
}

static struct graphs *graphs_of(struct loaded_process *p)
{
	if (!p->graphs) {
		p->graphs = xcalloc(1, sizeof(*p->graphs));
		p->graphs->graph.retire = p->graphs->node.retire = p->graphs->exec.retire =
			drop_life;
	}
	return p->graphs;
}

void loader_release_graphs(struct loaded_process *p)
{
	struct graphs *graphs = p->graphs;

	if (!graphs)
		return;
	for (size_t i = 0; i < graphs->front_count; i++)
		free(graphs->front[i].node);
	lives_release(&graphs->graph);
	lives_release(&graphs->node);
	lives_release(&graphs->exec);
	map_release(&graphs->streams);
	map_release(&graphs->events);
	map_release(&graphs->strangers);
	map_release(&graphs->unplaced);
	footprints_release(&graphs->memory);
	free(graphs->front);
	free(graphs->capture);
	free(graphs);
	p->graphs = NULL;
}

/* --- handles --- */

int64_t handle_row(const struct lives *lives, const struct loaded_call *call, uint64_t handle)
{
	uint32_t life = lives_find(lives, handle, call->enter);

	return life ? (int64_t)lives->life[life - 1].value : 0;
}

void handle_begin(struct lives *lives, uint64_t handle, uint64_t begin, int64_t row)
{
	uint32_t life = lives_begin(lives, handle, begin, 0), previous;

	lives->life[life - 1].value = (uint64_t)row;
	/*
	 * Destroying a graph also destroys its nodes, and a node its bodies, without separate
	 * calls.
	 */
	previous = lives->life[life - 1].previous;
	if (previous && lives->life[previous - 1].end == UINT64_MAX)
		lives_end(lives, previous, begin, 0);
}

void handle_end(struct lives *lives, const struct loaded_call *call, uint64_t handle)
{
	uint32_t life = lives_find(lives, handle, call->enter);

	if (life)
		lives_end(lives, life, call->exit, 0);
}

static int retire_handles(struct graphs *graphs, uint64_t now)
{
	return lives_retire(&graphs->graph, now) || lives_retire(&graphs->node, now) ||
			lives_retire(&graphs->exec, now)
		? -1
		: 0;
}

/* --- rows --- */

int64_t graph_add(struct loader *loader, const struct loaded_call *call, uint64_t handle,
	uint64_t begin)
{
	int64_t row = ++loader->graph;

	if (db_add(loader->db,
		    ROW(graph, row, loader->process, handle, row_of(loader, call), DB_NULL)))
		return -1;
	if (handle)
		handle_begin(&loader->p.graphs->graph, handle, begin, row);
	return row;
}

/* A graph that was created before the trace gets its row when it is first named. */
int64_t graph_of(struct loader *loader, const struct loaded_call *call, uint64_t handle)
{
	int64_t row = handle_row(&loader->p.graphs->graph, call, handle);
	struct footprint unknown = { .content = CONTENT_UNNAMED };

	if (row)
		return row;
	row = graph_add(loader, call, handle, call->enter);
	return row < 0 || footprint_add_to_graph(&loader->p.graphs->memory, row, &unknown) ? -1
											   : row;
}

/* event and child: rows, 0 for none. */
int64_t graph_add_node(struct loader *loader, const struct loaded_call *call, int64_t graph,
	const char *type, uint64_t handle, int64_t event, int64_t child)
{
	int64_t row = ++loader->node;

	if (db_add(loader->db,
		    ROW(graph_node, row, graph, handle ? (int64_t)handle : DB_NULL, cell_text(type),
			    row_of(loader, call), DB_NULL, cell_id(event), cell_id(child),
			    DB_NULL)))
		return -1;
	if (handle)
		handle_begin(&loader->p.graphs->node, handle, call->exit, row);
	return row;
}

int graph_add_edge(struct loader *loader, const struct loaded_call *call, int64_t graph,
	int64_t from, int64_t to, int programmatic)
{
	if (!from || !to)
		return 0;
	return db_add(loader->db,
		ROW(graph_edge, graph, from, to, row_of(loader, call), DB_NULL, programmatic));
}

/* --- lists --- */

/* Words of the record, and those of them before its lists. */
static size_t words_of(const struct loaded_call *call, size_t *before)
{
	const struct call_record *record = (const struct call_record *)call->record;
	const struct call_type_record *type = call->type->record;

	*before = type->field_count +
		(record->head.flags & CALL_BUFFER ? record->pointer_count
						  : (record->pointer_count * (size_t)12 + 7) / 8);
	return record->head.words - sizeof(*record) / TRACE_ALIGN;
}

const uint64_t *loader_list_words(const struct loaded_call *call, size_t count, size_t lists,
	size_t more)
{
	const struct call_record *record = (const struct call_record *)call->record;
	size_t before, words = words_of(call, &before);

	if (count > 4096 || more > 65536 || words < before + count * lists + more)
		return NULL;
	return &record->field[words - count * lists - more];
}

struct lists lists_of(const struct loaded_call *call, size_t least, size_t most)
{
	size_t count = HAS(call, count) ? VALUE(call, count) : 0;
	size_t more = HAS(call, more) ? VALUE(call, more) : 0;
	size_t before, words = words_of(call, &before), lists = most;

	/* Where versions of a call differ in their lists, these fill the record. */
	while (lists > least && words != before + count * lists + more)
		lists--;
	if (least < most && words != before + count * lists + more)
		return (struct lists){ NULL, count, lists, more };
	return (struct lists){ loader_list_words(call, count, lists, more), count, lists, more };
}

/* struct CUgraphEdgeData: from_port, to_port, type; all 0 is a full dependency. */
static int is_programmatic(const struct lists *lists, size_t list, size_t i)
{
	return lists->lists > list && lists->word[list * lists->count + i] != 0;
}

int64_t node_at(const struct loader *loader, const struct loaded_call *call,
	const struct lists *lists, size_t list, size_t i)
{
	return handle_row(&loader->p.graphs->node, call, lists->word[list * lists->count + i]);
}

/* --- calls that make graphs --- */

static const char *const node_types[] = { "kernel", "copy", "set", "host", "graph", "empty", "wait",
	"record", "signal", "external_wait", "alloc", "free", "memop", "conditional" };

const char *graph_node_type(uint64_t type)
{
	return type < sizeof(node_types) / sizeof(*node_types) ? node_types[type] : "other";
}

struct footprint graph_named(const struct loader *loader, const char *type)
{
	static const struct {
		const char *type;
		unsigned content;
	} contents[] = {
		{ "host", CONTENT_HOST },
		{ "signal", CONTENT_HOST | CONTENT_UNNAMED },
		{ "memop", CONTENT_HOST | CONTENT_UNNAMED },
		{ "external_wait", CONTENT_UNNAMED },
		{ "other", CONTENT_UNNAMED },
		{ "graph", CONTENT_UNNAMED },
	};
	struct footprint names = { .address = loader->p.named,
		.count = loader->p.named_count,
		.content = loader->p.unnamed ? CONTENT_UNNAMED : 0 };

	for (size_t i = 0; i < sizeof(contents) / sizeof(*contents); i++)
		if (!strcmp(type, contents[i].type))
			names.content |= contents[i].content;
	return names;
}

int graph_note_memory(struct loader *loader, const struct loaded_call *call, int64_t graph,
	int64_t node, const char *type)
{
	struct graphs *graphs = loader->p.graphs;
	struct footprint names = graph_named(loader, type);
	const struct footprint *launched = NULL;

	/* A captured launch of another graph. */
	if (call->kind == KIND_GRAPH_LAUNCH)
		launched = footprint_of_exec(&graphs->memory,
			handle_row(&graphs->exec, call, VALUE(call, exec)));
	return footprint_set_node(&graphs->memory, graph, node, launched ? launched : &names);
}

/* Adds the bodies of a conditional node, which the program fills later. */
static int add_bodies(struct loader *loader, const struct loaded_call *call,
	const struct lists *lists, int64_t graph, int64_t node)
{
	for (size_t i = 0; lists->word && i < lists->more; i++) {
		uint64_t handle = lists->word[lists->lists * lists->count + i];
		int64_t body = handle ? graph_add(loader, call, handle, call->exit) : 0;

		if (body < 0 || (body && graph_add_body(loader, graph, node, body)))
			return -1;
	}
	return 0;
}

/* CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE: the node owns the graph itself, not a copy. */
#define OWNERSHIP_MOVE 1

static int load_node(struct loader *loader, const struct loaded_call *call)
{
	uint64_t type = VALUE(call, type);
	const char *name = graph_node_type(type);
	int64_t graph = graph_of(loader, call, VALUE(call, graph)), child = 0, node;
	/* cuGraphAddNode passes edges and further words; the other calls pass nodes only. */
	size_t two = HAS(call, ptr) && HAS(call, more);
	struct lists lists = lists_of(call, 1 + two, 1 + two);

	if (map_get(&loader->p.graphs->unplaced, (uint64_t)graph, 0))
		loader->p.graphs->memory.doubt |= CONTENT_UNNAMED;
	if (type == 4)
		child = graph_of(loader, call, VALUE(call, handle));
	node = graph < 0 || child < 0
		? -1
		: graph_add_node(loader, call, graph, name, VALUE(call, new_node),
			  type == 6 || type == 7 ? call->event : 0, child);
	for (size_t i = 0; lists.word && i < lists.count && node > 0; i++)
		if (graph_add_edge(loader, call, graph, node_at(loader, call, &lists, 0, i), node,
			    is_programmatic(&lists, 1, i)))
			return -1;
	if (node < 0 || (type == 13 && add_bodies(loader, call, &lists, graph, node)))
		return -1;
	if (!child)
		return graph_note_memory(loader, call, graph, node, name);
	return VALUE(call, value) == OWNERSHIP_MOVE
		? graph_add_body(loader, graph, node, child)
		: footprint_set_child(&loader->p.graphs->memory, graph, node, child);
}

static int change_edges(struct loader *loader, const struct loaded_call *call)
{
	static const char remove[] =
		"UPDATE graph_edge SET removed = ? "
		"WHERE from_node = ? AND to_node = ? AND removed IS NULL";
	int64_t graph = graph_of(loader, call, VALUE(call, graph));
	struct lists lists = lists_of(call, 2, 3);

	for (size_t i = 0; lists.word && i < lists.count && graph > 0; i++) {
		int64_t from = node_at(loader, call, &lists, 0, i);
		int64_t to = node_at(loader, call, &lists, 1, i);

		if (call->kind == KIND_GRAPH_ADD_EDGES
				? graph_add_edge(loader, call, graph, from, to,
					  is_programmatic(&lists, 2, i))
				: loader_run(loader, remove, row_of(loader, call), from, to, 0))
			return -1;
	}
	return graph < 0 ? -1 : 0;
}

static int destroy_node(struct loader *loader, const struct loaded_call *call)
{
	int64_t node = handle_row(&loader->p.graphs->node, call, VALUE(call, node));

	if (node)
		footprint_remove_node(&loader->p.graphs->memory, node);
	return node ? loader_run(loader, "UPDATE graph_node SET removed = ? WHERE id = ?",
			      row_of(loader, call), node, 0, 0)
		    : 0;
}

static int destroy_graph(struct loader *loader, const struct loaded_call *call)
{
	int64_t graph = handle_row(&loader->p.graphs->graph, call, VALUE(call, graph));

	if (!graph)
		return 0;
	footprint_drop_graph(&loader->p.graphs->memory, graph);
	handle_end(&loader->p.graphs->graph, call, VALUE(call, graph));
	return loader_run(loader, "UPDATE graph SET destroyed = ? WHERE id = ?",
		       row_of(loader, call), graph, 0, 0)
		? -1
		: 0;
}

static int (*taker_of_family(enum call_kind kind))(struct loader *, const struct loaded_call *)
{
	switch (kind_family(kind)) {
	case FAMILY_graph_edges:
		return change_edges;
	case FAMILY_node_set:
		return graph_change;
	case FAMILY_exec:
	case FAMILY_graph_launch:
		return exec_apply_call;
	default:
		return NULL;
	}
}

static int (*taker(enum call_kind kind))(struct loader *, const struct loaded_call *)
{
	switch (kind) {
	case KIND_GRAPH_ADD_NODE:
		return load_node;
	case KIND_GRAPH_NODE_DESTROY:
		return destroy_node;
	case KIND_GRAPH_CLONE:
		return graph_clone;
	case KIND_GRAPH_DESTROY:
		return destroy_graph;
	case KIND_GRAPH_INSTANTIATE:
		return exec_instantiate;
	case KIND_CAPTURE_BEGIN:
		return capture_begin;
	case KIND_EXEC_UPDATE:
		return exec_update;
	case KIND_GRAPH_QUERY:
		return graph_query;
	default:
		return taker_of_family(kind);
	}
}

int loader_take_graphs(struct loader *loader, const struct loaded_call *call)
{
	int (*take)(struct loader *, const struct loaded_call *) = taker(call->kind);

	/* Returns early for programs without graphs. */
	if ((!take && call->kind != KIND_GRAPH_CREATE && !loader->p.graphs) ||
		!graphs_of(&loader->p))
		return loader->p.graphs || !take ? 0 : -1;
	if (retire_handles(loader->p.graphs, call->enter))
		return -1;
	if (call->kind == KIND_CAPTURE_END)
		return capture_end(loader, call);
	if (call->failed)
		return 0;
	if (call->kind == KIND_GRAPH_CREATE)
		return graph_add(loader, call, VALUE(call, new_graph), call->exit) < 0 ? -1 : 0;
	if (call->stream && call->kind != KIND_CAPTURE_BEGIN && capture_add_call(loader, call))
		return -1;
	return take ? take(loader, call) : 0;
}
