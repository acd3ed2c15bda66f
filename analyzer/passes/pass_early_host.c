/* SPDX-License-Identifier: Apache-2.0 */
/*
 * early-host-read, early-host-write: "for transfers from device memory to pinned host memory" an
 * asynchronous copy returns before it is complete, and it uses its pinned memory until then (CUDA
 * runtime API, "API synchronization behavior").  The guard of host memory reports the accesses; the
 * order tells which were too early.
 */
#include "pass_hazards.h"

static int run_read(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_early_host_read, 1, NULL);
}

static int run_write(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_early_host_write, 1, NULL);
}

const struct pass pass_early_host_read = { .run = run_read,
	.say = pass_say_host_access,
	.fix = pass_fix_host_access };

const struct pass pass_early_host_write = { .run = run_write,
	.say = pass_say_host_access,
	.fix = pass_fix_host_access };
