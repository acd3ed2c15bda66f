/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_waits.h"

int waited_is_upload(const struct waited *waited)
{
	return waited->wait->partner && call_is_async_copy(waited->call->kind) &&
		waited->payload->direction == COPY_H2D;
}

int pass_add_waits(const struct pass_input *input, struct findings *findings, enum rule rule,
	waited_filter *filter)
{
	const struct run *run = input->run;
	int rc = 0;

	for (size_t i = 1; i < run->evidence.wait_count && !rc; i++) {
		const struct run_wait *wait = &run->evidence.wait[i];
		const struct run_work *work = run_work(run, wait->op);
		struct waited waited = { .wait = wait, .call = run_call(run, wait->call) };
		struct instance instance;
		const struct run_loop *loop;
		int is_async, is_upload, fetches;

		if (wait->kind == WAIT_BEHIND || wait->kind == WAIT_QUEUE || !work || !waited.call)
			continue;
		waited.payload = run_payload(run, waited.call);
		waited.behind = work->call;
		if (!filter(input, &waited))
			continue;
		loop = run_loop_of(&run->evidence, waited.payload->process);
		is_async = call_is_async_copy(waited.call->kind);
		is_upload = waited_is_upload(&waited);
		fetches =
			call_is_sync_copy(waited.call->kind) && memory_is_host(waited.payload->dst);
		instance = (struct instance){
			.rule = rule,
			.process = waited.payload->process,
			.call = wait->call,
			.other_call = waited.behind,
			.cost = wait->waited,
			.saving = wait->avoidable,
			.shorter = wait->shorter,
			.also = { wait->partner },
			.change = CHANGE_WAIT,
			.still_needs = wait->alone == LONE_YES ? wait->call : 0,
			.reads = wait->partner && !is_upload &&
				(wait->kind == WAIT_EXPLICIT || is_async),
		};
		/*
		 * In pinned memory a copy in the legacy stream delays the next work, now on the
		 * device.
		 */
		instance.only_replay = instance.reads || instance.still_needs ||
			(is_async &&
				run_stream(run, waited.call->stream)->kind == STREAM_KIND_LEGACY);
		/* The host still waits for the copy: a replay tells how much sooner it ends. */
		if (instance.still_needs)
			instance.saving = wait->shorter;
		/* Set-up copies from other memory each time: pinning makes it no quicker. */
		if (is_upload)
			instance.least = loop ? (int64_t)loop->turns / 2 : 0;
		if (instance.saving > 0 || instance.only_replay)
			rc = findings_add(findings, &instance);
		/* A copy of a result waits on purpose, and so does an explicit wait. */
		if (rc || wait->kind != WAIT_IMPLICIT || wait->partner || fetches ||
			instance.still_needs)
			continue;
		instance.masked = 1;
		rc = findings_add(findings, &instance);
	}
	return rc;
}

int pass_say_waited(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" for ", out);
	if (worst->call == worst->other_call) {
		fputs("its own transfer", out);
		return 0;
	}
	return words_operation(words, worst->other_call, out);
}

/* --- explicit waits --- */

void wait_tally_add(struct wait_tally *tally, const struct run *run, const struct map *clocks,
	const struct host_wait *wait)
{
	int others = run_call(run, wait->behind)->thread != run_call(run, wait->call)->thread;
	uint32_t outermost = wait->call;

	/* Clocks are listed by the waits as the program called them. */
	while (run_link(run, outermost)->parent)
		outermost = run_link(run, outermost)->parent;
	tally->waits++;
	tally->others += others;
	tally->watches += others && wait->watches;
	tally->apart += wait->apart;
	tally->again += (wait->again & AGAIN_OTHER) != 0;
	tally->unknown += wait->maybe;
	tally->keeps += wait->keeps;
	tally->uploads += wait->uploads;
	tally->timed += wait->timed;
	tally->unproven += wait->unproven;
	tally->clocks += map_get(clocks, outermost, 0) != 0;
}

/* No error needs a wait: a later call returns it. */
enum confidence wait_verdict(const struct wait_tally *tally, const struct needs_process *process)
{
	int64_t most = (tally->waits + 1) / 2;

	/* Others may use the memory now, in ways that no call shows. */
	if (process->others == OTHERS_MAY)
		return CONFIDENCE_POSSIBLE;
	/* Another thread may go on, or submit work, once this one knows that work is complete. */
	if (tally->watches >= most || tally->apart)
		return CONFIDENCE_POSSIBLE;
	/* The host may have read a result before it handed it over. */
	if (tally->again)
		return CONFIDENCE_POSSIBLE;
	/* The host may read what kernels of which not all is known have written. */
	if (tally->unknown)
		return CONFIDENCE_POSSIBLE;
	/* The library waits for a copy whose source has been read. */
	if (tally->below_copy)
		return CONFIDENCE_LIKELY;
	/* The host may free or change the source: that it has been read is not documented. */
	if (tally->uploads >= most)
		return CONFIDENCE_POSSIBLE;
	/* A bound, or times of events that are read at once. */
	if (tally->keeps >= most || tally->timed >= most)
		return CONFIDENCE_POSSIBLE;
	/* A clock, which events replace. */
	if (tally->clocks >= most || tally->others >= most || process->others == OTHERS_LOADED)
		return CONFIDENCE_LIKELY;
	return tally->unproven ? CONFIDENCE_LIKELY : CONFIDENCE_CERTAIN;
}
