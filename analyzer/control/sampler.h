/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of running processes ("cufence run --sample"): a window in each period, asked for through
 * the control page.  The process ends it, so that it is no longer if this one does not run.
 */
#ifndef CUFENCE_SAMPLER_H
#define CUFENCE_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

struct sampled_process;

struct sampler {
	const char *folder; /* of the traces */
	uint64_t period;    /* between the beginnings of two windows, at least, ns; 0: no samples */
	struct sampled_process *process;
	size_t count;
};

/* The period of text, "" for the default: 1, or 0 if it is none. */
int sampler_read_period(const char *text, uint64_t *ns);

/* Call some ten times a second.  Takes as long as a window at most. */
void sampler_look(struct sampler *sampler);

void sampler_release(struct sampler *sampler);

#endif
