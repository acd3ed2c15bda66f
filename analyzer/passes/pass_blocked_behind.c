/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked-behind: a call was blocked while a call of another thread was waiting.  Not documented;
 * measured: launches and allocations of all threads are blocked while one thread is in cudaFree.
 */
#include <stdio.h>

#include "pass.h"

/* The other call is the one to fix. */
static int run(const struct pass_input *input, struct findings *findings)
{
	const struct run_evidence *evidence = &input->run->evidence;
	int rc = 0;

	for (size_t i = 1; i < evidence->wait_count && !rc; i++) {
		const struct run_wait *wait = &evidence->wait[i];
		const struct run_call *call = run_call(input->run, wait->call);
		struct instance instance = { .rule = RULE_blocked_behind,
			.call = wait->call,
			.other_call = wait->behind,
			.cost = wait->waited,
			.saving = wait->avoidable,
			.also = { wait->behind },
			.change = CHANGE_WAIT };

		if (wait->kind != WAIT_BEHIND || !call)
			continue;
		instance.process = run_payload(input->run, call)->process;
		rc = findings_add(findings, &instance);
	}
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" because another thread was in ", out);
	return words_call(words, worst->other_call, out);
}

const struct pass pass_blocked_behind = { .run = run, .say = say, .changes_other = 1 };
