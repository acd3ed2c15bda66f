/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines of the device, each of which runs one operation at a time.  Calls are replayed in the
 * order in which they were made, not in the order in which their operations run, so an operation
 * may fit into a gap before that of an earlier call.
 */
#include <string.h>

#include "replay_parts.h"

/* When the array is full, intervals move to the front: once in 7 * BOOKINGS calls. */
static void make_room(struct booking *booking)
{
	if (booking->count == BOOKINGS) {
		booking->count--;
		booking->first++;
	}
	if (booking->first + booking->count < sizeof(booking->taken) / sizeof(*booking->taken))
		return;
	memmove(booking->taken, booking->taken + booking->first,
		booking->count * sizeof(*booking->taken));
	booking->first = 0;
}

static void insert(struct booking *booking, size_t at, int64_t start, int64_t end)
{
	memmove(booking->taken + at + 1, booking->taken + at,
		(booking->first + booking->count - at) * sizeof(*booking->taken));
	booking->taken[at].start = start;
	booking->taken[at].end = end;
	booking->count++;
}

/* Returns the first interval that ends after a time; intervals do not overlap. */
static size_t first_after(const struct booking *booking, int64_t time)
{
	size_t low = booking->first, high = booking->first + booking->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (booking->taken[middle].end <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t booking_reserve(struct booking *booking, int64_t ready, int64_t length)
{
	size_t at, end;

	make_room(booking);
	end = booking->first + booking->count;
	at = first_after(booking, ready);
	/*
	 * Each interval from here on ends after ready: find the first with enough room before it.
	 */
	while (at < end && booking->taken[at].start - ready < length) {
		if (booking->taken[at].end > ready)
			ready = booking->taken[at].end;
		at++;
	}
	insert(booking, at, ready, ready + length);
	return ready;
}
