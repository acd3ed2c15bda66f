/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implementations of driver calls: one do_<symbol>() per row of calls.def and cuda_more.def.
 * Undefined ones (weak, so NULL) are not supported: they fail with that error and report their name
 * once.  The entry points (entry.c) check cuInit and call them with the lock held; a call that
 * waits releases the lock meanwhile. thread_self()->per_thread is set for the per-thread variant.
 */
#ifndef CUFENCE_SIM_CALLS_H
#define CUFENCE_SIM_CALLS_H

#include <cuda.h>

#include "calls.h"
#include "older_cuda.h"

#define SIM_DRIVER_VERSION 13000
#define SIM_MEMORY_BYTES (141ull << 30)

#define WEAK __attribute__((weak))
/* Not in older headers. */
#if CUDA_VERSION < 13020
typedef struct {
	CUgraphNode hNode;
	CUgraphNodeParams *nodeParams;
} cuGraphNodeGetParams_params;
#endif

#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	WEAK CUresult do_##symbol params;
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	WEAK CUresult do_##symbol params;
#include "calls.def"

#define MORE(symbol, base, since, params, args) WEAK CUresult do_##symbol params;
#define MORE_PT(symbol, base, since, suffix, pt_since, params, args) \
	WEAK CUresult do_##symbol params;
#include "cuda_more.def"
#undef WEAK

/* Reports an unsupported call, once, and returns its error. */
CUresult sim_unsupported(const char *what);

#endif
