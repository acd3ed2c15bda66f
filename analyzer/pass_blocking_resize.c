/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-resize: memory that the driver keeps for all kernels was made larger, which needs an
 * idle device: a new limit for stacks, the printf buffer or the heap, and a launch that needs more
 * local memory than any before it or is the first that prints (measured; of cudaDeviceSetLimit
 * NVIDIA says what the limits are for, not that it waits).
 */
#include "pass_waits.h"

static int run(struct db *db, struct findings *findings)
{
	return pass_add_waits(db, findings, RULE_blocking_resize,
		"t.kind = 'context_limit' OR (t.kind = 'launch' AND w.kind = 'internal')");
}

const struct pass pass_blocking_resize = { .run = run, .say = pass_say_waited };
