/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that is cut while a program runs, by whoever runs it. */
#ifndef CUFENCE_RING_PROCESS_H
#define CUFENCE_RING_PROCESS_H

#include "ring.h"

struct ring_process {
	struct ring ring;
};

/* Call some ten times a second: cuts the ring unless stop is set. */
void ring_process_look(struct ring_process *process, int stop);

/* Nothing is cut after that.  May be called again. */
void ring_process_end(struct ring_process *process);

#endif
