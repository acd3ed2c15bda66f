/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's order as times: work starts at the maximum of the ends of the work that it comes after.
 */
#include "replay_parts.h"

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void raise_to(int64_t *time, int64_t to)
{
	if (*time < to)
		*time = to;
}

void replay_begin(struct replay *replay)
{
	for (size_t i = 0; i < replay->threads.count; i++)
		replay->thread[i] = (struct replay_thread){ .now = REPLAY_LONG_AGO,
			.ahead = REPLAY_NEVER,
			.join = REPLAY_NONE,
			.last = REPLAY_NONE };
	for (size_t i = 0; i < replay->streams.count; i++)
		replay->stream[i] =
			(struct replay_stream){ .tail = REPLAY_LONG_AGO, .since = REPLAY_LONG_AGO };
	for (size_t i = 0; i < replay->aparts.count; i++)
		replay->apart[i] = REPLAY_LONG_AGO;
	for (size_t i = 0; i < replay->events.count; i++)
		replay->event[i] = REPLAY_LONG_AGO;
	for (size_t i = 0; i < replay->execs.count; i++)
		replay->exec[i] = REPLAY_LONG_AGO;
	for (size_t i = 0; i < replay->contexts.count; i++)
		replay->context[i] = (struct replay_context){ REPLAY_LONG_AGO, REPLAY_LONG_AGO,
			REPLAY_LONG_AGO, replay->context[i].device };
	for (size_t i = 0; i < replay->memories.count; i++)
		replay->memory[i] = replay->memory_all[i] =
			(struct memory_use){ REPLAY_LONG_AGO, REPLAY_LONG_AGO };
	replay->holder = (struct replay_holder){ REPLAY_NONE, REPLAY_LONG_AGO, REPLAY_LONG_AGO,
		REPLAY_LONG_AGO };
	for (int i = 0; i < replay->device_count * ENGINE_COUNT; i++)
		replay->booking[i].count = 0;
}

static struct replay_context *context_of(const struct replay *replay, uint32_t number)
{
	return number == REPLAY_NONE ? NULL : &replay->context[number];
}

/* Returns the end of the work that the context's legacy stream comes after; context may be NULL. */
static int64_t legacy_of(const struct replay_context *context)
{
	return context ? later(context->legacy, context->blocking) : REPLAY_LONG_AGO;
}

int64_t replay_ready(const struct replay *replay, const struct replay_step *step)
{
	const struct replay_context *context = context_of(replay, step->context);
	int64_t ready = REPLAY_LONG_AGO;

	if (step->stream != REPLAY_NONE)
		ready = replay->stream[step->stream].tail;
	if (step->exec != REPLAY_NONE)
		ready = later(ready, replay->exec[step->exec]);
	if (!context)
		return ready;
	if (step->stream_kind == STREAM_KIND_LEGACY)
		ready = later(ready,
			later(legacy_of(context),
				legacy_of(context_of(replay, step->other_context))));
	else if (stream_is_blocking(step->stream_kind))
		ready = later(ready, context->legacy);
	return ready;
}

static int64_t of_device(const struct replay *replay, int device)
{
	int64_t end = REPLAY_LONG_AGO;

	for (size_t i = 0; i < replay->contexts.count; i++)
		if (device < 0 || replay->context[i].device == device)
			end = later(end, replay->context[i].all);
	return end;
}

int64_t replay_scope(const struct replay *replay, const struct replay_step *step)
{
	const struct replay_context *context =
		step->context == REPLAY_NONE ? NULL : &replay->context[step->context];
	const struct replay_stream *stream =
		step->stream == REPLAY_NONE ? NULL : &replay->stream[step->stream];

	switch ((enum scope)step->scope) {
	case SCOPE_EVENT:
		return step->event == REPLAY_NONE ? REPLAY_LONG_AGO : replay->event[step->event];
	case SCOPE_OWN:
		return stream ? stream->tail : REPLAY_LONG_AGO;
	case SCOPE_STREAM:
		return replay_ready(replay, step);
	case SCOPE_LEGACY:
		return legacy_of(context);
	case SCOPE_CONTEXT:
		return context ? context->all : REPLAY_LONG_AGO;
	case SCOPE_DEVICE:
		return of_device(replay, step->device);
	case SCOPE_PROCESS:
		return of_device(replay, -1);
	default:
		return REPLAY_LONG_AGO;
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
	struct replay_context *context = context_of(replay, step->context);
	struct replay_context *other = context_of(replay, step->other_context);

	if (step->act & STEP_AWAITS && later(end, replay->event[step->event]) != REPLAY_LONG_AGO)
		end = later(end, replay->event[step->event]) +
			(replay->stream[step->stream].awaits ? 0 : replay->event_wait);
	if (step->act & STEP_RECORDS)
		replay->event[step->event] = end;
	if (step->stream != REPLAY_NONE) {
		replay->stream[step->stream].tail = end;
		replay->stream[step->stream].awaits = !!(step->act & STEP_AWAITS);
		replay->stream[step->stream].host_work = !!(step->act & STEP_HOST_WORK);
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
