/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flows of a Perfetto trace: arrows from one slice to another.  A viewer takes the direction
 * from the times of the two events, so that a flow is left out whose times say otherwise, as
 * clocks of host and device may differ.
 */
#ifndef CUFENCE_PERFETTO_FLOWS_H
#define CUFENCE_PERFETTO_FLOWS_H

#include "html_timeline.h"

/* The beginning of item n of the timeline is event 2 * n, its end event 2 * n + 1. */
struct flow_end {
	int64_t event;
	uint64_t flow; /* from 1 on */
	int terminates;
};

struct flows {
	struct flow_end *end; /* by event */
	size_t count;
	uint64_t last; /* the highest number of a flow */
};

/* 0, or -1 after a message; flows_release() in both cases. */
int flows_read(struct flows *flows, const struct html_timeline *timeline);
void flows_release(struct flows *flows);

/* Adds a flow that begins before all items, not later than item; 0: out of memory. */
uint64_t flows_add_to(struct flows *flows, int64_t item);

/* To be called when all are added. */
void flows_sort(struct flows *flows);

#endif
