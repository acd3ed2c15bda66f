/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool-trim: a stream-ordered pool gave memory back in a wait, and a cudaMallocAsync mapped it
 * again (waits.h).  The wait's result may be needed; only the time after the device had
 * finished is counted, and the time of the cudaMallocAsync beyond that of calls that map nothing.
 * Memory that is not allocated again is no finding.
 */
#include "pass.h"

static int run(const struct pass_input *input, struct findings *findings)
{
	const struct run_evidence *evidence = &input->run->evidence;

	for (size_t i = 0; i < evidence->trim_count; i++) {
		const struct run_trim *trim = &evidence->trim[i];
		const struct run_call *call = run_call(input->run, trim->call);
		struct instance instance = { .rule = RULE_pool_trim,
			.process = run_payload(input->run, call)->process,
			.call = trim->call,
			.other_call = trim->wait[0],
			.cost = trim->time,
			.saving = trim->time,
			.change = CHANGE_TRIM };

		for (size_t k = 0; k < RUN_TRIM_WAITS; k++)
			instance.also[k] = trim->wait[k];
		if (trim->time && findings_add(findings, &instance))
			return -1;
	}
	return 0;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" mapped memory again that its pool had given back", out);
	if (worst->other_call) {
		fputs(" in ", out);
		if (words_call(words, worst->other_call, out))
			return -1;
	}
	fputs(", which took ", out);
	words_time(worst->cost, out);
	fputs(worst->other_call ? " in both" : "", out);
	return 0;
}

const struct pass pass_pool_trim = { .run = run, .say = say };
