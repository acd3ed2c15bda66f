/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions: cuLaunchHostFunc, cuStreamAddCallback and host nodes of graphs.  The driver gets
 * a function of the recorder's, which calls the program's and records its run (RECORD_HOST_RUN).
 *
 * A function that runs once has a slot, which its run frees.  The function and data of a node may
 * run any number of times, also in copies of its graph, and nothing tells when the last one is
 * gone: each pair has one entry for as long as the process lives.  Both tables have a fixed size;
 * if one is full, the driver gets the program's function and PASSED_FUNCTIONS counts it.  Functions
 * that never run, because their context has failed, keep their slots.
 *
 * The driver's pictures of graphs (cuGraphDebugDotPrint) show the recorder's function.  On any
 * thread; no locks.
 */
#ifndef CUFENCE_HOST_FUNCTIONS_H
#define CUFENCE_HOST_FUNCTIONS_H

#include <cuda.h>

#include "shim.h"

/* What a wrapper passes to the driver instead of its arguments. */
struct passed_function {
	struct host_slot *slot; /* of a function that runs once; NULL: none */
	union {
		CUDA_HOST_NODE_PARAMS node;
		CUgraphNodeParams any;
	};
};

/*
 * Replace a call's arguments, before the call.  cuLaunchHostFunc makes a node if the stream is
 * captured.
 */
void host_function_in_stream(const struct call_frame *frame, struct passed_function *passed,
	CUstream stream, CUhostFn *function, void **data);
void host_function_as_callback(const struct call_frame *frame, struct passed_function *passed,
	CUstreamCallback *function, void **data);
void host_function_of_node(struct passed_function *passed, const CUDA_HOST_NODE_PARAMS **params);
void host_function_of_any(struct passed_function *passed, CUgraphNodeParams **params);

/* The call failed: the function will not run. */
void host_function_refused(struct host_slot *slot, CUresult result);

/* Put the program's function and data into a node's parameters that the driver returned. */
void host_function_answer(CUDA_HOST_NODE_PARAMS *params);
void host_function_answer_any(CUgraphNodeParams *params);

/* In a forked child, where no function of the parent runs. */
void host_functions_reset(void);

#endif
