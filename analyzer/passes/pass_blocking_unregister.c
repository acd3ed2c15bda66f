/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-unregister: cudaFreeHost or cudaHostUnregister waited for the device.  NVIDIA documents
 * no wait; measured, both return once every stream of every device is idle, as any of them may
 * still use the memory.
 */
#include "kinds.h"
#include "pass_waits.h"

static int run(struct db *db, struct findings *findings)
{
	return pass_add_waits(db, findings, RULE_blocking_unregister,
		IS_OF_FAMILY("t", "host_memory"));
}

const struct pass pass_blocking_unregister = { .run = run, .say = pass_say_waited };
