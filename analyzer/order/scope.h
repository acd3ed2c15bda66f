/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work that a call can wait for.  Where NVIDIA documents less, the rules were measured by
 * "cufence probe" on an H200 (CUDA 13, driver 580).  cudaFree and similar calls wait for every
 * stream of the device that owns the memory; so do loading and unloading code and a new limit.
 * Freeing or unregistering host memory waits for all devices.  Synchronous copies wait for the
 * legacy stream and the blocking streams, pageable asynchronous copies for the work that the copy
 * itself is ordered after.  Copies within a device and cudaFree of memory from cudaMallocAsync do
 * not wait.
 *
 * Other threads' launches are blocked meanwhile by cudaFree, cudaFreeHost, unregistering, loading
 * and synchronous copies between host and legacy stream, but not by copies in a per-thread default
 * stream, Async copies and explicit waits.
 */
#ifndef CUFENCE_SCOPE_H
#define CUFENCE_SCOPE_H

#include "walk.h"

enum scope {
	SCOPE_NONE,   /* the call does not wait for operations */
	SCOPE_EVENT,  /* the work that its event captured */
	SCOPE_OWN,    /* its stream, and events that the stream waits for */
	SCOPE_STREAM, /* work that an operation submitted there is ordered after, legacy work too */
	SCOPE_LEGACY, /* the legacy and the blocking streams of the context */
	SCOPE_CONTEXT,
	SCOPE_DEVICE,
	SCOPE_PROCESS,
};

/* Returns the scope by kind, memory and stream of the call. */
enum scope scope_of(const struct walk_call *call);

/* Returns for a query the scope of a wait in its place, for other calls scope_of(). */
enum scope scope_requested(const struct walk_call *call);

/*
 * Returns the scope of waits that the driver may add to other calls: a launch that needs more
 * memory for stacks or printf, and calls that load code, drain the device first.
 */
enum scope scope_within(const struct walk_call *call);

/* Does a call that waits drain the whole device before its own work? */
int scope_empties_device(const struct walk_call *call);

/*
 * Does it wait for the device first, so that the rest of its time comes afterwards?  Calls that
 * load code do not: they may compile before.
 */
int scope_waits_first(const struct walk_call *call);

/*
 * Returns the device that a call waits for: the owner of the memory it frees, else the current one;
 * -1: unknown.
 */
int scope_device(const struct walk_call *call);

/* Is waiting the purpose of the call? */
int scope_is_explicit(const struct walk_call *call);

/* Are other threads' launches blocked until it returns?  Not if it waits for one stream only. */
int scope_holds_others(const struct walk_call *call);

/* Did it wait?  Calls that drain the device count even if it was idle. */
int scope_waited(const struct walk_call *call);

/*
 * Does the call return only after its own operation has completed?  Otherwise it has copied the
 * source.
 */
int scope_includes_own(const struct walk_call *call);

#endif
