/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of running processes ("cufence run --sample"): a window in each period, asked for through
 * the control page.  The process ends it, so that it is no longer if this one does not run.
 *
 * After the first window a child looks for the head of a loop in the trace and names it in the
 * page: from then on windows are whole turns (preload/control/turns.h).  It looks again after
 * twice as many windows each, while there is none or when the program has left that loop.
 */
#ifndef CUFENCE_SAMPLER_H
#define CUFENCE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sampled_process;

struct sampler {
	const char *folder; /* of the traces */
	/* The call site with which turns begin in the process with that trace, 0: none; or NULL */
	uint32_t (*find_head)(char *trace);
	uint64_t period; /* between the beginnings of two windows, at least, ns; 0: no samples */
	struct sampled_process *process;
	size_t count;
	pid_t analyst; /* a child that looks for a head; 0: none */
};

/* The period of text, "" for the default: 1, or 0 if it is none. */
int sampler_read_period(const char *text, uint64_t *ns);

/* Call some ten times a second.  Takes as long as two windows at most. */
void sampler_look(struct sampler *sampler);

void sampler_release(struct sampler *sampler);

#endif
