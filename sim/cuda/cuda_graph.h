/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs, executable graphs, and streams that are captured into a graph.
 *
 * A node is work and the nodes it comes after.  An executable graph owns a copy of its graph, and
 * launching it makes an op of each node.  Nodes keep copies of what their parameters point to.
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
	uint64_t original;   /* of a copy: id of the node it is a copy of, else its own */
	struct edges *edges; /* what it comes after */
	struct work work;
	struct context *context; /* that of its stream, or current when it was added */
	void *storage;           /* what work points to: kernel parameters, memory operations */
	struct graph **child;    /* child graph, or the bodies of a conditional node */
	unsigned int child_count;
	struct attribute *attributes;
	bool disabled;     /* of an executable graph */
	struct node *twin; /* the copy that graph_clone() makes */
	bool marked;       /* for whoever walks the graph */
	unsigned int waiting;
	struct op *first, *last; /* of the launch that is being submitted */
};

struct graph {
	struct node *nodes, **end;
	struct node *owner;     /* the node it belongs to, NULL: a graph of its own */
	struct graph *original; /* of a clone: the graph that was cloned; only compared */
	struct user_use *users;
	uint32_t id;    /* CUPTI's */
	bool capturing; /* a capture adds to it */
};

struct exec {
	struct graph *graph; /* its own copy */
	struct context *context;
	cuuint64_t flags;
	struct op *last;    /* end of the last launch */
	uint32_t id;        /* CUPTI's */
	uint32_t stream_id; /* under which CUPTI sees its nodes */
};

struct capture {
	struct capture *next;
	struct graph *graph;
	struct stream *origin, *streams;
	struct edges *left; /* last nodes of streams that were destroyed meanwhile */
	CUstreamCaptureMode mode;
	struct thread *thread; /* that began it */
	uint64_t id;
	unsigned int events; /* that were recorded in it */
	bool invalid;
	bool ended; /* kept while events refer to it */
	bool given; /* the graph is the program's */
};

/* Graphs and nodes: cuda_graph.c.  NULL for an invalid handle or a full arena. */
struct graph *graph_get(CUgraph handle);
struct node *node_get(CUgraphNode handle);
struct graph *graph_new(void);
void graph_free(struct graph *graph);
struct graph *graph_clone(struct graph *graph);

/* A node that comes after others; checks edges and takes copies.  *made: the node. */
CUresult node_add(struct graph *graph, const struct edges *edges, const struct work *work,
	struct node **made);

/* Change what a node does; the type must stay. */
CUresult node_set(struct node *node, const struct work *work);
void node_free(struct node *node);

/* The copy of a node of another graph in this graph or its children, or NULL. */
struct node *graph_find(struct graph *graph, uint64_t original);

/* Edges, owned by the caller; data may be NULL.  NULL for an invalid node. */
struct edges *edges_new(const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count);
struct edges *edges_copy(const struct edges *edges);

/* Both, each edge once; frees to. */
struct edges *edges_merge(struct edges *to, const struct edges *from);
bool edges_have(const struct edges *edges, const struct node *from);

/* Executable graphs: cuda_graph_exec.c. */
struct exec *exec_get(CUgraphExec handle);

/* Memory that nodes allocate: cuda_graph_memory.c.  The address is the node's for good. */
CUresult graph_memory_new(int device, size_t bytes, CUdeviceptr *ptr);

/* Allocate in a captured stream. */
CUresult graph_memory_capture(struct stream *stream, size_t bytes, CUdeviceptr *ptr);

/* A launch is about to happen: an error if it would allocate what is still allocated. */
CUresult graph_launch_memory(struct exec *exec);

/* Parameters of older versions of the same calls: cuda_graph_params.c. */
CUDA_KERNEL_NODE_PARAMS_v2 kernel_params_v2(const CUDA_KERNEL_NODE_PARAMS_v1 *p);
CUDA_KERNEL_NODE_PARAMS_v3 kernel_params_v3(const CUDA_KERNEL_NODE_PARAMS_v2 *p);
CUDA_MEMSET_NODE_PARAMS_v2 memset_params_v2(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context);

/* Conditional handles: cuda_graph_node.c. */
struct condition {
	struct graph *graph;
	unsigned int value, flags; /* at each launch */
};

/* Objects of the program's that graphs keep: cuda_user.c. */
CUresult users_copy(struct graph *to, const struct graph *from);
void users_release(struct graph *graph);

/* Captures: cuda_capture.c. */
CUresult capture_add(struct stream *stream, const struct work *work);

/*
 * Is this thread forbidden calls that are unsafe while a stream is captured?  If so, those captures
 * have failed.
 */
bool capture_forbids(struct thread *thread);

/* Mark as failed: nothing can be added, and ending it gives an error. */
void capture_invalidate(struct capture *capture);

/* A blocking stream of this context is captured, so its legacy stream cannot be used. */
struct capture *capture_of_context(const struct context *context);

/* An event recorded in a captured stream, and a captured stream that waits for it. */
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
