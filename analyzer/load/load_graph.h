/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of loader_take_graphs(): what a process has of graphs, shared by
 *
 *	load_graph.c       graphs that calls make, node by node
 *	load_capture.c     calls of a captured stream, which become nodes
 *	load_graph_copy.c  clones, and the graphs of child nodes
 *	load_graph_exec.c  executables, and what changes nodes
 *
 * Rows are database ids, 0: none.  Functions that return an int or a row: -1 after a message.
 */
#ifndef CUFENCE_LOAD_GRAPH_H
#define CUFENCE_LOAD_GRAPH_H

#include "footprint.h"
#include "loader.h"

#define HAS(call, kind) ((call)->fields.present & 1ull << FIELD_##kind)
#define VALUE(call, kind) ((call)->fields.value[FIELD_##kind])

/* Nodes (rows) that what is next in a captured stream, or after a captured event, comes after. */
struct front {
	uint32_t capture; /* index + 1, 0: not captured */
	int64_t *node;
	size_t count;
};

struct capture {
	int64_t graph; /* row */
	int active;
};

struct graphs {
	struct lives graph, node, exec; /* value: row */
	struct map streams, events;     /* stream life, event row -> front, index + 1 */
	struct front *front;
	size_t front_count;
	struct capture *capture;
	size_t capture_count;
	struct map strangers; /* handles that were asked for -> graph row: of a node of it */
	struct map unplaced;  /* graph rows: bodies of nodes that are not known */
	struct footprints memory;
};

static inline int64_t row_of(const struct loader *loader, const struct loaded_call *call)
{
	return loader->call + call->number;
}

/* What the call means by a handle of a graph, node or executable: its row. */
int64_t handle_row(const struct lives *lives, const struct loaded_call *call, uint64_t handle);
/* From begin on (ticks) the handle stands for that row; or for none once the call has returned. */
int handle_begin(struct lives *lives, uint64_t handle, uint64_t begin, int64_t row);
int handle_end(struct lives *lives, const struct loaded_call *call, uint64_t handle);

/* A new graph, with a handle from begin on or 0; the one of a handle, made if need be. */
int64_t graph_add(struct loader *loader, const struct loaded_call *call, uint64_t handle,
	uint64_t begin);
int64_t graph_of(struct loader *loader, const struct loaded_call *call, uint64_t handle);

/* A node of that type, which has the handle once the call has returned; event and child: rows. */
int64_t graph_add_node(struct loader *loader, const struct loaded_call *call, int64_t graph,
	const char *type, uint64_t handle, int64_t event, int64_t child);
int graph_add_edge(struct loader *loader, const struct loaded_call *call, int64_t graph,
	int64_t from, int64_t to, int programmatic);
/* CUgraphNodeType as graph_node.type. */
const char *graph_node_type(uint64_t type);
/* Notes what memory the node has, by its call and type. */
int graph_note_memory(struct loader *loader, const struct loaded_call *call, int64_t graph,
	int64_t node, const char *type);
/* What a call of a node of that type names. */
struct footprint graph_named(const struct loader *loader, const char *type);

/* Lists behind the fields (doc/FORMAT.md): the first ones of count words each, others after them;
 * none if the recorder cut them. */
struct lists {
	const uint64_t *word;
	size_t count; /* of each */
	size_t lists;
	size_t more; /* others */
};
struct lists lists_of(const struct loaded_call *call, size_t lists);
int64_t node_at(const struct loader *loader, const struct loaded_call *call,
	const struct lists *lists, size_t list, size_t i);

/* load_graph_copy.c; give_child: cuGraphChildGraphNodeGetGraph. */
int graph_clone(struct loader *loader, const struct loaded_call *call);
int graph_give_child(struct loader *loader, const struct loaded_call *call);
/* The node consists of a graph that may change until an executable is made. */
int graph_add_body(struct loader *loader, int64_t graph, int64_t node, int64_t body);

/* load_capture.c; take: 1 in captured if the call became a part of a graph. */
int capture_begin(struct loader *loader, const struct loaded_call *call);
int capture_end(struct loader *loader, const struct loaded_call *call);
int capture_take(struct loader *loader, const struct loaded_call *call);

/* load_graph_exec.c */
int exec_instantiate(struct loader *loader, const struct loaded_call *call);
int exec_take(struct loader *loader, const struct loaded_call *call);
int exec_update(struct loader *loader, const struct loaded_call *call);
int graph_change(struct loader *loader, const struct loaded_call *call);
int graph_query(struct loader *loader, const struct loaded_call *call);

#endif
