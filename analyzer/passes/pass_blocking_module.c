/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-module: loading or unloading a module waited for the device.  "Loading a kernel might
 * require context synchronization" (CUDA programming guide, "Lazy loading").  Measured: a module is
 * loaded and unloaded only when every stream of the device is idle.
 */
#include "pass_waits.h"

static int counts(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return kind_family(waited->call->kind) == FAMILY_module;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_module, counts);
}

const struct pass pass_blocking_module = { .run = run, .say = pass_say_waited };
