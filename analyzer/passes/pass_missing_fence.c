/* SPDX-License-Identifier: Apache-2.0 */
/*
 * missing-fence: "operations in different streams may be interleaved with respect to each other or
 * run concurrently" (CUDA programming guide, "Streams"); only events, waits of the host and the
 * default stream order them.
 */
#include "pass_hazards.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_hazards(input->db, findings, RULE_missing_fence, 1, NULL);
}

const struct pass pass_missing_fence = { .run = run,
	.say = pass_say_hazard,
	.fix = pass_fix_hazard };
