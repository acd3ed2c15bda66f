/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the last part of the traces of running processes ("cufence run --ring"), by time or size
 * (struct trace_ring).  The recorder goes on meanwhile, and is not asked; without this process its
 * trace only grows.
 */
#ifndef CUFENCE_RING_H
#define CUFENCE_RING_H

#include <stddef.h>
#include <stdint.h>

struct ringed_process;

struct ring {
	const char *folder; /* of the traces */
	uint64_t ns, bytes; /* to keep; both 0: everything */
	uint64_t next;      /* look, CLOCK_MONOTONIC ns */
	struct ringed_process *process;
	size_t count;
};

/* Reads "30s" or "64M" (or MiB): 1, or 0 if it is neither. */
int ring_read_size(const char *text, struct ring *ring);

/* Call some ten times a second. */
void ring_look(struct ring *ring);

void ring_release(struct ring *ring);

#endif
