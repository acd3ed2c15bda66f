/* SPDX-License-Identifier: Apache-2.0 */
#include "lives.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

uint32_t lives_begin(struct lives *lives, uint64_t handle, uint64_t begin, uint32_t created)
{
	struct life *more = array_room(lives->life, lives->count, sizeof(*more));
	uint32_t number = (uint32_t)lives->count + 1;

	if (!more)
		return 0;
	lives->life = more;
	more[lives->count++] = (struct life){
		.handle = handle, .begin = begin, .end = UINT64_MAX, .created = created,
		.previous = (uint32_t)map_get(&lives->latest, handle, 0),
	};
	return map_set(&lives->latest, handle, number) ? 0 : number;
}

uint32_t lives_find(const struct lives *lives, uint64_t handle, uint64_t at)
{
	uint32_t number = (uint32_t)map_get(&lives->latest, handle, 0);

	while (number && lives->life[number - 1].begin > at)
		number = lives->life[number - 1].previous;
	/* Under a clock with few ticks a call may enter as the one before it returns. */
	if (number && lives->life[number - 1].end < at)
		return 0;
	return number;
}

void lives_end(struct lives *lives, uint32_t life, uint64_t end, uint32_t destroyed)
{
	lives->life[life - 1].end = end;
	lives->life[life - 1].destroyed = destroyed;
}

void lives_release(struct lives *lives)
{
	free(lives->life);
	map_release(&lives->latest);
	*lives = (struct lives){ 0 };
}

/* Index of the first range that ends after address. */
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

	memmove(first, first + count, (ranges->count - at - count) * sizeof(*first));
	ranges->count -= count;
}

int ranges_add(struct ranges *ranges, uint64_t start, uint64_t bytes, uint32_t life)
{
	uint64_t end = start + (bytes ? bytes : 1);
	size_t at = first_after(ranges, start), overlapped = 0;
	struct range *more;

	while (at + overlapped < ranges->count && ranges->range[at + overlapped].start < end)
		overlapped++;
	if (overlapped)
		cut(ranges, at, overlapped);
	more = array_room(ranges->range, ranges->count, sizeof(*more));
	if (!more)
		return -1;
	ranges->range = more;
	memmove(more + at + 1, more + at, (ranges->count - at) * sizeof(*more));
	more[at] = (struct range){ start, end, life };
	ranges->count++;
	return 0;
}

void ranges_remove(struct ranges *ranges, uint64_t start, uint32_t life)
{
	size_t at = first_after(ranges, start);

	if (at < ranges->count && ranges->range[at].start == start &&
		ranges->range[at].life == life)
		cut(ranges, at, 1);
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
	*ranges = (struct ranges){ 0 };
}
