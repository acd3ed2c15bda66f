/* SPDX-License-Identifier: Apache-2.0 */
#include "ring_process.h"

void ring_process_look(struct ring_process *process, int stop)
{
	if (!stop && (process->ring.ns || process->ring.bytes))
		ring_look(&process->ring);
}

void ring_process_end(struct ring_process *process)
{
	ring_release(&process->ring);
	process->ring = (struct ring){ 0 };
}
