/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-resize: memory that the driver keeps for all kernels was enlarged, which requires an
 * idle device.  Causes: a new limit for stacks, the printf buffer or the heap; a launch that needs
 * more local memory than any before it; the first launch that prints.  Measured; for
 * cudaDeviceSetLimit NVIDIA documents the limits, but no wait.
 */
#include "pass_waits.h"
#include "print.h"

/*
 * A launch that loaded its kernel waits as well: lazy-loading reports that.  Everything up to the
 * first explicit wait of its context counts as warm-up.
 */
static int resizes(const struct pass_input *input, const struct waited *waited)
{
	uint32_t call = waited->wait->call;

	return kind_family(waited->call->kind) == FAMILY_launch &&
		waited->wait->kind == WAIT_INTERNAL &&
		!run_has_overhead(input->run, call, OVERHEAD_LAZY_LOADING) &&
		!run_has_overhead(input->run, call, OVERHEAD_QUEUE_FULL) &&
		is_warmed_up(&input->late, call);
}

static int counts(const struct pass_input *input, const struct waited *waited)
{
	return kind_family(waited->call->kind) == FAMILY_limit || resizes(input, waited);
}

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_resize, counts);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	const char *kernel;

	if (pass_say_waited(words, worst, out))
		return -1;
	kernel = words_kernel_label(words, worst->call);
	if (*kernel)
		print(out,
			": '%s' needs more local memory than any before, or is the first "
			"that prints",
			kernel);
	return 0;
}

const struct pass pass_blocking_resize = { .run = run, .say = say };
