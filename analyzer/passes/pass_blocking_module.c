/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-module: loading or unloading a module waited for the device.  "Loading a kernel might
 * require context synchronization" (CUDA programming guide, "Lazy loading"); measured, a module is
 * loaded and unloaded once every stream of the device is idle.
 */
#include "kinds.h"
#include "pass_waits.h"

static int run(struct db *db, struct findings *findings)
{
	return pass_add_waits(db, findings, RULE_blocking_module, IS_OF_FAMILY("t", "module"));
}

const struct pass pass_blocking_module = { .run = run, .say = pass_say_waited };
