/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call can wait for.  The rules are those measured by "cufence probe" on an H200 (CUDA 13,
 * driver 580) where NVIDIA documents less: cudaFree and its like wait for every stream of the
 * device that owns the memory, so do loading and unloading code and a new limit; freeing or
 * unregistering host memory waits for all devices, synchronous copies for the legacy stream and the
 * blocking streams, pageable asynchronous copies for what the copy itself is ordered after; copies
 * within a device and cudaFree of memory from cudaMallocAsync do not wait.  Meanwhile other
 * threads' launches are blocked by cudaFree, cudaFreeHost, unregistering, loading and synchronous
 * copies between host and legacy stream, not by those in a per-thread one, Async copies and
 * explicit waits.
 */
#ifndef CUFENCE_SCOPE_H
#define CUFENCE_SCOPE_H

#include "walk.h"

enum scope {
	SCOPE_NONE,   /* the call does not wait for operations */
	SCOPE_EVENT,  /* what its event stands for */
	SCOPE_OWN,    /* its stream, and the stream's waits for events */
	SCOPE_STREAM, /* what an operation submitted there comes after: legacy work too */
	SCOPE_LEGACY, /* the legacy and the blocking streams of the context */
	SCOPE_CONTEXT,
	SCOPE_DEVICE,
	SCOPE_PROCESS,
};

/* By kind, memory and stream of the call. */
enum scope scope_of(const struct walk_call *call);

/* Of a query what a wait in its place would wait for, of others scope_of(). */
enum scope scope_asked(const struct walk_call *call);

/*
 * What the driver may wait for within a call that is no wait: a launch that needs more memory for
 * stacks or printf than there is, and what loads code, empty the device first.
 */
enum scope scope_within(const struct walk_call *call);

/* A call that waits needs the whole device idle, and does its own work then. */
int scope_empties_device(const struct walk_call *call);

/*
 * It waits for the device before all else: what it takes beyond that comes afterwards.  Loading
 * code is no such call, it may be compiled before.
 */
int scope_waits_first(const struct walk_call *call);

/* Of a call that waits for a device, which: that which owns the memory it frees, else the current
 * one; -1: not known. */
int scope_device(const struct walk_call *call);

/* The call exists in order to wait. */
int scope_is_explicit(const struct walk_call *call);

/* Other threads' launches wait until it returns: not where it waits for one stream. */
int scope_holds_others(const struct walk_call *call);

/* It waited, or would have had nobody else before: what needs the device idle. */
int scope_waited(const struct walk_call *call);

/* The call returns only after its own operation; otherwise it has copied the source away. */
int scope_includes_own(const struct walk_call *call);

#endif
