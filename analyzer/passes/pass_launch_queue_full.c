/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-queue-full: a submission waited for room in the launch queue of its stream, and delayed
 * what other streams or the thread could have done meanwhile.  Kernel launches are asynchronous
 * until the queue is full.  Its size is not documented, only that any call may block for lack of
 * internal resources (CUDA runtime API, "API synchronization behavior").
 *
 * A thread that runs so far ahead of the device and then waits for it loses nothing: only a replay
 * tells, in which other streams get their work first.
 */
#include "pass.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	const struct run *run = input->run;
	int rc = 0;

	for (size_t i = 1; i < run->evidence.wait_count && !rc; i++) {
		const struct run_wait *wait = &run->evidence.wait[i];
		const struct run_call *call = run_call(run, wait->call);
		const struct run_work *behind = run_work(run, wait->op);

		if (wait->kind == WAIT_QUEUE && call && behind && behind->call)
			rc = findings_add(findings,
				&(struct instance){ .rule = RULE_launch_queue_full,
					.process = run_payload(run, call)->process,
					.call = wait->call,
					.other_call = behind->call,
					.cost = wait->waited,
					.only_replay = 1,
					.change = CHANGE_WAIT | CHANGE_AHEAD });
	}
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	fputs("submissions like ", out);
	if (words_operation(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" for room in the launch queue, behind ", out);
	return words_operation(words, worst->other_call, out);
}

const struct pass pass_launch_queue_full = { .run = run, .say = say };
