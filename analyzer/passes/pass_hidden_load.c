/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden-load: loading code kept streams from overlapping, although no call waited: the next kernel
 * of every stream, including non-blocking ones, starts when all running work has ended (measured on
 * an H200; "loading a kernel may require context synchronization", CUDA programming guide, "Lazy
 * Loading", "Concurrent execution").
 *
 * A query of a kernel's attributes loads it, too.  The first one of a module may wait for the
 * device itself: that is a wait of the host.
 *
 * Every kernel is loaded once.  A line that launches is reported only if it loads in many of its
 * rounds, as for lazy-loading.
 */
#include <stdio.h>

#include "pass_waits.h"
#include "print.h"
#include "concurrency.h"

/*
 * The hold is due to code that was loaded late; for a launch, only at a place that loads in many of
 * its rounds.
 */
static int is_hidden_load(const struct pass_input *input, const struct run_hold *hold)
{
	const struct run *run = input->run;
	const struct run_call *via = run_call(run, hold->via);
	const struct run_work *op = run_work(run, hold->op);

	return hold->reason == HOLD_LOAD && via && op && run_work(run, hold->behind) &&
		run_where(run, op)->kind == WORK_KERNEL && loads_late(&input->late, hold->via) &&
		(kind_family(via->kind) != FAMILY_launch ||
			is_loading_place(&input->late, hold->via));
}

static int is_query_that_loads(const struct pass_input *input, const struct waited *waited)
{
	return kind_has(waited->call->kind, K_LOADS_CODE) &&
		!kind_has(waited->call->kind, K_WORK) &&
		loads_late(&input->late, waited->wait->call);
}

static int can_overlap(const struct run *run, const struct run_hold *hold)
{
	struct shape held = shape_of(run, hold->op), behind = shape_of(run, hold->behind);

	return shape_can_overlap(&held, &behind);
}

static int add_holds(const struct pass_input *input, struct findings *findings)
{
	const struct run_evidence *evidence = &input->run->evidence;
	int rc = 0;

	for (size_t i = 0; i < evidence->hold_count && !rc; i++) {
		const struct run_hold *hold = &evidence->hold[i];
		struct instance instance = {
			.rule = RULE_hidden_load,
			.call = hold->via,
			.cost = hold->held,
			.saving = FINDING_DELAY,
			.change = CHANGE_ORDER,
		};

		if (!is_hidden_load(input, hold) || !can_overlap(input->run, hold))
			continue;
		instance.process = run_where(input->run, run_work(input->run, hold->op))->process;
		instance.other_call = run_work(input->run, hold->behind)->call;
		rc = findings_add(findings, &instance);
	}
	return rc;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	return add_holds(input, findings) ||
			pass_add_waits(input, findings, RULE_hidden_load, is_query_that_loads)
		? -1
		: 0;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	int delay = worst->saving == FINDING_DELAY;
	const char *kernel;

	if (words_call(words, worst->call, out))
		return -1;
	kernel = words_kernel_label(words, worst->call);
	if (*kernel)
		print(out, " loaded the code of kernel '%s'", kernel);
	else
		fputs(" loaded code", out);
	fputs(delay ? ", which delayed what came next by " : ", and waited ", out);
	words_time(worst->cost, out);
	fputs(delay ? ", until the end of " : " for ", out);
	return words_operation(words, worst->other_call, out);
}

const struct pass pass_hidden_load = { .run = run, .say = say };
