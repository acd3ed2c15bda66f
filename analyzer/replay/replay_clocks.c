/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's order as times: work starts at the maximum of the ends of the work that it comes after.
 */
#include <string.h>

#include "replay.h"
#include "sorted.h"

static void begin_times(int64_t *time, size_t count)
{
	for (size_t i = 0; i < count; i++)
		time[i] = REPLAY_LONG_AGO;
}

void replay_begin(struct replay *replay)
{
	const struct memory_use unused = { REPLAY_LONG_AGO, REPLAY_LONG_AGO };

	for (size_t i = 0; i < replay->threads.count; i++)
		replay->thread[i] = (struct replay_thread){ .now = REPLAY_LONG_AGO,
			.ahead = REPLAY_NEVER,
			.join = REPLAY_NONE };
	for (size_t i = 0; i < replay->streams.count; i++)
		replay->stream[i] = (struct replay_stream){ .tail = REPLAY_LONG_AGO,
			.since = REPLAY_LONG_AGO,
			.before = REPLAY_LONG_AGO,
			.awaited_by = REPLAY_NONE };
	begin_times(replay->apart, replay->aparts.count);
	begin_times(replay->event, replay->events.count);
	begin_times(replay->exec, replay->execs.count);
	for (size_t i = 0; i < replay->contexts.count; i++)
		replay->context[i] = (struct replay_context){ REPLAY_LONG_AGO, REPLAY_LONG_AGO,
			REPLAY_LONG_AGO, REPLAY_NONE, replay->context[i].device };
	for (size_t i = 0; i < replay->memories.count; i++)
		replay->memory[i].changed = replay->memory[i].all = unused;
	replay->holder = (struct replay_holder){ REPLAY_NONE, REPLAY_LONG_AGO, REPLAY_LONG_AGO,
		REPLAY_LONG_AGO };
	for (int i = 0; i < replay->device_count * ENGINE_COUNT; i++)
		replay->booking[i].count = 0;
}

/* Returns the end of the work that the context's legacy stream comes after; context may be NULL. */
static int64_t legacy_of(const struct replay_context *context)
{
	return context ? at_least(context->legacy, context->blocking) : REPLAY_LONG_AGO;
}

int64_t replay_ready(const struct replay *replay, const struct replay_step *step)
{
	const struct replay_context *context = replay_context_at(replay, step->context);
	int64_t ready = REPLAY_LONG_AGO;

	if (step->stream != REPLAY_NONE)
		ready = replay->stream[step->stream].tail;
	if (step->exec != REPLAY_NONE)
		raise_to(&ready, replay->exec[step->exec]);
	if (context && step->stream_kind == STREAM_KIND_LEGACY) {
		raise_to(&ready, legacy_of(context));
		raise_to(&ready, legacy_of(replay_context_at(replay, step->other_context)));
	} else if (context && stream_is_blocking(step->stream_kind)) {
		raise_to(&ready, context->legacy);
	}
	return ready;
}

int64_t replay_scope(const struct replay *replay, const struct replay_step *step)
{
	const struct replay_context *context = replay_context_at(replay, step->context);
	int64_t end = REPLAY_LONG_AGO;
	int device = -1;

	switch ((enum scope)step->scope) {
	case SCOPE_EVENT:
		return step->event == REPLAY_NONE ? end : replay->event[step->event];
	case SCOPE_OWN:
		return step->stream == REPLAY_NONE ? end : replay->stream[step->stream].tail;
	case SCOPE_STREAM:
		return replay_ready(replay, step);
	case SCOPE_LEGACY:
		return legacy_of(context);
	case SCOPE_CONTEXT:
		return context ? context->all : end;
	case SCOPE_DEVICE:
		device = step->device;
		/* fall through */
	case SCOPE_PROCESS:
		for (size_t i = 0; i < replay->contexts.count; i++)
			if (device < 0 || replay->context[i].device == device)
				raise_to(&end, replay->context[i].all);
		return end;
	default:
		return end;
	}
}

/*
 * While a thread is in cudaFree or a similar call, launches of other threads wait for it to return,
 * but their event records and waits do not (H200).
 */
int64_t replay_held_until(const struct replay *replay, const struct replay_step *step,
	int64_t entry)
{
	const struct replay_holder *holder = &replay->holder;

	if (!(step->act & STEP_CAN_BE_HELD) || holder->thread == step->thread ||
		entry < holder->from || entry >= holder->until)
		return REPLAY_LONG_AGO;
	return holder->until;
}

void replay_note_holder(struct replay *replay, const struct replay_step *step, int64_t entry,
	int64_t back)
{
	if (step->act & STEP_HOLDS_OTHERS && back > replay->holder.until)
		replay->holder =
			(struct replay_holder){ step->thread, entry, back, back - step->lag };
}

void replay_note(struct replay *replay, const struct replay_step *step, int64_t end)
{
	struct replay_stream *stream = replay_stream_of(replay, step);
	struct replay_context *context = replay_context_at(replay, step->context);
	struct replay_context *other = replay_context_at(replay, step->other_context);

	if (!(step->act & (STEP_SUBMITS | STEP_RECORDS | STEP_AWAITS)))
		return;
	if (step->act & STEP_AWAITS && at_least(end, replay->event[step->event]) != REPLAY_LONG_AGO)
		end = at_least(end, replay->event[step->event]) +
			(stream->awaits ? 0 : replay->event_wait);
	if (step->act & STEP_RECORDS)
		replay->event[step->event] = end;
	if (stream) {
		stream->tail = end;
		stream->awaits = !!(step->act & STEP_AWAITS);
		stream->host_work = !!(step->act & STEP_HOST_WORK);
	}
	if (step->exec != REPLAY_NONE)
		replay->exec[step->exec] = end;
	if (!context)
		return;
	raise_to(&context->all, end);
	if (step->stream_kind == STREAM_KIND_LEGACY)
		raise_to(&context->legacy, end);
	else if (stream_is_blocking(step->stream_kind))
		raise_to(&context->blocking, end);
	if (other && step->stream_kind == STREAM_KIND_LEGACY) {
		raise_to(&other->all, end);
		raise_to(&other->legacy, end);
	}
}

/*
 * An engine runs one operation at a time.  Calls are replayed in the order in which they were made,
 * not in the order in which their operations run, so an operation may fit into a gap before that of
 * an earlier call.
 */
int64_t booking_reserve(struct booking *booking, int64_t ready, int64_t length)
{
	size_t low, end;

	if (booking->count == BOOKINGS) {
		booking->count--;
		booking->first++;
	}
	/* When the array is full, intervals move to the front: once in 7 * BOOKINGS calls. */
	if (booking->first + booking->count == sizeof(booking->taken) / sizeof(*booking->taken)) {
		memmove(booking->taken, booking->taken + booking->first,
			booking->count * sizeof(*booking->taken));
		booking->first = 0;
	}
	/* The first interval that ends after ready, then the first with enough room before it. */
	low = booking->first +
		sorted_after(booking->taken + booking->first, booking->count,
			sizeof(*booking->taken), offsetof(struct span, until), ready);
	end = booking->first + booking->count;
	for (; low < end && booking->taken[low].from - ready < length; low++)
		raise_to(&ready, booking->taken[low].until);
	memmove(booking->taken + low + 1, booking->taken + low,
		(end - low) * sizeof(*booking->taken));
	booking->taken[low] = (struct span){ ready, ready + length };
	booking->count++;
	return ready;
}
