/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work, as calls describe it: in the terms of the graph API, whether it goes into a stream now,
 * becomes a node of a graph, or is captured.  So a kind of work is checked and made into an op in
 * one place.  What pointers in it point to is the caller's; a node keeps copies.
 */
#ifndef CUFENCE_SIM_WORK_H
#define CUFENCE_SIM_WORK_H

#include "cuda_state.h"

struct event;

struct work {
	CUgraphNodeParams params;
	bool async;            /* the name of the call says so */
	bool programmatic;     /* kernel: need not wait for the end of the one before it */
	struct event *started; /* kernel: records this event when it starts, NULL: none */
};

/* Has it all it needs?  Errors are those of the stream call. */
CUresult work_check(const struct work *work, struct context *context);

/* The op that does it, not submitted; for work that is one op.  May wait, to load code. */
struct op *work_op(const struct work *work, struct stream *stream);

/*
 * Put it into a stream, or into the graph for which the stream is captured.  Unless NULL, *op gets
 * the op with a reference for the caller, or NULL if there is none.
 */
CUresult work_submit(const struct work *work, CUstream handle, struct op **op);

/* The kinds of work. */
CUresult kernel_check(const struct work *work, struct context *context);
struct op *kernel_op(const struct work *work, struct stream *stream);
CUresult copy_check(const struct work *work, struct context *context);
struct op *copy_op(const struct work *work, struct stream *stream);
CUresult set_check(const struct work *work, struct context *context);
struct op *set_op(const struct work *work, struct stream *stream);
CUresult event_check(const struct work *work, struct context *context);
struct op *event_op(const struct work *work, struct stream *stream);
/* Waits for values are refused, as by a driver that supports none: CUFENCE_SIM_NO_WAIT_VALUE. */
bool value_refused(void);
CUresult value_check(const struct work *work, struct context *context);
struct op *value_op(const CUstreamBatchMemOpParams *params, struct stream *stream);
CUresult graph_memory_check(const struct work *work, struct context *context);
struct op *graph_memory_op(const struct work *work, struct stream *stream);

/* Where it ran and which call asked for it. */
void record_origin(struct op *op, const struct stream *stream);

/* How long kernels last that do not say it: CUFENCE_SIM_KERNEL_US. */
void kernel_time_init(void);

/* Bytes of a kernel's parameters, and where they are in a launch; NULL: not given. */
const void *kernel_parameter(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel, unsigned int index);

/* Events: cuda_event.c. */
struct event *event_get(CUevent handle);
void event_set(struct event *event, struct op *op);

#endif
