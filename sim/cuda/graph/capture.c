/* SPDX-License-Identifier: Apache-2.0 */
/* Stream capture: calls on a captured stream become nodes of a graph. */
#include <stdlib.h>

#include "cuda_calls.h"
#include "cuda_graph.h"

static struct capture *captures; /* in progress */
static uint64_t last_id;

static void capture_put(struct capture *capture)
{
	if (capture->ended && !capture->events)
		free(capture);
}

void capture_invalidate(struct capture *capture)
{
	capture->invalid = true;
}

struct capture *capture_of_context(const struct context *context)
{
	for (struct capture *c = captures; c; c = c->next) {
		for (struct stream *s = c->streams; s; s = s->capture_next) {
			if (s->context == context && s->blocking)
				return c;
		}
	}
	return NULL;
}

/* Depends on the mode of the captures and of the thread. */
bool capture_forbids(struct thread *thread)
{
	bool forbidden = false;

	if (thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	for (struct capture *c = captures; c; c = c->next) {
		bool own = c->thread == thread && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
		bool other = thread->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
			c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;

		if (!own && !other)
			continue;
		capture_invalidate(c);
		forbidden = true;
	}
	return forbidden;
}

static void join_stream(struct capture *capture, struct stream *stream, const struct edges *tips)
{
	if (!stream->capture) {
		stream->capture = capture;
		stream->capture_next = capture->streams;
		capture->streams = stream;
	}
	stream->tips = edges_merge(stream->tips, tips);
}

/* The stream leaves the capture. */
void capture_leave(struct stream *stream)
{
	struct capture *capture = stream->capture;
	struct stream **link;

	if (!capture)
		return;
	for (link = &capture->streams; *link != stream; link = &(*link)->capture_next)
		;
	*link = stream->capture_next;
	stream->capture = NULL;
	free(stream->tips);
	stream->tips = NULL;
	if (stream == capture->origin)
		capture->origin = NULL;
}

/* The capture continues without a destroyed stream, if its work is joined in the end. */
void capture_destroy(struct stream *stream)
{
	struct capture *capture = stream->capture;

	if (!capture)
		return;
	if (stream == capture->origin)
		capture_invalidate(capture);
	else if (stream->tips)
		capture->left = edges_merge(capture->left, stream->tips);
	capture_leave(stream);
}

/* A programmatic launch depends on the start of the preceding kernel, not its end. */
static void make_programmatic(struct edges *edges)
{
	for (size_t i = 0; i < edges->count; i++) {
		struct edge *edge = &edges->edge[i];

		if (edge->from->work.params.type != CU_GRAPH_NODE_TYPE_KERNEL)
			continue;
		edge->data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
		edge->data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
	}
}

CUresult capture_add(struct stream *stream, const struct work *work)
{
	struct capture *capture = stream->capture;
	struct edges *edges;
	struct node *node;
	CUresult result;

	if (capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	edges = edges_copy(stream->tips);
	if (work->programmatic)
		make_programmatic(edges);
	result = node_add(capture->graph, edges, work, &node);
	free(edges);
	if (result)
		return result;
	node->context = stream->context;
	free(stream->tips);
	stream->tips = edges_new(&(CUgraphNode){ (CUgraphNode)node }, NULL, 1);
	return CUDA_SUCCESS;
}

static CUresult begin(CUstream handle, struct graph *graph, struct edges *tips,
	CUstreamCaptureMode mode)
{
	struct stream *stream = stream_get(handle);
	struct capture *capture;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	capture = must_realloc(NULL, sizeof(*capture));
	*capture = (struct capture){ .next = captures,
		.graph = graph ? graph : graph_new(),
		.origin = stream,
		.mode = mode,
		.thread = thread_self(),
		.id = ++last_id,
		.given = graph };
	if (!capture->graph) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	captures = capture;
	capture->graph->capturing = true;
	join_stream(capture, stream, tips);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	return begin(stream, NULL, NULL, mode);
}

CUresult do_cuStreamBeginCapture(CUstream stream)
{
	return begin(stream, NULL, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult do_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph handle, const CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode)
{
	struct graph *graph = graph_get(handle);
	struct edges *tips;
	CUresult result;

	if (!graph || graph->capturing || (count && !nodes))
		return CUDA_ERROR_INVALID_VALUE;
	tips = edges_new(nodes, data, count);
	if (!tips)
		return CUDA_ERROR_INVALID_VALUE;
	result = begin(stream, graph, tips, mode);
	free(tips);
	return result;
}

CUresult do_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct thread *thread = thread_self();
	int old = thread->capture_mode;

	if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread->capture_mode = (int)*mode;
	*mode = (CUstreamCaptureMode)old;
	return CUDA_SUCCESS;
}

static void mark_before(const struct edges *edges)
{
	for (size_t i = 0; edges && i < edges->count; i++) {
		struct node *node = edges->edge[i].from;

		if (node->marked)
			continue;
		node->marked = true;
		mark_before(node->edges);
	}
}

static bool all_marked(const struct edges *edges)
{
	for (size_t i = 0; edges && i < edges->count; i++) {
		if (!edges->edge[i].from->marked)
			return false;
	}
	return true;
}

/* Is all captured work joined to the origin stream? */
static bool joined(const struct capture *capture)
{
	for (struct node *n = capture->graph->nodes; n; n = n->next)
		n->marked = false;
	mark_before(capture->origin->tips);
	for (struct stream *s = capture->streams; s; s = s->capture_next) {
		if (!all_marked(s->tips))
			return false;
	}
	return all_marked(capture->left);
}

static CUresult capture_end(struct capture *capture, CUresult result, CUgraph *graph)
{
	struct capture **link;

	for (link = &captures; *link != capture; link = &(*link)->next)
		;
	*link = capture->next;
	while (capture->streams)
		capture_leave(capture->streams);
	free(capture->left);
	capture->left = NULL;
	capture->graph->capturing = false;
	if (result && !capture->given)
		graph_free(capture->graph);
	else if (!result && graph)
		*graph = (CUgraph)capture->graph;
	capture->ended = true;
	capture_put(capture);
	return result;
}

CUresult do_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
	struct stream *stream = stream_get(handle);
	struct capture *capture;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	capture = stream->capture;
	/* If the program supplied the graph, a NULL result is allowed. */
	if (!graph && !(capture && capture->given))
		return CUDA_ERROR_INVALID_VALUE;
	if (graph)
		*graph = NULL;
	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->origin != stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != thread_self())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (capture->invalid)
		return capture_end(capture, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, graph);
	if (!joined(capture))
		return capture_end(capture, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, graph);
	return capture_end(capture, CUDA_SUCCESS, graph);
}

CUresult do_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
	struct stream *stream = stream_get(handle);

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->legacy && capture_of_context(stream->context))
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	*status = !stream->capture         ? CU_STREAM_CAPTURE_STATUS_NONE
		: stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	return CUDA_SUCCESS;
}

/* The returned arrays are valid until the next call on the stream. */
static void give_tips(struct stream *stream, const CUgraphNode **nodes,
	const CUgraphEdgeData **data)
{
	static CUgraphNode *node_array;
	static CUgraphEdgeData *data_array;
	size_t count = stream->tips ? stream->tips->count : 0;

	node_array = must_realloc(node_array, (count + 1) * sizeof(*node_array));
	data_array = must_realloc(data_array, (count + 1) * sizeof(*data_array));
	for (size_t i = 0; i < count; i++) {
		node_array[i] = (CUgraphNode)stream->tips->edge[i].from;
		data_array[i] = stream->tips->edge[i].data;
	}
	if (nodes)
		*nodes = node_array;
	if (data)
		*data = data_array;
}

CUresult do_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status,
	cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes, const CUgraphEdgeData **data,
	size_t *count)
{
	CUresult result = do_cuStreamIsCapturing(handle, status);
	struct stream *stream;

	if (result || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return result;
	stream = stream_get(handle);
	if (id)
		*id = stream->capture->id;
	if (graph)
		*graph = (CUgraph)stream->capture->graph;
	if (nodes || data)
		give_tips(stream, nodes, data);
	if (count)
		*count = stream->tips ? stream->tips->count : 0;
	return CUDA_SUCCESS;
}

CUresult do_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
	cuuint64_t *id, CUgraph *graph, const CUgraphNode **nodes, size_t *count)
{
	return do_cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, NULL, count);
}

CUresult do_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return do_cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult do_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
	const CUgraphEdgeData *data, size_t count, unsigned int flags)
{
	struct stream *stream = stream_get(handle);
	struct edges *edges;

	if (!stream)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !nodes))
		return CUDA_ERROR_INVALID_VALUE;
	edges = edges_new(nodes, data, count);
	if (!edges)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
		free(stream->tips);
		stream->tips = edges;
		return CUDA_SUCCESS;
	}
	stream->tips = edges_merge(stream->tips, edges);
	free(edges);
	return CUDA_SUCCESS;
}

CUresult do_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count,
	unsigned int flags)
{
	return do_cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}

void captured_release(struct captured *captured)
{
	if (captured->capture) {
		captured->capture->events--;
		capture_put(captured->capture);
	}
	free(captured->tips);
	*captured = (struct captured){ 0 };
}

void captured_record(struct captured *captured, struct stream *stream)
{
	stream->capture->events++;
	captured_release(captured);
	captured->capture = stream->capture;
	captured->tips = edges_copy(stream->tips);
}

/* A wait for a captured event joins the capture; a wait for another event invalidates it. */
CUresult captured_wait(const struct captured *captured, struct stream *stream)
{
	struct capture *capture = captured->capture;

	if (stream->capture && stream->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!capture || capture->ended) {
		if (!stream->capture)
			return CUDA_ERROR_CAPTURED_EVENT;
		capture_invalidate(stream->capture);
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (stream->capture && stream->capture != capture) {
		capture_invalidate(stream->capture);
		capture_invalidate(capture);
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	join_stream(capture, stream, captured->tips);
	return CUDA_SUCCESS;
}
