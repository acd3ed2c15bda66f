/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUPTI features that are enabled: kinds of activity, and driver calls with callbacks.  The
 * collector and the benchmark that measures their cost without a recorder (bench/libcupti_only.c)
 * share this list.
 */
#ifndef CUFENCE_SELECTION_H
#define CUFENCE_SELECTION_H

#include <cupti.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "older_cuda.h"

/*
 * A process that is killed loses what is in buffers that were not delivered: some 150 operations
 * with this size.
 */
#define SELECTION_BUFFER_BYTES (1u << 15)
/*
 * Period of flushes, 0: none.  With one of 100 ms a process that is killed loses the operations of
 * its last 200 ms at most, since a buffer with an operation in progress is delivered by the next
 * flush only.  None by default: JAX programs with graphs end with a segmentation fault or
 * CUDA_ERROR_LAUNCH_FAILED if CUPTI is flushed before their end (39 of 48 runs, in 24 of them
 * before the first graph), or if it gets a buffer again that it has delivered (5 of 5 runs one day,
 * none of 6 another); else, none of 32 did (H200, driver 580.159, CUPTI 13.0; without a recorder,
 * too: doc/MEASUREMENTS.md).
 * CUFENCE_FLUSH_MS sets it.
 */
#define SELECTION_FLUSH_MS 0
#define SELECTION_FLUSH_MOST_MS 3600000

/* Required.  KIND_KERNEL is not used: it serializes kernels. */
static const CUpti_ActivityKind selected_kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
};
#define SELECTED_KINDS (sizeof(selected_kinds) / sizeof(selected_kinds[0]))

/* By CUFENCE_GRAPHS. node: each node of a graph is recorded, else each graph launch as a whole. */
static inline int selected_graph_nodes(const char *graphs)
{
	return graphs && !strcmp(graphs, "node");
}

/* Call ids (+ 1) and traits of the rows by CUPTI's callback id. */
#define SELECTION_CBIDS 1024
static const struct selected_call {
	uint16_t call;
	uint8_t traits;
} selected_calls[SELECTION_CBIDS] = {
#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	[CUPTI_DRIVER_TRACE_CBID_##symbol] = { CALL_##symbol + 1, traits },
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	[CUPTI_DRIVER_TRACE_CBID_##symbol] = { CALL_##symbol + 1, traits }, \
	[CUPTI_DRIVER_TRACE_CBID_##symbol##suffix] = { CALL_##symbol + 1, traits },
#include "calls.def"
};

/* Calls that submit work or block have their callback enabled. */
static inline int selected_callback(unsigned cbid)
{
	return selected_calls[cbid].call &&
		selected_calls[cbid].traits & (TRAIT_SUBMITS | TRAIT_BLOCKS);
}

#endif
