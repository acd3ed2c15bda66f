/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports between the threads of a process.  A thread may act on what another thread has observed:
 * each host wait reports what it observed to its process, and a thread has received all reports
 * made before its call was entered.  Every thread receives all reports, so that a clock need not
 * repeat them: the process has a key, whose entry is the number of reports that the clock's owner
 * has received.  Their content is kept here: the position up to which each agent was observed, and
 * since which report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "order_steps.h"

/* Is it more than was reported before?  seq is by strength - 1, as in an entry. */
static int is_more(const struct order_reports *reports, const uint32_t *seq)
{
	const uint32_t *last = reports->count ? reports->from[reports->count - 1].seq : NULL;

	for (int i = 0; i < ORDER_ASSUMED; i++)
		if (last ? seq[i] > last[i] : seq[i] > 0)
			return 1;
	return 0;
}

static void add(struct order *order, struct order_process *process, uint32_t key,
	const uint32_t *seq)
{
	struct order_reports *reports = id_map_need(&process->of, key, sizeof(*reports));
	struct order_report *last;

	if (!is_more(reports, seq))
		return;
	last = array_push(reports->from, reports->count);
	*last = reports->count > 1 ? last[-1] : (struct order_report){ 0 };
	last->report = process->last_report;
	for (int i = 0; i < ORDER_ASSUMED; i++)
		if (seq[i] > last->seq[i])
			last->seq[i] = seq[i];
	order->joiner.bytes += sizeof(*reports->from);
}

int order_add_report(struct order *order, struct order_process *process,
	const struct order_state *state)
{
	const struct order_clock *clock = state->clock;
	uint32_t own[ORDER_ASSUMED], report = order_next(order);

	if (!report)
		return -1;
	process->last_report = report;
	for (int i = 0; i < ORDER_ASSUMED; i++)
		own[i] = state->own.seq;
	for (uint32_t i = 0; clock && i < clock->count; i++)
		if (clock->entry[i].key != process->key)
			add(order, process, clock->entry[i].key, clock->entry[i].seq);
	if (state->own.seq)
		add(order, process, state->own.key, own);
	return 0;
}

static struct order_epoch received_by(const struct order *order, const struct order_thread *thread)
{
	const struct order_process *process = id_map_get(&order->processes, thread->process);

	return (struct order_epoch){ .key = process ? process->key : 0,
		.seq = process ? thread->received : 0 };
}

int order_knows_reports(const struct order *order, const struct order_clock *clock,
	const struct order_thread *thread)
{
	struct order_epoch received = received_by(order, thread);

	return !received.seq ||
		order_clock_reach(clock, received.key, ORDER_ASSUMED) >= received.seq;
}

void order_need_reports(struct order *order, const struct order_thread *thread)
{
	struct order_epoch received = received_by(order, thread);

	order_clock_add(&order->joiner, &order->now, NULL, &received, ORDER_ASSUMED);
}

/* --- questions --- */

/* Returns how surely an agent was observed up to seq by the first `number` reports. */
static enum order_strength strength_after(const struct order_reports *reports, uint32_t number,
	uint32_t seq)
{
	size_t low = 0, high = reports ? reports->count : 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (reports->from[middle].report <= number)
			low = middle + 1;
		else
			high = middle;
	}
	for (int i = ORDER_ASSUMED; low && i-- > 0;)
		if (reports->from[low - 1].seq[i] >= seq)
			return (enum order_strength)(i + 1);
	return ORDER_UNORDERED;
}

enum order_strength order_reports_strength(const struct order_process *process, uint32_t number,
	const struct order_epoch *epoch)
{
	uint32_t set = epoch->set & ~ORDER_BLOCKING;
	uint32_t keys[] = { epoch->key, set, epoch->set & ORDER_BLOCKING ? set + 1 : set,
		ORDER_ALL_KEY };
	enum order_strength best = ORDER_UNORDERED;

	for (unsigned i = 0; process && number && i < sizeof(keys) / sizeof(*keys); i++) {
		enum order_strength strength =
			strength_after(id_map_get(&process->of, keys[i]), number, epoch->seq);

		best = strength > best ? strength : best;
	}
	return best;
}

enum order_strength order_strength(const struct order *order, const struct order_clock *clock,
	const struct order_epoch *own, const struct order_epoch *epoch)
{
	enum order_strength best = order_clock_strength(clock, own, epoch);

	for (size_t i = 0; best < ORDER_ASSUMED && i < order->processes.size; i++) {
		const struct order_process *process = order->processes.slot[i].object;

		for (enum order_strength level = ORDER_ASSUMED; process && level > best; level--) {
			uint32_t number = order_clock_reach(clock, process->key, level);
			enum order_strength strength =
				order_reports_strength(process, number, epoch);

			strength = strength > level ? level : strength;
			best = strength > best ? strength : best;
		}
	}
	return best;
}

/* --- dropping old reports --- */

void order_free_reports(void *object)
{
	struct order_reports *reports = object;

	free(reports->from);
	free(reports);
}

/*
 * Keeps the latest reports that some thread has received; later threads have received them as well.
 */
static void keep_received(struct order *order, struct order_reports *reports,
	const uint32_t *received, size_t count)
{
	size_t kept = 0, next = 0;

	for (size_t i = 0; i < reports->count; i++) {
		uint32_t from = reports->from[i].report;

		while (next < count && received[next] < from)
			next++;
		if (i + 1 == reports->count ||
			(next < count && received[next] < reports->from[i + 1].report))
			reports->from[kept++] = reports->from[i];
	}
	order->joiner.bytes -= (reports->count - kept) * sizeof(*reports->from);
	reports->count = kept;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void order_forget_reports(struct order *order, struct order_process *process, uint32_t *received,
	size_t count)
{
	qsort(received, count, sizeof(*received), compare);
	for (size_t i = 0; i < process->of.size; i++) {
		struct order_reports *reports = process->of.slot[i].object;

		if (reports)
			keep_received(order, reports, received, count);
	}
}
