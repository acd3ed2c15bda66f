/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of CUPTI, and no more: the kinds of activity and the driver calls whose callbacks
 * are enabled.  One list for the collector and for the benchmark that measures what the same
 * costs without a recorder (bench/libcupti_only.c), so that the two cannot drift apart.
 */
#ifndef CUFENCE_SELECTION_H
#define CUFENCE_SELECTION_H

#include <cupti.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"

#define SELECTION_BUFFER_BYTES (1u << 20)
#define SELECTION_FLUSH_MS 1000

/* Required.  Never KIND_KERNEL: it serializes kernels. */
static const CUpti_ActivityKind selected_kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
	CUPTI_ACTIVITY_KIND_MEMSET,
};
#define SELECTED_KINDS (sizeof(selected_kinds) / sizeof(selected_kinds[0]))

/* By CUFENCE_GRAPHS.  node: each node of a graph, else each launch of one as a whole. */
static inline int selected_graph_nodes(const char *graphs)
{
	return graphs && !strcmp(graphs, "node");
}

/* The rows' call ids (+ 1) and traits by CUPTI's number for them. */
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

/* Of those, the ones that submit work or block have their callback enabled. */
static inline int selected_callback(unsigned cbid)
{
	return selected_calls[cbid].call &&
		selected_calls[cbid].traits & (TRAIT_SUBMITS | TRAIT_BLOCKS);
}

#endif
