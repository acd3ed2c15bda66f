/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

int history_check(const struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by, history_visit visit,
	void *arg)
{
	for (size_t i = 0; i < history->count; i++) {
		const struct past_access *past = &history->past[i];
		struct access_conflict conflict;
		enum order_strength strength;

		if (past->access.high <= access->low || access->high <= past->access.low ||
			(past->access.direction == ACCESS_READ &&
				access->direction == ACCESS_READ) ||
			past->by.stretch != by->stretch || is_same_operation(&past->by, by))
			continue;
		/* Most are in order, which is quicker to see than what they have in common. */
		strength = ordering->of(ordering->arg, past, access);
		if (strength == ORDER_GUARANTEED || strength == ORDER_UNKNOWN)
			continue;
		conflict = access_conflict(&past->access, access);
		if (conflict.overlap != OVERLAP_NONE && visit(arg, past, &conflict, strength))
			return -1;
	}
	return 0;
}

static int is_same_set(const struct memory_access *a, const struct memory_access *b)
{
	return a->low == b->low && a->high == b->high && a->start == b->start && a->run == b->run &&
		a->stride_count == b->stride_count &&
		!memcmp(a->stride, b->stride, a->stride_count * sizeof(*a->stride));
}

/* Whatever would be found with past is found with the present access. */
static int stands_for(const struct memory_access *access, const struct operation_point *by,
	const struct past_access *past, const struct ordering *ordering)
{
	int covers = access_covers(access, &past->access);

	if (past->by.stretch != by->stretch)
		return 1;
	if (past->by.lane == by->lane && !by->overlaps &&
		past->access.direction == access->direction &&
		(covers ||
			(is_same_set(access, &past->access) &&
				access->exact == past->access.exact &&
				access->sure == past->access.sure)))
		return 1;
	return covers && access->direction == ACCESS_WRITE &&
		ordering->of(ordering->arg, past, access) == ORDER_GUARANTEED;
}

int history_add(struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by)
{
	struct past_access *more;
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++) {
		struct past_access *past = &history->past[i];

		/* Accesses of one operation stay beside each other. */
		if (!is_same_operation(&past->by, by) && stands_for(access, by, past, ordering))
			continue;
		if (kept != i)
			history->past[kept] = *past;
		kept++;
	}
	history->count = kept;
	if (history->count == HISTORY_MOST) {
		history->crowded = 1;
		memmove(history->past, history->past + 1, --history->count * sizeof(*more));
	}
	more = array_room(history->past, history->count, sizeof(*more));
	if (!more)
		return -1;
	history->past = more;
	more[history->count++] = (struct past_access){ *access, *by };
	return 0;
}

void history_forget(struct history *history, int64_t low, int64_t high)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++)
		if (history->past[i].access.high <= low || history->past[i].access.low >= high)
			history->past[kept++] = history->past[i];
	history->count = kept;
}

void history_release(struct history *history)
{
	free(history->past);
	*history = (struct history){ 0 };
}
