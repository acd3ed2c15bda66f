/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host-buffer-reuse: an asynchronous copy uses its pinned memory until it is complete, and copies
 * in other streams are not ordered with it (CUDA runtime API, "API synchronization behavior").
 */
#include "pass_hazards.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_host_buffer_reuse, 1, NULL);
}

const struct pass pass_host_buffer_reuse = { .run = run,
	.say = pass_say_hazard,
	.fix = pass_fix_hazard };
