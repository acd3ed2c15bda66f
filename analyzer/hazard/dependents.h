/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programmatic dependent launch: a chain of kernels in one stream, each of which may begin once all
 * blocks of the previous one have called griddepcontrol.launch_dependents or have ended.
 * griddepcontrol.wait waits "until all prerequisite grids in flight have completed" (PTX ISA),
 * which means the previous kernel.  Kernels that the previous one did not wait for may still run.
 */
#ifndef CUFENCE_DEPENDENTS_H
#define CUFENCE_DEPENDENTS_H

#include "id_map.h"
#include "run_columns.h"
#include "walk.h"

/* Kernels of a chain that are kept; older ones count as complete, or are counted as forgotten. */
#define DEPENDENTS_MOST 16

/* A chain of kernels.  The first one waits for all previous work.  Sets are bits by index. */
struct dependent_chain {
	struct dependent {
		int64_t call;
		uint32_t at_start, after_wait, at_end; /* kernels that are complete by then */
		int triggers;
	} link[DEPENDENTS_MOST];
	unsigned count;
};

struct dependents {
	struct id_map streams; /* struct dependent_chain */
};

/*
 * Adds a call that submits an operation.  Returns the number of kernels removed that may still run
 * then, or -1 after a message.
 */
int dependents_process_call(struct dependents *dependents, const struct run *run,
	const struct walk_call *call);

/*
 * Returns 1 if an access of the last kernel added in that stream may run before the end of an
 * earlier kernel.  early: the access comes before any griddepcontrol.wait.
 */
int dependents_overlap(const struct dependents *dependents, int64_t stream, int64_t earlier,
	int64_t call, int early);

/*
 * Returns 1 if the kernel that a call launches, or adds to a graph, surely triggers the launch of
 * dependents.
 */
int dependents_triggers(const struct run *run, int64_t call);

/* Returns 1 if such a kernel surely does not wait for the one before it. */
int dependents_ignores(const struct run *run, int64_t call);

void dependents_release(struct dependents *dependents);

#endif
