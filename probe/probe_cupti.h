/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the device ran a kernel or a copy, from CUPTI, if there is one: it is opened at run time.
 * For processes that use a single stream at a time, so that records are in the order of calls.
 */
#ifndef CUFENCE_PROBE_CUPTI_H
#define CUFENCE_PROBE_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct probe_interval {
	uint64_t start, end; /* as probe_wall() */
};

/* Before the first CUDA call.  copies: record them too.  NULL, or why it is not possible. */
const char *probe_cupti_start(bool copies);

/* CUPTI's own clock, 0 if it fails. */
uint64_t probe_cupti_now(void);

/*
 * Waits for all records.  The kernels or the copies since the last collection, at most room of
 * them, in order of their start: the number.
 */
void probe_cupti_flush(void);
size_t probe_cupti_collect(bool copies, struct probe_interval *intervals, size_t room);

#endif
