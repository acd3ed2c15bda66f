/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programmatic dependent launch: kernels of one stream of which each may begin once all blocks
 * of the one before have called griddepcontrol.launch_dependents, or have ended.
 * griddepcontrol.wait waits "until all prerequisite grids in flight have completed" (PTX ISA),
 * which is the kernel before; what that did not wait for itself may still run.
 */
#ifndef CUFENCE_DEPENDENTS_H
#define CUFENCE_DEPENDENTS_H

#include "idmap.h"
#include "run_columns.h"
#include "walk.h"

/* Kernels in a row; those before them count as complete. */
#define DEPENDENTS_MOST 16

/* Kernels in a row, the first of which waits for all that is before it; sets are bits by index. */
struct dependent_chain {
	struct dependent {
		int64_t call;
		uint32_t at_start, after_wait, at_end; /* those that are complete by then */
		int triggers;
	} link[DEPENDENTS_MOST];
	unsigned count;
};

struct dependents {
	struct idmap streams; /* struct dependent_chain */
};

/* The call submits an operation; 0, or -1 after a message. */
int dependents_see(struct dependents *dependents, const struct run *run,
	const struct walk_call *call);

/*
 * 1 if nothing makes an access of the kernel seen last in that stream wait for the end of an
 * earlier one; early: it is made before any griddepcontrol.wait.
 */
int dependents_overlap(const struct dependents *dependents, int64_t stream, int64_t earlier,
	int64_t call, int early);

/* 1 if the kernel that a call launches, or adds to a graph, surely lets others begin early. */
int dependents_triggers(const struct run *run, int64_t call);

void dependents_release(struct dependents *dependents);

#endif
