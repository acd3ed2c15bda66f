/* SPDX-License-Identifier: Apache-2.0 */
#include "wait_verdict.h"

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
	if (tally->watches >= most || (process->submitter < 0 && process->stream < 0))
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
