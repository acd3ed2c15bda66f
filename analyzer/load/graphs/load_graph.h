/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal to loader_take_graphs(): the graphs of a process, shared by
 *
 * load_graph.c       graphs that calls build node by node
 * load_capture.c     calls of a captured stream, which become nodes
 * load_graph_copy.c  clones, and the graphs of child nodes
 * load_graph_exec.c  executable graphs, and calls that change nodes
 *
 * Rows are database ids, 0: none.  Functions that return an int or a row return -1 after a message.
 */
#ifndef CUFENCE_LOAD_GRAPH_H
#define CUFENCE_LOAD_GRAPH_H

#include "footprint.h"
#include "loader.h"

#define HAS(call, kind) ((call)->fields.present & 1ull << FIELD_##kind)
#define VALUE(call, kind) ((call)->fields.value[FIELD_##kind])

/* Nodes (rows) on which the next node of a captured stream, or after a captured event, depends. */
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
	struct map strangers; /* node handles returned by queries -> row of their graph */
	struct map unplaced;  /* graph rows: bodies of unidentified nodes */
	struct footprints memory;
};

static inline int64_t row_of(const struct loader *loader, const struct loaded_call *call)
{
	return loader->call + call->number;
}

/* The row that a call means by a handle of a graph, node or executable. */
int64_t handle_row(const struct lives *lives, const struct loaded_call *call, uint64_t handle);
/* Maps the handle to a row from begin on (ticks), or to none once the call has returned. */
void handle_begin(struct lives *lives, uint64_t handle, uint64_t begin, int64_t row);
void handle_end(struct lives *lives, const struct loaded_call *call, uint64_t handle);

/*
 * graph_add: adds a graph, with a handle from begin on or 0. graph_of: the row of a handle, added
 * if missing.
 */
int64_t graph_add(struct loader *loader, const struct loaded_call *call, uint64_t handle,
	uint64_t begin);
int64_t graph_of(struct loader *loader, const struct loaded_call *call, uint64_t handle);

/*
 * Adds a node of that type, whose handle is valid once the call has returned; event and child:
 * rows.
 */
int64_t graph_add_node(struct loader *loader, const struct loaded_call *call, int64_t graph,
	const char *type, uint64_t handle, int64_t event, int64_t child);
int graph_add_edge(struct loader *loader, const struct loaded_call *call, int64_t graph,
	int64_t from, int64_t to, int programmatic);
/* Converts CUgraphNodeType to graph_node.type. */
const char *graph_node_type(uint64_t type);
/* Adds the memory accessed by a node to the footprints, by its call and type. */
int graph_note_memory(struct loader *loader, const struct loaded_call *call, int64_t graph,
	int64_t node, const char *type);
/* The memory that a call names for a node of that type. */
struct footprint graph_named(const struct loader *loader, const char *type);

/*
 * Lists after the fields (doc/FORMAT.md): the first lists have count words each, the others follow;
 * empty if the recorder truncated them.
 */
struct lists {
	const uint64_t *word;
	size_t count; /* of each */
	size_t lists;
	size_t more; /* words of the others */
};
/*
 * least, most: lists of count words that the call's versions have; the record shows how many it is.
 */
struct lists lists_of(const struct loaded_call *call, size_t least, size_t most);
int64_t node_at(const struct loader *loader, const struct loaded_call *call,
	const struct lists *lists, size_t list, size_t i);

/* load_graph_copy.c; give_child: cuGraphChildGraphNodeGetGraph. */
int graph_clone(struct loader *loader, const struct loaded_call *call);
int graph_give_child(struct loader *loader, const struct loaded_call *call);
/* The node contains a graph that may change until an executable is instantiated. */
int graph_add_body(struct loader *loader, int64_t graph, int64_t node, int64_t body);

/* load_capture.c; take sets captured to 1 if the call became part of a graph. */
int capture_begin(struct loader *loader, const struct loaded_call *call);
int capture_end(struct loader *loader, const struct loaded_call *call);
int capture_add_call(struct loader *loader, const struct loaded_call *call);

/* load_graph_exec.c */
int exec_instantiate(struct loader *loader, const struct loaded_call *call);
int exec_apply_call(struct loader *loader, const struct loaded_call *call);
int exec_update(struct loader *loader, const struct loaded_call *call);
int graph_change(struct loader *loader, const struct loaded_call *call);
int graph_query(struct loader *loader, const struct loaded_call *call);

#endif
