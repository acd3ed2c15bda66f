/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which streams may have work in progress: those of calls since the last wait that covers them.  A
 * wait is left out if none that it waits for has any, so that no plan needs to know which calls of
 * a line repeat another wait.
 */
#include "fix_internal.h"

#define STREAMS 64

struct busy {
	CUcontext context;
	CUstream stream;
	uint64_t number; /* of the last begin or end of a call that submits to it; 0: none */
};

static struct {
	struct busy stream[STREAMS];
	struct busy rest; /* streams that are not known, or one too many; in its context */
	int mixed;        /* in several contexts: it is busy for ever */
	uint64_t numbers; /* so far */
	_Atomic int lock;
} all;

/* The stream that a call names, NULL: unknown, or a default stream. */
static CUstream named(const struct fixed_call *call)
{
	CUstream stream = fixed_stream(call);

	return stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
			kind_has(call->kind, K_ANY_STREAM)
		? NULL
		: stream;
}

static void note_work(const struct fixed_call *call, CUcontext context)
{
	CUstream stream = named(call);
	struct busy *place = stream ? NULL : &all.rest;

	for (unsigned i = 0; i < STREAMS && stream; i++) {
		struct busy *known = &all.stream[i];

		if (known->number && known->context == context && known->stream == stream) {
			place = known;
			break;
		}
		if (!known->number && !place)
			place = known;
	}
	if (!place)
		place = &all.rest;
	all.mixed |= place == &all.rest && place->number && place->context != context;
	*place = (struct busy){ context, stream, ++all.numbers };
}

static int waits(const struct fixed_call *call)
{
	return kind_family(call->kind) == FAMILY_wait;
}

/* What has begun may submit until it ends, and who hears of its end may wait for it. */
void repeated_pass(struct fixed_call *call)
{
	CUcontext context = fix_context();

	fix_lock(&all.lock);
	call->submitted = all.numbers;
	if (kind_has(call->kind, K_WORK | K_SILENT | K_MARKER | K_ANY_STREAM))
		note_work(call, context);
	fix_unlock(&all.lock);
}

int repeated_wait(const struct fixed_call *call)
{
	CUstream stream = call->kind == KIND_STREAM_SYNC ? named(call) : NULL;
	CUcontext context = fix_context();
	int idle;

	fix_lock(&all.lock);
	idle = !all.rest.number && !all.mixed;
	for (unsigned i = 0; i < STREAMS && idle; i++)
		idle = !all.stream[i].number ||
			(stream &&
				(all.stream[i].stream != stream ||
					all.stream[i].context != context));
	fix_unlock(&all.lock);
	return idle && waits(call);
}

/* A wait has succeeded: what ended before it began is over. */
void repeated_note(const struct fixed_call *call)
{
	int whole = kind_waits(call->kind) == WAITS_CONTEXT;
	CUstream stream = call->kind == KIND_STREAM_SYNC ? named(call) : NULL;
	CUcontext context = fix_context();

	if (!waits(call) || !(whole || stream))
		return;
	fix_lock(&all.lock);
	for (unsigned i = 0; i <= STREAMS; i++) {
		struct busy *place = i < STREAMS ? &all.stream[i] : &all.rest;

		if (place->context == context && place->number <= call->submitted &&
			(whole || place->stream == stream))
			place->number = 0;
	}
	fix_unlock(&all.lock);
}
