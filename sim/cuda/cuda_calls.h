/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver calls do: one do_<symbol>() per row of calls.def and cuda_more.def.  Those that
 * nobody defines (weak, so NULL) are what the simulator lacks: they fail as not supported and name
 * themselves once.  The entry points (cuda_entry.c) call them with the lock held, after cuInit was
 * seen to; a call that waits gives the lock up meanwhile.  thread_self()->per_thread tells which
 * variant was called.
 */
#ifndef CUFENCE_SIM_CALLS_H
#define CUFENCE_SIM_CALLS_H

#include <cuda.h>

#include "calls.h"

#define SIM_DRIVER_VERSION 13000
#define SIM_MEMORY_BYTES (141ull << 30)

#define WEAK __attribute__((weak))
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

/* Name a call the simulator lacks, once, and give the error to return. */
CUresult sim_unsupported(const char *what);

#endif
