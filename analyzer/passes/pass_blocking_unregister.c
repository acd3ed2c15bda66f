/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-unregister: cudaFreeHost or cudaHostUnregister waited for the device.  NVIDIA documents
 * no wait.  Measured: both return when every stream of every device is idle, since any of them may
 * still use the memory.
 */
#include "pass_waits.h"

static int counts(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return kind_family(waited->call->kind) == FAMILY_host_memory;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_unregister, counts);
}

const struct pass pass_blocking_unregister = { .run = run, .say = pass_say_waited };
