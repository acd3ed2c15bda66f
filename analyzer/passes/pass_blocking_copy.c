/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocking-copy: a synchronous copy or memset made the host wait for other work, or one line of the
 * program contains both an Async copy to the host and the wait for it, as in PyTorch's .item().
 * "For transfers from pageable host memory to device memory, a stream sync is performed before the
 * copy is initiated", "memset functions are asynchronous [...] except when the target is pinned
 * host memory" (CUDA runtime API, "API synchronization behavior").  Measured: the stream meant is
 * the legacy one, and with it all blocking streams.  The time of the copy's own transfer is no
 * finding.
 */
#include "pass_waits.h"

static int is_copy_and_wait(const struct waited *waited)
{
	return waited->wait->partner && !waited_is_upload(waited) &&
		(call_is_async_copy(waited->call->kind) || waited->wait->kind == WAIT_EXPLICIT);
}

static int counts(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return (call_is_sync(waited->call->kind) || is_copy_and_wait(waited)) &&
		waited->behind != waited->wait->call && waited->behind != waited->wait->partner;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_blocking_copy, counts);
}

/* What a script's line reads may be needed; only its author knows. */
static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	(void)words;
	if (worst->reads)
		fputs("if the value is not needed here, do not read it: keep it on the device, or "
		      "read it a turn later, when it is complete",
			out);
	return 0;
}

const struct pass pass_blocking_copy = { .run = run, .say = pass_say_waited, .fix = fix };
