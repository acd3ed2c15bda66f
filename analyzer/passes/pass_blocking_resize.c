/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-resize: memory that the driver keeps for all kernels was made larger, which needs an
 * idle device: a new limit for stacks, the printf buffer or the heap, and a launch that needs more
 * local memory than any before it or is the first that prints (measured; of cudaDeviceSetLimit
 * NVIDIA says what the limits are for, not that it waits).
 */
#include "pass_waits.h"
#include "print.h"

/*
 * A launch that loaded its kernel waits as well: that is lazy loading.  Up to the first explicit
 * wait of its context a program warms up, on purpose or not.
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
	kernel = words_kernel(words, worst->call);
	if (*kernel)
		print(out,
			": '%s' needs more local memory than any before, or is the first "
			"that prints",
			kernel);
	return 0;
}

const struct pass pass_blocking_resize = { .run = run, .say = say };
