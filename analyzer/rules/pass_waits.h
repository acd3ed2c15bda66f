/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by passes about implicit host waits.
 */
#ifndef CUFENCE_PASS_WAITS_H
#define CUFENCE_PASS_WAITS_H

#include "pass.h"

/* A wait, its call, the call's arguments, and the call that submitted the work it waited for. */
struct waited {
	const struct run_wait *wait;
	const struct run_call *call;
	const struct run_payload *payload;
	uint32_t behind;
};

/* An Async copy to the device that its own line waits for, as in PyTorch's .to(). */
int waited_is_upload(const struct waited *waited);

typedef int waited_filter(const struct pass_input *input, const struct waited *waited);

/*
 * Adds an instance for each avoidable wait that the filter selects, except those blocked by another
 * thread's call.
 */
int pass_add_waits(const struct pass_input *input, struct findings *findings, enum rule rule,
	waited_filter *filter);

/* "cudaFree waited 3.2 ms for kernel 'stencil' on stream 14" */
int pass_say_waited(struct words *words, const struct instance *worst, FILE *out);

#endif
