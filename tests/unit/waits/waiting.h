/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a miniature that wait, and what they wait for. */
#ifndef CUFENCE_TESTS_WAITING_H
#define CUFENCE_TESTS_WAITING_H

#include "miniature.h"

static inline int64_t launch(struct mini *m, double at, int64_t stream, double start, double end)
{
	return MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = at, .stream = stream,
		.runs = { start, end });
}

static inline int64_t free_memory(struct mini *m, double at, double until)
{
	return MINI_CALL(m, .type = CALL_cuMemFree_v2, .at = at, .until = until, .ptr = 0x10000);
}

static inline int64_t sync_stream(struct mini *m, double at, double until, int64_t stream)
{
	return MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = at, .until = until,
		.stream = stream);
}

/* An asynchronous copy to the host with its transfer. */
static inline int64_t copy_back(struct mini *m, double at, double until, int64_t stream,
	const char *memory, double start, double end)
{
	return MINI_CALL(m, .type = CALL_cuMemcpyDtoHAsync_v2, .at = at, .until = until,
		.stream = stream, .bytes = 1 << 20, .direction = 1 + COPY_D2H, .dst = memory,
		.src = "device", .runs = { start, end });
}

#endif
