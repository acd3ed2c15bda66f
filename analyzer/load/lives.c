/* SPDX-License-Identifier: Apache-2.0 */
#include "lives.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Returns an unused number. */
static uint32_t unused_number(struct lives *lives)
{
	if (lives->unused_count)
		return lives->unused[--lives->unused_count];
	lives->life = array_grown(lives->life, lives->count, sizeof(*lives->life));
	return (uint32_t)++lives->count;
}

uint32_t lives_begin(struct lives *lives, uint64_t handle, uint64_t begin, uint32_t created)
{
	uint32_t number = unused_number(lives), later = 0, previous;

	previous = (uint32_t)map_get(&lives->latest, handle, 0);
	while (previous && lives->life[previous - 1].begin > begin) {
		later = previous;
		previous = lives->life[previous - 1].previous;
	}
	lives->life[number - 1] = (struct life){
		.handle = handle,
		.begin = begin,
		.end = UINT64_MAX,
		.created = created,
		.row = ++lives->begun,
		.previous = previous,
	};
	if (later)
		lives->life[later - 1].previous = number;
	else
		map_set(&lives->latest, handle, number);
	return number;
}

uint32_t lives_find(const struct lives *lives, uint64_t handle, uint64_t at)
{
	uint32_t number = (uint32_t)map_get(&lives->latest, handle, 0);

	while (number && lives->life[number - 1].begin > at)
		number = lives->life[number - 1].previous;
	/* With a coarse clock a call may enter in the tick in which the previous one returns. */
	if (number && lives->life[number - 1].end < at)
		return 0;
	return number;
}

/* Doubles the ring of ended lives and linearizes it. */
static void more_ended(struct lives *lives)
{
	size_t size = lives->ended_size ? 2 * lives->ended_size : 64;
	uint32_t *more = xrealloc(NULL, size, sizeof(*more));

	for (size_t i = 0; i < lives->ended_count; i++)
		more[i] = lives->ended[(lives->ended_first + i) % lives->ended_size];
	free(lives->ended);
	lives->ended = more;
	lives->ended_first = 0;
	lives->ended_size = size;
}

void lives_end(struct lives *lives, uint32_t life, uint64_t end, uint32_t destroyed)
{
	int again = lives->life[life - 1].end != UINT64_MAX;

	lives->life[life - 1].end = end;
	lives->life[life - 1].destroyed = destroyed;
	if (again || !lives->retire)
		return;
	if (lives->ended_count == lives->ended_size)
		more_ended(lives);
	lives->ended[(lives->ended_first + lives->ended_count++) % lives->ended_size] = life;
}

void lives_end_context(struct lives *lives, uint32_t context, uint64_t enter, uint64_t end,
	uint32_t destroyed)
{
	for (uint32_t i = 0; i < lives->count; i++) {
		const struct life *life = &lives->life[i];

		if (life->row && life->context == context && life->end == UINT64_MAX &&
			life->begin <= enter)
			lives_end(lives, i + 1, end, destroyed);
	}
}

/* Removes a life from the chain of its handle. */
static void unlink_life(struct lives *lives, uint32_t number)
{
	const struct life *life = &lives->life[number - 1];
	uint32_t later = (uint32_t)map_get(&lives->latest, life->handle, 0);

	if (later == number) {
		if (life->previous)
			map_set(&lives->latest, life->handle, life->previous);
		else
			map_remove(&lives->latest, life->handle);
		return;
	}
	while (later && lives->life[later - 1].previous != number)
		later = lives->life[later - 1].previous;
	if (later)
		lives->life[later - 1].previous = life->previous;
}

int lives_retire(struct lives *lives, uint64_t now)
{
	while (lives->ended_count) {
		uint32_t number = lives->ended[lives->ended_first];

		if (lives->life[number - 1].end >= now)
			break;
		if (lives->retire(lives->arg, &lives->life[number - 1]))
			return -1;
		unlink_life(lives, number);
		lives->life[number - 1].row = 0;
		*array_push(lives->unused, lives->unused_count) = number;
		lives->ended_first = (lives->ended_first + 1) % lives->ended_size;
		lives->ended_count--;
	}
	return 0;
}

int lives_retire_all(struct lives *lives)
{
	for (size_t i = 0; i < lives->count; i++)
		if (lives->life[i].row && lives->retire(lives->arg, &lives->life[i]))
			return -1;
	return 0;
}

void lives_release(struct lives *lives)
{
	free(lives->life);
	free(lives->ended);
	free(lives->unused);
	map_release(&lives->latest);
	*lives = (struct lives){ 0 };
}

/* Returns the index of the first range that ends after address. */
static size_t first_after(const struct ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ranges->range[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void cut(struct ranges *ranges, size_t at, size_t count)
{
	struct range *first = ranges->range + at;

	if (!count)
		return;
	memmove(first, first + count, (ranges->count - at - count) * sizeof(*first));
	ranges->count -= count;
}

static void put(struct ranges *ranges, const struct range *range)
{
	size_t at = first_after(ranges, range->start), overlapped = 0;

	while (at + overlapped < ranges->count && ranges->range[at + overlapped].start < range->end)
		ranges->gone -= !ranges->range[at + overlapped++].life;
	if (overlapped) {
		ranges->range[at] = *range;
		cut(ranges, at + 1, overlapped - 1);
		return;
	}
	ranges->range = array_grown(ranges->range, ranges->count++, sizeof(*ranges->range));
	memmove(ranges->range + at + 1, ranges->range + at,
		(ranges->count - 1 - at) * sizeof(*ranges->range));
	ranges->range[at] = *range;
}

void ranges_add(struct ranges *ranges, uint64_t start, uint64_t bytes, uint64_t begin,
	uint32_t life)
{
	size_t at = ranges->later_count;

	ranges->later = array_grown(ranges->later, ranges->later_count++, sizeof(*ranges->later));
	/* The list is as short as the number of concurrent calls. */
	for (; at && ranges->later[at - 1].begin <= begin; at--)
		ranges->later[at] = ranges->later[at - 1];
	ranges->later[at] = (struct range){ start, start + (bytes ? bytes : 1), begin, life };
}

void ranges_reach(struct ranges *ranges, uint64_t now)
{
	while (ranges->later_count && ranges->later[ranges->later_count - 1].begin <= now)
		put(ranges, &ranges->later[--ranges->later_count]);
}

static void drop_gone(struct ranges *ranges)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->range[i].life)
			ranges->range[kept++] = ranges->range[i];
	ranges->count = kept;
	ranges->gone = 0;
}

void ranges_remove(struct ranges *ranges, uint64_t start, uint32_t life)
{
	size_t at = first_after(ranges, start);

	if (at == ranges->count || ranges->range[at].start != start ||
		ranges->range[at].life != life)
		return;
	ranges->range[at].life = 0;
	if (2 * ++ranges->gone > ranges->count)
		drop_gone(ranges);
}

uint32_t ranges_find(const struct ranges *ranges, uint64_t address)
{
	size_t at = first_after(ranges, address);

	return at < ranges->count && ranges->range[at].start <= address ? ranges->range[at].life
									: 0;
}

void ranges_release(struct ranges *ranges)
{
	free(ranges->range);
	free(ranges->later);
	*ranges = (struct ranges){ 0 };
}
