/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs, executable graphs, and stream capture.
 *
 * A node is work and its dependencies.  An executable graph owns a copy of its graph; a launch
 * makes an op of each node.  Nodes keep copies of what their parameters point to.
 */
#ifndef CUFENCE_SIM_GRAPH_H
#define CUFENCE_SIM_GRAPH_H

#include "cuda_work.h"

struct edge {
	struct node *from;
	CUgraphEdgeData data;
};

struct edges {
	size_t count;
	struct edge edge[];
};

struct node {
	struct graph *graph;
	struct node *next;   /* in order of creation */
	uint64_t id;         /* unique, copies have their own */
	uint64_t original;   /* in a copy: id of the original node, else its own */
	struct edges *edges; /* the nodes it depends on */
	struct work work;
	struct context *context; /* that of its stream, or current when it was added */
	void *storage;        /* memory that work points to: kernel parameters, memory operations */
	struct graph **child; /* child graph, or the bodies of a conditional node */
	unsigned int child_count;
	struct attribute *attributes;
	bool disabled;     /* of an executable graph */
	struct node *twin; /* its copy during graph_clone() */
	bool marked;       /* for graph traversals */
	unsigned int waiting;
	struct op *first, *last; /* of the launch being submitted */
};

struct graph {
	struct node *nodes, **end;
	struct node *owner;     /* the node that contains it, NULL: independent graph */
	struct graph *original; /* in a clone: the cloned graph; only compared */
	struct user_use *users;
	uint32_t id;    /* CUPTI's */
	bool capturing; /* a capture is adding nodes */
};

struct exec {
	struct graph *graph; /* its own copy */
	struct context *context;
	cuuint64_t flags;
	struct op *last;    /* end of the last launch */
	uint32_t id;        /* CUPTI's */
	uint32_t stream_id; /* CUPTI's stream id of its nodes */
};

struct capture {
	struct capture *next;
	struct graph *graph;
	struct stream *origin, *streams;
	struct edges *left; /* last nodes of streams destroyed during the capture */
	CUstreamCaptureMode mode;
	struct thread *thread; /* that began it */
	uint64_t id;
	unsigned int events; /* events recorded in it */
	bool invalid;
	bool ended; /* kept while events refer to it */
	bool given; /* the program has a handle of the graph */
};

/* Graphs and nodes: graph.c.  NULL for an invalid handle or a full arena. */
struct graph *graph_get(CUgraph handle);
struct node *node_get(CUgraphNode handle);
struct graph *graph_new(void);
void graph_free(struct graph *graph);
struct graph *graph_clone(struct graph *graph);

/* Adds a node with dependencies; checks edges and makes copies. *made: the node. */
CUresult node_add(struct graph *graph, const struct edges *edges, const struct work *work,
	struct node **made);

/* Changes what a node does; its type must not change. */
CUresult node_set(struct node *node, const struct work *work);
void node_free(struct node *node);

/* The copy of a node of another graph in this graph or its children, or NULL. */
struct node *graph_find(struct graph *graph, uint64_t original);

/* Edges, owned by the caller; data may be NULL. Returns NULL for an invalid node. */
struct edges *edges_new(const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count);
struct edges *edges_copy(const struct edges *edges);

/* The union of both; frees to. */
struct edges *edges_merge(struct edges *to, const struct edges *from);
bool edges_have(const struct edges *edges, const struct node *from);

/* Executable graphs: graph_exec.c. */
struct exec *exec_get(CUgraphExec handle);

/*
 * Memory of allocation nodes: graph_memory.c.  The address belongs to the node for its
 * lifetime.
 */
CUresult graph_memory_new(int device, size_t bytes, CUdeviceptr *ptr);

/* Allocates in a captured stream. */
CUresult graph_memory_capture(struct stream *stream, size_t bytes, CUdeviceptr *ptr);

/* Called before a launch: an error if it would allocate memory that is still allocated. */
CUresult graph_launch_memory(struct exec *exec);

/* Parameters of older versions of calls: graph_params.c. */
CUDA_KERNEL_NODE_PARAMS_v2 kernel_params_v2(const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUDA_KERNEL_NODE_PARAMS_v3 kernel_params_v3(const CUDA_KERNEL_NODE_PARAMS_v2 *p);
CUDA_MEMSET_NODE_PARAMS_v2 memset_params_v2(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context);

/* Conditional handles: graph_node.c. */
struct condition {
	struct graph *graph;
	unsigned int value, flags; /* default at each launch */
};

/* User objects, kept alive by graphs: user.c. */
CUresult users_copy(struct graph *to, const struct graph *from);
void users_release(struct graph *graph);

/* Captures: capture.c. */
CUresult capture_add(struct stream *stream, const struct work *work);

/*
 * Is this thread forbidden to make calls that are unsafe during a capture? If so, these captures
 * have failed.
 */
bool capture_forbids(struct thread *thread);

/* Marks the capture as failed: nothing can be added, and ending it returns an error. */
void capture_invalidate(struct capture *capture);

/* The capture of a blocking stream of this context, which forbids the use of its legacy stream. */
struct capture *capture_of_context(const struct context *context);

/* State of an event recorded in a captured stream, for streams that wait for it. */
struct captured {
	struct capture *capture; /* NULL: the event was not captured */
	struct edges *tips;
};
void captured_record(struct captured *captured, struct stream *stream);
void captured_release(struct captured *captured);
CUresult captured_wait(const struct captured *captured, struct stream *stream);
void capture_leave(struct stream *stream);
void capture_destroy(struct stream *stream);

#endif
