/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-queue-full: a submission waited for room in the launch queue of its stream, and delayed
 * what other streams or the thread could have done meanwhile (waits.h).  Kernel launches are
 * asynchronous until the queue is full.  Its size is not documented, only that any call may block
 * for lack of internal resources (CUDA runtime API, "API synchronization behavior").
 */
#include <stdlib.h>

#include "memory.h"
#include "pass.h"

/*
 * A blocked submission.  Blocked submissions of a thread in a stream are joined until the thread
 * waits for that stream, and listed by place.
 */
struct blocked {
	const struct run_wait *wait;
	uint32_t site;
};

struct list {
	struct blocked *blocked;
	size_t count;
};

static int by_row_and_place(const void *a, const void *b)
{
	const struct blocked *x = a, *y = b;

	if (x->wait->partner != y->wait->partner)
		return (x->wait->partner > y->wait->partner) -
			(x->wait->partner < y->wait->partner);
	if (x->site != y->site)
		return (x->site > y->site) - (x->site < y->site);
	return (x->wait > y->wait) - (x->wait < y->wait);
}

static int collect(const struct run *run, struct list *list)
{
	for (size_t i = 1; i < run->evidence.wait_count; i++) {
		const struct run_wait *wait = &run->evidence.wait[i];

		if (wait->kind != WAIT_QUEUE || !run_call(run, wait->call))
			continue;
		*array_push(list->blocked, list->count) =
			(struct blocked){ wait, run_link(run, wait->call)->site };
	}
	if (list->count)
		qsort(list->blocked, list->count, sizeof(*list->blocked), by_row_and_place);
	return 0;
}

/* Returns the call whose work made room for the first blocked submission, 0: unknown. */
static uint32_t behind(const struct run *run, uint32_t partner)
{
	const struct run_wait *wait = run_wait_of(&run->evidence, partner);
	const struct run_work *work;

	while (wait && wait->kind != WAIT_QUEUE)
		wait = run_next_wait(&run->evidence, wait);
	work = wait ? run_work(run, wait->op) : NULL;
	return work ? work->call : 0;
}

/* Adds an instance for the submissions with one partner, with one call to fix for each place. */
static int add_row(const struct run *run, struct findings *findings, const struct blocked *blocked,
	size_t count)
{
	uint32_t partner = blocked->wait->partner;
	struct instance instance = {
		.rule = RULE_launch_queue_full,
		.process = run_payload(run, run_call(run, blocked->wait->call))->process,
		.call = partner,
		.other_call = behind(run, partner),
		.change = CHANGE_WAIT | CHANGE_AHEAD,
	};
	int places = 0;

	for (size_t i = 0; i < count; i++) {
		instance.cost += blocked[i].wait->waited;
		instance.saving += blocked[i].wait->avoidable;
		if ((i + 1 == count || blocked[i + 1].site != blocked[i].site) &&
			places < FINDING_ALSO)
			instance.also[places++] = blocked[i].wait->call;
	}
	return instance.other_call && instance.saving > 0 ? findings_add(findings, &instance) : 0;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct list list = { 0 };
	int rc = collect(input->run, &list);

	for (size_t i = 0, next; i < list.count && !rc; i = next) {
		for (next = i + 1; next < list.count &&
			list.blocked[next].wait->partner == list.blocked[i].wait->partner;)
			next++;
		rc = add_row(input->run, findings, &list.blocked[i], next - i);
	}
	free(list.blocked);
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
