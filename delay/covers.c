/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks what waits for the held stream: streams that wait for an event recorded there, and so on.
 * If unknown, all streams count: then a wait releases the stream too early, which proves nothing
 * and does no harm.
 */
#include <stdatomic.h>

#include "hold_internal.h"

#define MOST 64

static struct {
	_Atomic int all;
	int legacy_too; /* the legacy stream waits for it, and blocking streams for that one */
	_Atomic unsigned streams, events;
	_Atomic uint64_t stream[MOST], event[MOST];
} covers;

static int is_in(const _Atomic uint64_t *list, unsigned count, uint64_t what)
{
	for (unsigned i = 0; i < count && i < MOST; i++)
		if (list[i] == what)
			return 1;
	return 0;
}

static void add(_Atomic uint64_t *list, _Atomic unsigned *count, uint64_t what)
{
	unsigned place;

	if (is_in(list, *count, what))
		return;
	place = atomic_fetch_add(count, 1);
	if (place < MOST)
		list[place] = what;
	else
		covers.all = 1;
}

static int has_stream(uint64_t stream)
{
	return covers.all || is_in(covers.stream, covers.streams, stream) ||
		(stream == STREAM_LEGACY && covers.legacy_too);
}

static int has_event(uint64_t event)
{
	return covers.all || is_in(covers.event, covers.events, event);
}

void covers_begin(uint64_t stream, int non_blocking)
{
	covers.streams = covers.events = 0;
	/* The legacy stream is blocking, and it is unknown which other streams are. */
	covers.all = stream == STREAM_LEGACY;
	covers.legacy_too = !non_blocking;
	add(covers.stream, &covers.streams, stream);
}

void covers_follow(const struct held_call *call)
{
	uint64_t stream = hold_stream(call);

	if (!kind_has(call->kind, K_WORK | K_MARKER | K_SILENT))
		return;
	if (kind_family(call->kind) == FAMILY_event_wait) {
		if (kind_has(call->kind, K_ANY_STREAM))
			covers.all |= has_event(call->event);
		else if (has_event(call->event))
			add(covers.stream, &covers.streams, stream);
	} else if (kind_family(call->kind) == FAMILY_event && call->event) {
		if (kind_has(call->kind, K_ANY_STREAM) || has_stream(stream))
			add(covers.event, &covers.events, call->event);
	}
	/* All blocking streams then come after it. */
	if (stream == STREAM_LEGACY && has_stream(stream))
		covers.all = 1;
}

int covers_call(const struct held_call *call)
{
	switch (kind_waits(call->kind)) {
	case WAITS_NOTHING:
		return 0;
	case WAITS_EVENT:
		return has_event(call->event);
	case WAITS_STREAM:
		return has_stream(hold_stream(call));
	case WAITS_BY_MEMORY:
		/*
		 * Whether an Async copy waits depends on its memory; if it does, the hold ends by
		 * timeout.
		 */
		return kind_has(call->kind, K_DEFAULT_STREAM) && has_stream(hold_stream(call));
	default:
		return 1;
	}
}
