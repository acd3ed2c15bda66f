/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-free: cudaFree or cudaFreeArray waited for the device.  "cudaFree may perform implicit
 * synchronization":
 * it waits for every stream of the device, non-blocking ones too.
 */
#include "kinds.h"
#include "pass_waits.h"

static int run(struct db *db, struct findings *findings)
{
	return pass_add_waits(db, findings, RULE_blocking_free, IS_OF_FAMILY("t", "free"));
}

const struct pass pass_blocking_free = { .run = run, .say = pass_say_waited };
