/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early-host-write: an asynchronous copy uses its pinned memory until it is complete (CUDA runtime
 * API, "API synchronization behavior").  Like early-host-read, for writes.
 */
#include "pass_hazards.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_early_host_write, 1, NULL);
}

const struct pass pass_early_host_write = { .run = run,
	.say = pass_say_host_access,
	.fix = pass_fix_host_access };
