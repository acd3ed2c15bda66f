/* SPDX-License-Identifier: Apache-2.0 */
/*
 * false-dependency: an event wait blocked work for longer than their shared memory needs. "Event
 * ... all work captured by" it is waited for (CUDA driver API, cuStreamWaitEvent): a late record
 * covers work that no operation after the wait needs.
 *
 * needs.h finds what a wait is needed for; a narrower event would have ended the wait with the last
 * of that work.  A wait with no known need is not reported: cufence may not see its reason.
 *
 * The cost is the time in which the devices worked for the process meanwhile.  While they did not,
 * another process may have used them, and a narrower event would have started nothing earlier.
 *
 * If several consecutive waits come too late, changing one leaves the work to the next.  They are
 * judged together; the others than the one that blocked the work longest are masked by it.
 */
#include <stdlib.h>

#include "busy.h"
#include "constants.h"
#include "pass.h"

/* Returns until when the waits before the same work are needed, ns; 0: the wait itself is not. */
static int64_t needed_until(const struct event_wait *wait)
{
	int64_t until = wait->needed > wait->ready ? wait->needed : wait->ready;

	for (size_t i = 0; i < wait->beside_count; i++) {
		const struct event_wait *beside = wait->beside[i];
		int64_t needed = beside->needed ? beside->needed : beside->behind_end;

		until = needed > until ? needed : until;
	}
	return wait->needed ? until : 0;
}

/* Adds the times in which operations ran to *processes, struct busy by process. */
static void list_works(struct id_map *processes, const struct run *run)
{
	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		int64_t end = work ? run_busy_end(run, work, id) : RUN_NEVER;
		struct busy *busy;

		if (!work || work->start == RUN_NEVER || end == RUN_NEVER)
			continue;
		busy = id_map_need(processes, run_where(run, work)->process, sizeof(*busy));
		busy_add(busy, work->start, end);
	}
	for (size_t i = 0; i < processes->size; i++)
		if (processes->slot[i].object)
			busy_join(processes->slot[i].object);
}

static void free_busy(void *busy)
{
	if (busy)
		busy_release(busy);
	free(busy);
}

static int report(struct findings *findings, const struct id_map *processes,
	const struct event_wait *wait)
{
	int64_t until = needed_until(wait);
	const struct busy *busy = id_map_get(processes, wait->process);
	struct instance instance = {
		.rule = RULE_false_dependency,
		.process = wait->process,
		.call = wait->call,
		.other_call = wait->behind,
		.cost = busy ? busy_between(busy, until, wait->behind_end) : 0,
		.saving = FINDING_DELAY,
		.change = CHANGE_ORDER,
	};
	int rc;

	if (!until || instance.cost < HELD_MIN_NS)
		return 0;
	rc = findings_add(findings, &instance);
	instance.masked = 1;
	for (size_t i = 0; i < wait->beside_count && !rc; i++) {
		const struct event_wait *beside = wait->beside[i];

		instance.call = beside->call;
		instance.other_call = beside->behind;
		if (beside->behind_end > until)
			rc = findings_add(findings, &instance);
	}
	return rc;
}

static int by_call(const void *a, const void *b)
{
	const struct event_wait *const *x = a, *const *y = b;

	return ((*x)->call > (*y)->call) - ((*x)->call < (*y)->call);
}

static int run(const struct pass_input *input, struct findings *findings)
{
	const struct id_map *events = &input->needs.events;
	const struct event_wait **list = malloc((events->count + 1) * sizeof(struct event_wait *));
	struct id_map processes = { 0 };
	size_t count = 0;
	int rc = 0;

	if (!list) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	for (size_t i = 0; i < events->size && input->needs.events_are_known; i++) {
		const struct event_wait *wait = events->slot[i].object;

		if (wait && wait->first == wait)
			list[count++] = wait;
	}
	qsort(list, count, sizeof(*list), by_call);
	if (count)
		list_works(&processes, input->run);
	for (size_t i = 0; i < count && !rc; i++)
		rc = report(findings, &processes, list[i]);
	id_map_release(&processes, free_busy);
	free(list);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" delayed its stream until the end of ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(", ", out);
	words_time(worst->cost, out);
	fputs(" longer than the memory they are known to share requires", out);
	if (worst->joined)
		fputs("; another wait before the same work comes as late: fix that one, too", out);
	return 0;
}

const struct pass pass_false_dependency = { .run = run, .say = say };
