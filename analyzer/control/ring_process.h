/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring cut by a process of its own, so that it stays bounded if the one that began it is killed:
 * it goes on until nothing in the folder is being traced any more.
 */
#ifndef CUFENCE_RING_PROCESS_H
#define CUFENCE_RING_PROCESS_H

#include <sys/types.h>

#include "ring.h"

struct ring_process {
	struct ring ring;
	pid_t child; /* 0: none yet */
	int is_stopped;
};

/* Call some ten times a second: starts the process, and stops it for as long as stop is set. */
void ring_process_look(struct ring_process *process, int stop);

/* Ends the process once it has finished a cut in progress; nothing is cut after that. */
void ring_process_end(struct ring_process *process);

#endif
