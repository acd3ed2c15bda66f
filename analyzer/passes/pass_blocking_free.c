/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-free: cudaFree or cudaFreeArray waited for the device.  "cudaFree may perform implicit
 * synchronization": it waits for every stream of the device, including non-blocking ones.
 */
#include "pass_waits.h"

static int counts(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return kind_family(waited->call->kind) == FAMILY_free;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_free, counts);
}

const struct pass pass_blocking_free = { .run = run, .say = pass_say_waited };
