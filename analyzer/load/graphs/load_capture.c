/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream capture: calls become nodes of a graph, each after the front of its stream.  Captured
 * calls get a row of call_object.
 */
#include "load_graph.h"

#include <stdlib.h>

#include "memory.h"

/*
 * Finds the front of a stream or event.  Returns NULL if there is none, or with make after a
 * message.
 */
static struct front *front_of(struct graphs *graphs, struct map *map, uint64_t key, int make)
{
	uint64_t known = map_get(map, key, 0);

	if (known)
		return &graphs->front[known - 1];
	if (!make)
		return NULL;
	*array_push(graphs->front, graphs->front_count) = (struct front){ .capture = 0 };
	map_set(map, key, graphs->front_count);
	return &graphs->front[graphs->front_count - 1];
}

static int is_captured(const struct graphs *graphs, const struct front *front)
{
	return front && front->capture && graphs->capture[front->capture - 1].active;
}

int loader_is_captured(const struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;

	return graphs && is_captured(graphs, front_of(graphs, &graphs->streams, call->stream, 0));
}

static void add_to_front(struct front *front, int64_t node)
{
	for (size_t i = 0; i < front->count; i++)
		if (front->node[i] == node)
			return;
	front->node = xrealloc(front->node, front->count + 1, sizeof(*front->node));
	front->node[front->count++] = node;
}

int capture_begin(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	struct front *front = front_of(graphs, &graphs->streams, call->stream, 1);
	struct lists lists = lists_of(call, 1, 2);
	int64_t graph;

	if (!front)
		return -1;
	graph = VALUE(call, graph) ? graph_of(loader, call, VALUE(call, graph))
				   : graph_add(loader, call, 0, 0);
	*array_push(graphs->capture, graphs->capture_count) =
		(struct capture){ .graph = graph, .active = 1 };
	front->capture = (uint32_t)graphs->capture_count;
	front->count = 0;
	for (size_t i = 0; lists.word && i < lists.count; i++) {
		int64_t node = node_at(loader, call, &lists, 0, i);
		if (node)
			add_to_front(front, node);
	}
	return graph < 0 ? -1 : 0;
}

/* The program has that handle of the graph from the end of the call on. */
static int name_graph(struct loader *loader, const struct loaded_call *call, int64_t graph,
	uint64_t handle)
{
	handle_begin(&loader->p.graphs->graph, handle, call->exit, graph);
	return loader_run(loader, "UPDATE graph SET handle = ? WHERE id = ?", (int64_t)handle,
		       graph, 0, 0)
		? -1
		: 0;
}

/* All streams leave the capture when it ends, even if it failed. */
int capture_end(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	struct front *front = front_of(graphs, &graphs->streams, call->stream, 0);
	uint64_t handle = call->failed ? 0 : VALUE(call, new_graph);
	int64_t graph;

	if (!is_captured(graphs, front))
		return 0;
	graph = graphs->capture[front->capture - 1].graph;
	graphs->capture[front->capture - 1].active = 0;
	return handle ? name_graph(loader, call, graph, handle) : 0;
}

/* cuStreamUpdateCaptureDependencies: flag 1 replaces the dependencies instead of adding to them. */
static void update_capture(struct loader *loader, const struct loaded_call *call,
	struct front *front)
{
	struct lists lists = lists_of(call, 1, 2);

	if (VALUE(call, type) & 1)
		front->count = 0;
	for (size_t i = 0; lists.word && i < lists.count; i++) {
		int64_t node = node_at(loader, call, &lists, 0, i);
		if (node)
			add_to_front(front, node);
	}
}

/* Capture info gives the handles of the graph and of the nodes at the stream's front. */
static int name_captured(struct loader *loader, const struct loaded_call *call, struct front *front)
{
	struct lists lists = lists_of(call, 1, 1);
	int64_t graph = loader->p.graphs->capture[front->capture - 1].graph;
	uint64_t handle = VALUE(call, graph);

	if (handle && handle_row(&loader->p.graphs->graph, call, handle) != graph &&
		name_graph(loader, call, graph, handle))
		return -1;
	if (!lists.word || lists.count != 1 || front->count != 1 || !lists.word[0])
		return 0;
	handle_begin(&loader->p.graphs->node, lists.word[0], call->exit, front->node[0]);
	return loader_run(loader, "UPDATE graph_node SET handle = ? WHERE id = ?",
		       (int64_t)lists.word[0], front->node[0], 0, 0)
		? -1
		: 0;
}

/* Type of the node that a captured call becomes; NULL: it becomes none. */
static const char *captured_type(enum call_kind kind)
{
	static const char *const types[FAMILY_COUNT] = {
		[FAMILY_launch] = "kernel",
		[FAMILY_copy] = "copy",
		[FAMILY_set] = "set",
		[FAMILY_callback] = "host",
		[FAMILY_stream_allocation] = "alloc",
		[FAMILY_stream_free] = "free",
		[FAMILY_memory_value] = "memop",
		[FAMILY_external] = "external_wait",
		[FAMILY_graph_launch] = "graph",
		[FAMILY_placement] = "other",
		[FAMILY_decompress] = "other",
	};

	if (kind_has(kind, K_ANY_STREAM) || !kind_has(kind, K_WORK | K_SILENT | K_MARKER))
		return NULL;
	return kind == KIND_EXTERNAL_SIGNAL ? "signal" : types[kind_family(kind)];
}

/* Adds a node for the call after the stream's front; the node becomes the front. */
static int capture_node(struct loader *loader, const struct loaded_call *call, struct front *front,
	const char *type)
{
	int64_t graph = loader->p.graphs->capture[front->capture - 1].graph, node;

	node = graph_add_node(loader, call, graph, type, 0,
		type[0] == 'w' || type[0] == 'r' ? call->event : 0, 0);
	for (size_t i = 0; i < front->count && node > 0; i++)
		if (graph_add_edge(loader, call, graph, front->node[i], node, 0))
			return -1;
	front->count = 0;
	if (node < 0 || graph_note_memory(loader, call, graph, node, type))
		return -1;
	add_to_front(front, node);
	if (loader_write_object(loader, call, "captured", graph))
		return -1;
	return 0;
}

/*
 * An event recorded in a capture stores the front of its stream; with flag 1 (external) it is a
 * node.
 */
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
		add_to_front(event, front->node[i]);
	return loader_write_object(loader, call, "captured",
		graphs->capture[front->capture - 1].graph);
}

/* A stream that waits for a captured event joins that capture. */
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
		add_to_front(stream, event->node[i]);
	return loader_write_object(loader, call, "captured",
		graphs->capture[event->capture - 1].graph);
}

int capture_add_call(struct loader *loader, const struct loaded_call *call)
{
	struct graphs *graphs = loader->p.graphs;
	struct front *front = front_of(graphs, &graphs->streams, call->stream, 0);
	const char *type = captured_type(call->kind);

	if (call->kind == KIND_STREAM_WAIT)
		return capture_wait(loader, call);
	if (!is_captured(graphs, front)) {
		/* A record outside of a capture replaces the captured front of the event. */
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
		update_capture(loader, call, front);
		return 0;
	case KIND_CAPTURE_INFO:
		return name_captured(loader, call, front);
	default:
		return type ? capture_node(loader, call, front, type) : 0;
	}
}
