/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "memory.h"
#include "sorted.h"
#include "stretches.h"

/* Returns the index of the first range with low at or above the address. */
static size_t first_from(const struct history *history, int64_t low)
{
	return sorted_from(history->range, history->count, sizeof(*history->range),
		offsetof(struct past_range, low), low);
}

/* Returns the index of the first range that may extend beyond the address. */
static size_t first_reaching(const struct history *history, int64_t address)
{
	int64_t low;

	return __builtin_sub_overflow(address, history->longest, &low) ? 0
								       : first_from(history, low);
}

static int is_older(const void *one, const void *other, void *arg)
{
	const struct history *history = arg;
	uint64_t a = history->past[*(const uint32_t *)one].number;
	uint64_t b = history->past[*(const uint32_t *)other].number;

	return a < b ? -1 : a > b;
}

static int is_checked(enum order_strength strength)
{
	return strength != ORDER_GUARANTEED && strength != ORDER_UNKNOWN;
}

/*
 * Finds past accesses to the same address range, with a write on either side, that no sure order
 * precedes; the oldest first.  Most are ordered, and checking that is faster than comparing bytes.
 */
static size_t find_unordered(const struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by)
{
	int reads = access->direction == ACCESS_READ;
	uint32_t *place = history->found;
	size_t count = 0;

	if (reads && !history->changes)
		return 0;
	for (size_t i = first_reaching(history, access->low);
		i < history->count && history->range[i].low < access->high; i++) {
		const struct past_range *range = &history->range[i];
		const struct past_access *past = &history->past[range->at];

		if (range->high > access->low && !(reads && range->direction == ACCESS_READ) &&
			past->by.stretch == by->stretch && !past->ended &&
			!is_same_operation(&past->by, by) &&
			is_checked(ordering->of(ordering->arg, past, access)))
			place[count++] = range->at;
	}
	if (count > 1)
		qsort_r(place, count, sizeof(*place), is_older, (void *)(uintptr_t)history);
	return count;
}

/* Equal for conflicts that a report does not tell apart. */
static uint64_t kind_of(const struct past_access *past, const struct access_conflict *conflict,
	enum order_strength strength)
{
	uint64_t words[] = { past->by.place, (uint64_t)past->by.thread, (uint64_t)past->by.upload,
		past->access.direction, conflict->overlap, (uint64_t)conflict->covered, strength };

	return map_hash_words(words, sizeof(words) / sizeof(*words));
}

int history_check(const struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by, history_visit visit,
	void *arg)
{
	/* What ordered calls outside of all windows was not recorded. */
	size_t count =
		by->stretch == STRETCH_NONE ? 0 : find_unordered(history, ordering, access, by);
	struct map reported = { 0 };
	int many = count > HISTORY_ALIKE, rc = 0;

	for (size_t i = 0; i < count && rc >= 0; i++) {
		/* The newest of many first. */
		uint32_t place = history->found[many ? count - 1 - i : i];
		const struct past_access *past = &history->past[place];
		struct access_conflict conflict = access_conflict(&past->access, access);
		enum order_strength strength;
		uint64_t kind = 0, times = 0;

		if (conflict.overlap == OVERLAP_NONE || past->ended)
			continue;
		strength = ordering->of(ordering->arg, past, access);
		if (many) {
			kind = kind_of(past, &conflict, strength);
			times = map_get(&reported, kind, 0);
		}
		if (times == HISTORY_ALIKE)
			continue;
		rc = visit(arg, past, &conflict, strength);
		if (rc > 0 && many)
			map_set(&reported, kind, times + 1);
	}
	map_release(&reported);
	return rc < 0 ? -1 : 0;
}

static int is_same_set(const struct memory_access *a, const struct memory_access *b)
{
	return a->low == b->low && a->high == b->high && a->start == b->start && a->run == b->run &&
		a->stride_count == b->stride_count &&
		!memcmp(a->stride, b->stride, a->stride_count * sizeof(*a->stride));
}

/* Every conflict with the past access is also one with the current access. */
static int replaces(const struct memory_access *access, const struct operation_point *by,
	const struct past_access *past, const struct ordering *ordering)
{
	int covers = access_covers(access, &past->access);

	if (past->ended)
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

/* Unlinks a range and frees its place. */
static void free_place(struct history *history, const struct past_range *range)
{
	struct past_access *past = &history->past[range->at];

	*(past->older ? &history->past[past->older - 1].newer : &history->oldest) = past->newer;
	*(past->newer ? &history->past[past->newer - 1].older : &history->newest) = past->older;
	past->older = history->unused;
	history->unused = range->at + 1;
	history->changes -= range->direction != ACCESS_READ;
}

static void remove_ranges(struct history *history, size_t from, size_t to)
{
	if (from == to)
		return;
	memmove(history->range + from, history->range + to,
		(history->count - to) * sizeof(*history->range));
	history->count -= to - from;
}

/* Among ranges with equal low, the oldest comes first. */
static size_t oldest_range(const struct history *history)
{
	return first_from(history, history->past[history->oldest - 1].access.low);
}

/* Moves the ranges from a free one to the place of a new one.  Returns the place of that. */
static size_t move_free(struct history *history, size_t free, size_t at)
{
	struct past_range *range = history->range;

	if (free < at)
		memmove(range + free, range + free + 1, (--at - free) * sizeof(*range));
	else
		memmove(range + at + 1, range + at, (free - at) * sizeof(*range));
	return at;
}

/*
 * Removes past accesses that the new one replaces.  Accesses of one operation stay adjacent.
 * Returns the place of the new range; *free is 1 if a removed range has left it free.
 */
static size_t drop_replaced(struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by, int *free)
{
	size_t i = first_from(history, access->low), kept = i, at;

	for (; i < history->count && history->range[i].low <= access->high; i++) {
		const struct past_range range = history->range[i];
		const struct past_access *past = &history->past[range.at];

		if (range.high <= access->high &&
			(range.lane == by->lane || access->direction == ACCESS_WRITE) &&
			!is_same_operation(&past->by, by) && replaces(access, by, past, ordering))
			free_place(history, &range);
		else
			history->range[kept++] = range;
	}
	*free = kept < i;
	for (at = kept; at && history->range[at - 1].low > access->low; at--)
		if (*free)
			history->range[at] = history->range[at - 1];
	remove_ranges(history, kept + (size_t)*free, i);
	return at;
}

static void make_room(struct history *history)
{
	if (history->count < history->room)
		return;
	history->room = history->room ? 2 * history->room : 1;
	history->range = xrealloc(history->range, history->room, sizeof(*history->range));
	history->past = xrealloc(history->past, history->room, sizeof(*history->past));
	history->found = xrealloc(history->found, history->room, sizeof(*history->found));
}

/* Returns a free place, linked as the newest. */
static uint32_t add_place(struct history *history)
{
	uint32_t at = history->unused ? history->unused - 1 : (uint32_t)history->made++;
	struct past_access *past = &history->past[at];

	if (history->unused)
		history->unused = past->older;
	past->older = history->newest;
	past->newer = 0;
	past->number = ++history->last;
	*(past->older ? &history->past[past->older - 1].newer : &history->oldest) = at + 1;
	history->newest = at + 1;
	return at;
}

static void put(struct history *history, const struct memory_access *access,
	const struct operation_point *by, struct past_range *range)
{
	int64_t length;

	*range = (struct past_range){ access->low, access->high, by->lane, add_place(history),
		(enum access_direction)access->direction };
	history->past[range->at].access = *access;
	history->past[range->at].by = *by;
	history->past[range->at].ended = 0;
	history->changes += access->direction != ACCESS_READ;
	if (__builtin_sub_overflow(access->high, access->low, &length))
		length = INT64_MAX;
	if (length > history->longest)
		history->longest = length;
}

int history_add(struct history *history, const struct ordering *ordering,
	const struct memory_access *access, const struct operation_point *by)
{
	size_t most = history->most ? history->most : HISTORY_MOST, at;
	int dropped = 0, free;

	/* Accesses of two recording windows are not compared. */
	if (history->count && history->past[history->newest - 1].by.stretch != by->stretch)
		history_release(history);
	at = drop_replaced(history, ordering, access, by, &free);
	if (!free) {
		size_t from;

		dropped = history->count == most;
		if (dropped) {
			from = oldest_range(history);
			free_place(history, &history->range[from]);
		} else {
			make_room(history);
			from = history->count++;
		}
		at = move_free(history, from, at);
	}
	put(history, access, by, &history->range[at]);
	return dropped;
}

void history_sweep(struct history *history, history_is_over is_over, void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct past_access *past = &history->past[history->range[i].at];

		if (past->ended || is_over(arg, past))
			free_place(history, &history->range[i]);
		else
			history->range[kept++] = history->range[i];
	}
	history->count = kept;
	history->sweep_at = 2 * kept > HISTORY_SWEEP ? 2 * kept : HISTORY_SWEEP;
}

void history_end(const struct history *history, const struct past_access *past)
{
	history->past[past - history->past].ended = 1;
}

void history_forget(struct history *history, int64_t low, int64_t high)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->count; i++)
		if (history->range[i].high <= low || history->range[i].low >= high)
			history->range[kept++] = history->range[i];
		else
			free_place(history, &history->range[i]);
	history->count = kept;
}

void history_release(struct history *history)
{
	free(history->range);
	free(history->past);
	free(history->found);
	*history = (struct history){ .most = history->most };
}
