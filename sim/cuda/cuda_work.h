/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work in the terms of the graph API, independent of whether it is submitted to a stream, becomes a
 * node of a graph, or is captured.  So each kind of work is checked and converted to an op in one
 * place.  The caller owns memory that pointers refer to; a node keeps copies.
 */
#ifndef CUFENCE_SIM_WORK_H
#define CUFENCE_SIM_WORK_H

#include "cuda_state.h"

struct event;

struct work {
	CUgraphNodeParams params;
	bool async;            /* by the name of the call */
	bool programmatic;     /* kernel: need not wait for the end of the preceding one */
	struct event *started; /* kernel: records this event when it starts, NULL: none */
};

/* Is the work complete and valid? Errors are those of the stream call. */
CUresult work_check(const struct work *work, struct context *context);

/* Returns its op, not submitted; for work that is one op.  May wait to load code. */
struct op *work_op(const struct work *work, struct stream *stream);

/*
 * Submits the work to a stream, or adds it to the graph if the stream is captured. *op, unless op
 * is NULL, gets the op with a reference, or NULL if there is none.
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
/* Waits for values are refused, as by a driver without support: CUFENCE_SIM_NO_WAIT_VALUE. */
bool value_refused(void);
CUresult value_check(const struct work *work, struct context *context);
struct op *value_op(const CUstreamBatchMemOpParams *params, struct stream *stream);
CUresult graph_memory_check(const struct work *work, struct context *context);
struct op *graph_memory_op(const struct work *work, struct stream *stream);

/* Sets device, stream and correlation id of its record. */
void record_origin(struct op *op, const struct stream *stream);

/* Reads the duration of kernels that do not specify one: CUFENCE_SIM_KERNEL_US. */
void kernel_time_init(void);

/* Returns the address of a parameter in the launch; NULL: not given. */
const void *kernel_parameter(const CUDA_KERNEL_NODE_PARAMS_v3 *kernel, unsigned int index);

/* Events: event.c. */
struct event *event_get(CUevent handle);
void event_set(struct event *event, struct op *op);

#endif
