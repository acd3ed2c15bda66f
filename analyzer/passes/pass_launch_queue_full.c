/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-queue-full: a submission waited for room in the queue of its stream, and kept back what
 * other streams or the thread could have done meanwhile (waits_queue.h).  Kernel launches are
 * asynchronous until then; how many fit is not documented, only that any call may block for lack
 * of internal resources (CUDA runtime API, "API synchronization behavior").
 */
#include <stdlib.h>

#include "array.h"
#include "pass.h"

/* The blocks of a thread in a stream: together until it waits for that stream, at each place. */
struct held {
	const struct run_wait *wait;
	uint32_t site;
};

struct list {
	struct held *held;
	size_t count;
};

static int by_row_and_place(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

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
		struct held *more;

		if (wait->kind != WAIT_QUEUE || !run_call(run, wait->call))
			continue;
		more = array_room(list->held, list->count, sizeof(*more));
		if (!more)
			return -1;
		list->held = more;
		more[list->count++] = (struct held){ wait, run_link(run, wait->call)->site };
	}
	if (list->count)
		qsort(list->held, list->count, sizeof(*list->held), by_row_and_place);
	return 0;
}

/* The call whose work made room for the one that stands for all, 0: unknown. */
static uint32_t behind(const struct run *run, uint32_t partner)
{
	const struct run_wait *wait = run_wait_of(&run->evidence, partner);
	const struct run_work *work;

	while (wait && wait->kind != WAIT_QUEUE)
		wait = run_next_wait(&run->evidence, wait);
	work = wait ? run_work(run, wait->op) : NULL;
	return work ? work->call : 0;
}

/* The rows of one partner, and one more call to fix for each of its places. */
static int add_row(const struct run *run, struct findings *findings, const struct held *held,
	size_t count)
{
	uint32_t partner = held->wait->partner;
	struct instance instance = {
		.rule = RULE_launch_queue_full,
		.process = run_payload(run, run_call(run, held->wait->call))->process,
		.call = partner,
		.other_call = behind(run, partner),
		.change = CHANGE_WAIT | CHANGE_AHEAD,
	};
	int places = 0;

	for (size_t i = 0; i < count; i++) {
		instance.cost += held[i].wait->waited;
		instance.saving += held[i].wait->avoidable;
		if ((i + 1 == count || held[i + 1].site != held[i].site) && places < FINDING_ALSO)
			instance.also[places++] = held[i].wait->call;
	}
	return instance.other_call && instance.saving > 0 ? findings_add(findings, &instance) : 0;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct list list = { 0 };
	int rc = collect(input->run, &list);

	for (size_t i = 0, next; i < list.count && !rc; i = next) {
		for (next = i + 1; next < list.count &&
			list.held[next].wait->partner == list.held[i].wait->partner;)
			next++;
		rc = add_row(input->run, findings, &list.held[i], next - i);
	}
	free(list.held);
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
