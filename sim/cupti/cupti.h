/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated CUPTI: driver callbacks and activity records of the simulated libcuda.so.1.  It
 * looks for libcuda at its first use, like the real one, and fails with CUPTI_ERROR_UNKNOWN if
 * there is none or another one.
 */
#ifndef CUFENCE_SIM_CUPTI_H
#define CUFENCE_SIM_CUPTI_H

/* NVIDIA's headers say (), which is no prototype in C. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_version.h>
#pragma GCC diagnostic pop

#include "sim.h"

struct simtool_driver {
	uint64_t (*clock)(void);
	void (*install)(const struct sim_tool *tool);
	unsigned (*finalize)(void);
	uint32_t (*context_id)(CUcontext context);
	uint32_t (*stream_id)(CUcontext context, CUstream stream, bool per_thread);
};

/* NULL: no simulated driver. */
const struct simtool_driver *simtool_driver(void);

/* Starts receiving calls and operations; false without a driver. */
bool simtool_attach(void);
void simtool_detach(void);

/* Stores a record for delivery by the worker, if its kind is enabled.  Any thread. */
void simtool_record(const struct sim_record *record);
void simtool_finalize(void);

/* Whether all kinds are disabled, after some were enabled. */
bool simtool_disabled(void);

/*
 * Writes the CUPTI form of a record to memory; returns its size in bytes, 0 if room is too small.
 */
size_t simtool_encode(const struct sim_record *record, void *memory, size_t room);

/* Returns the activity kind of a record, CUPTI_ACTIVITY_KIND_INVALID for none. */
CUpti_ActivityKind simtool_kind(const struct sim_record *record);

/* Returns the size of a record of that kind, 0 if it is never written. */
size_t simtool_size(CUpti_ActivityKind kind);

#endif
