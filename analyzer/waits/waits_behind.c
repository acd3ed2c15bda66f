/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_behind.h"

#include <stdlib.h>

#include "array.h"
#include "constants.h"

int held_calls_add(struct held_calls *calls, const struct wait *call)
{
	const struct wait **more = array_room(calls->held, calls->count, sizeof(*more));

	if (!more)
		return -1;
	calls->held = more;
	calls->held[calls->count++] = call;
	calls->sorted = 0;
	return 0;
}

static int by_exit(const void *a, const void *b)
{
	const struct wait *x = *(const struct wait *const *)a;
	const struct wait *y = *(const struct wait *const *)b;

	if (x->exit != y->exit)
		return x->exit < y->exit ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

static size_t first_exit_from(const struct held_calls *calls, int64_t time)
{
	size_t low = 0, high = calls->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (calls->held[middle]->exit < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int may_hold(const struct wait *held, const struct wait *call)
{
	return held->process == call->process && held->thread != call->thread;
}

/* Returns how long the call overlapped blocked calls of other threads, up to number last. */
static int64_t overlap_of(const struct held_calls *calls, size_t last, const struct wait *call)
{
	int64_t sum = 0, until = call->exit;

	for (size_t i = last + 1; i-- > 0 && calls->held[i]->exit > call->enter;) {
		const struct wait *held = calls->held[i];
		int64_t start = held->enter > call->enter ? held->enter : call->enter;
		int64_t end = held->exit < until ? held->exit : until;

		if (!may_hold(held, call) || end <= start)
			continue;
		sum += end - start;
		until = start;
	}
	return sum;
}

const struct wait *held_calls_before(struct held_calls *calls, const struct wait *call,
	int64_t latency, int64_t error)
{
	int64_t duration = call->exit - call->enter;

	if (!calls->sorted && calls->count)
		qsort(calls->held, calls->count, sizeof(*calls->held), by_exit);
	calls->sorted = 1;
	for (size_t i = first_exit_from(calls, call->exit - latency); i < calls->count; i++) {
		const struct wait *held = calls->held[i];

		if (held->exit > call->exit + error)
			break;
		if (may_hold(held, call) &&
			overlap_of(calls, i, call) >= duration - duration / LOCK_PART)
			return held;
	}
	return NULL;
}

void held_calls_release(struct held_calls *calls)
{
	free(calls->held);
	*calls = (struct held_calls){ 0 };
}
