/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pageable-async-copy: an Async copy waited because its host memory is pageable.  "For transfers
 * from device memory to pageable host memory, the function will return only once the copy has
 * completed" (CUDA runtime API, "API synchronization behavior").  If the thread's next wait follows
 * at once, the copy has cost nothing: wait.avoidable is 0 and there is no instance.  A copy to the
 * host that the same line waits for reads a result: blocking-copy reports it.  One to the device,
 * as in PyTorch's .to(), is shorter from pinned memory, and nothing has to wait for it.  Where the
 * copy is the program's only wait for a result, the fix is pinned memory and a wait behind the copy
 * (run_wait.alone): what is left to save is what the staging costs.
 */
#include "pass_waits.h"

static int counts(const struct pass_input *input, const struct waited *waited)
{
	(void)input;
	return call_is_async_copy(waited->call->kind) &&
		(!waited->wait->partner || waited_is_upload(waited)) &&
		(waited->payload->src == MEMORY_PAGEABLE ||
			waited->payload->dst == MEMORY_PAGEABLE);
}

static int run(const struct pass_input *input, struct findings *findings)
{
	return pass_add_waits(input, findings, RULE_pageable_async_copy, counts);
}

/* Without its own wait the copy needs another one, where the program has none. */
static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	(void)words;
	if (worst->still_needs)
		fputs("use pinned memory (cudaMallocHost or cudaHostRegister), and add the wait "
		      "that the copy is now, such as cudaStreamSynchronize, before the host "
		      "uses the data: its thread has no other",
			out);
	return 0;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (pass_say_waited(words, worst, out))
		return -1;
	if (worst->joined)
		fputs("; from the legacy default stream, where it keeps other streams' work "
		      "waiting, it has to be moved as well",
			out);
	return 0;
}

const struct pass pass_pageable_async_copy = { .run = run, .say = say, .fix = fix };
