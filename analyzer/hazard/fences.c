/* SPDX-License-Identifier: Apache-2.0 */
#include "fences.h"

#include <stdlib.h>
#include <string.h>

#include "scope.h"

/* Number kept: records of an event, event waits of a stream and host waits for a stream. */
enum { RECORDS = 4, WAITS = 16, HOST_WAITS = 4 };

struct event_record {
	int64_t call, stream; /* call 0: none */
};

struct recorded {
	struct event_record last[RECORDS]; /* a ring */
	unsigned count;                    /* in all */
	int used;         /* a call other than its records names it, cuEventElapsedTime included */
	int waited_first; /* a stream waited for it before the first record */
};

struct stream_wait {
	int64_t call, event, stream, context;
	struct event_record used; /* call 0: the event was never recorded */
};

/* From call `at` on, the host has observed complete what was submitted before call `upto`. */
struct host_waits {
	struct {
		int64_t upto, at;
	} last[HOST_WAITS]; /* a ring */
	unsigned count;
};

struct waited {
	struct stream_wait last[WAITS]; /* a ring */
	unsigned count;
	struct host_waits host;
};

static struct event_record last_record(const struct recorded *recorded)
{
	return recorded && recorded->count ? recorded->last[(recorded->count - 1) % RECORDS]
					   : (struct event_record){ 0, 0 };
}

/* A record without a call of its own: by a graph node, or by code that is not recorded. */
#define ELSEWHERE ((struct event_record){ -1, 0 })

static void note_recent(struct fences *fences, const struct stream_wait *wait)
{
	fences->recent[fences->waits++ % FENCES_RECENT] = (struct recent_wait){ wait->call,
		wait->stream, wait->used.call, wait->used.stream };
}

static void add_host_wait(struct host_waits *waits, int64_t upto, int64_t at)
{
	unsigned next = waits->count++ % HOST_WAITS;

	waits->last[next].upto = upto;
	waits->last[next].at = at;
}

static int note_stream_wait(struct fences *fences, int64_t stream, int64_t upto, int64_t at)
{
	struct waited *waited =
		stream ? id_map_need(&fences->streams, stream, sizeof(*waited)) : NULL;

	if (waited)
		add_host_wait(&waited->host, upto, at);
	return !stream || waited ? 0 : -1;
}

/* The host waits, or a query returns that all work is complete. */
static int note_host_wait(struct fences *fences, const struct walk_call *call)
{
	enum scope scope = scope_requested(call);
	struct host_waits *context;
	struct event_record record;

	if (scope == SCOPE_EVENT) {
		record = last_record(id_map_get(&fences->events, call->event));
		return note_stream_wait(fences, record.stream, record.call, call->id);
	}
	if (scope < SCOPE_CONTEXT)
		return note_stream_wait(fences, call->stream, call->id, call->id);
	context = id_map_need(&fences->contexts, call->context, sizeof(*context));
	add_host_wait(context, call->id, call->id);
	return 0;
}

static int note_use(struct fences *fences, int64_t event)
{
	struct recorded *recorded =
		event ? id_map_need(&fences->events, event, sizeof(*recorded)) : NULL;

	if (recorded)
		recorded->used = 1;
	return !event || recorded ? 0 : -1;
}

/* Any call but its record: it may wait, ask, export the event or add it to a graph. */
static int uses_event(const struct walk_call *call)
{
	return kind_family(call->kind) != FAMILY_event && call->kind != KIND_EVENT_CREATE;
}

int fences_process_call(struct fences *fences, const struct order *order,
	const struct walk_call *call)
{
	if (uses_event(call) && (note_use(fences, call->event) || note_use(fences, call->event2)))
		return -1;
	if (call->result)
		return 0;
	if (call_is_wait(call->kind) || kind_has(call->kind, K_POLLS))
		return note_host_wait(fences, call);
	if (!call->event || !call->stream)
		return 0;
	if (call->kind == KIND_EVENT_RECORD) {
		struct recorded *recorded =
			id_map_need(&fences->events, call->event, sizeof(*recorded));

		recorded->last[recorded->count++ % RECORDS] =
			(struct event_record){ call->id, call->stream };
		fences->recorded[fences->records++ % FENCES_RECENT] =
			(struct recent_record){ call->id, call->stream, call->event };
		return 0;
	}
	if (call->kind == KIND_STREAM_WAIT) {
		struct recorded *recorded =
			id_map_need(&fences->events, call->event, sizeof(*recorded));
		struct event_record used = last_record(recorded);
		struct stream_wait wait;
		struct waited *waited =
			id_map_need(&fences->streams, call->stream, sizeof(*waited));

		recorded->waited_first |= !recorded->count;
		wait = (struct stream_wait){ .call = call->id,
			.event = call->event,
			.stream = call->stream,
			.context = call->stream_context,
			.used = !used.call && order_event_is_recorded(order, call->event)
				? ELSEWHERE
				: used };
		waited->last[waited->count++ % WAITS] = wait;
		note_recent(fences, &wait);
	}
	return 0;
}

/* Returns the event's last record after the earlier operation and within these calls, 0: none. */
static int64_t find_record(const struct recorded *recorded, const struct operation_point *earlier,
	int64_t after, int64_t before)
{
	for (unsigned i = 0; recorded && i < RECORDS && i < recorded->count; i++) {
		const struct event_record *record =
			&recorded->last[(recorded->count - 1 - i) % RECORDS];

		if (record->stream == earlier->stream && record->call > earlier->call &&
			record->call > after && record->call < before)
			return record->call;
	}
	return 0;
}

static int host_observed(const struct host_waits *waits, int64_t submitted, int64_t at)
{
	for (unsigned i = 0; waits && i < HOST_WAITS && i < waits->count; i++)
		if (waits->last[i].upto >= submitted && waits->last[i].at < at)
			return 1;
	return 0;
}

/*
 * The stream of the earlier operation waited for work that the waiting stream recorded after its
 * wait.
 */
static int came_back(const struct waited *waited, const struct stream_wait *wait,
	const struct operation_point *earlier)
{
	for (unsigned i = 0; waited && i < WAITS && i < waited->count; i++) {
		const struct stream_wait *back = &waited->last[i];

		if (back->used.stream == wait->stream && back->used.call > wait->call &&
			back->call < earlier->call)
			return 1;
	}
	return 0;
}

/*
 * The wait had another purpose: before the operation was submitted, the host had observed complete
 * what it waits for, or the operation itself comes after the wait.
 */
static int was_over(const struct fences *fences, const struct stream_wait *wait,
	const struct operation_point *earlier)
{
	const struct waited *recording = id_map_get(&fences->streams, wait->used.stream);
	const struct waited *waiting = id_map_get(&fences->streams, wait->stream);

	return wait->call < earlier->call &&
		(host_observed(id_map_get(&fences->contexts, wait->context), wait->call,
			 earlier->call) ||
			(waiting && host_observed(&waiting->host, wait->call, earlier->call)) ||
			(recording &&
				host_observed(&recording->host, wait->used.call, earlier->call)) ||
			came_back(recording, wait, earlier));
}

/* The wait and the record that it used; -1: code that is not recorded (ELSEWHERE). */
static struct fence fence_of(enum mistake_id why, int64_t wait, int64_t record)
{
	return (struct fence){ why, wait, record > 0 ? record : 0 };
}

/*
 * A wait before the earlier operation may be that of the previous turn, needed for what comes
 * before it; unless the program begins with it, and its event is recorded where it would order the
 * two.
 */
static struct fence explain(const struct fences *fences, const struct stream_wait *wait,
	const struct operation_point *earlier, const struct operation_point *later)
{
	const struct recorded *recorded = id_map_get(&fences->events, wait->event);
	int64_t record = find_record(recorded, earlier, wait->call, later->call);
	int is_of_earlier = wait->used.call && wait->used.stream == earlier->stream &&
		wait->used.call < earlier->call;

	if (was_over(fences, wait, earlier))
		return (struct fence){ 0 };
	if (record && (wait->call > earlier->call || recorded->waited_first))
		return fence_of(MISTAKE_early_wait, wait->call, record);
	if (wait->call < earlier->call)
		return (struct fence){ 0 };
	if (is_of_earlier)
		return fence_of(MISTAKE_early_record, wait->call, wait->used.call);
	if (!wait->used.call)
		return fence_of(MISTAKE_unrecorded_event, wait->call, 0);
	return find_record(recorded, earlier, 0, wait->used.call)
		? fence_of(MISTAKE_stale_event, wait->call, wait->used.call)
		: (struct fence){ 0 };
}

/* A stream that waits for its own work gains nothing. */
static int is_in_wrong_stream(const struct recent_wait *wait, const struct operation_point *earlier,
	const struct operation_point *later)
{
	return wait->call && wait->stream == wait->recorded_in &&
		wait->recorded_in == earlier->stream && wait->record > earlier->call &&
		wait->record < later->call;
}

static struct fence find_wrong_stream(const struct fences *fences,
	const struct operation_point *earlier, const struct operation_point *later)
{
	for (unsigned i = 0; i < FENCES_RECENT; i++) {
		const struct recent_wait *wait = &fences->recent[i];

		if (is_in_wrong_stream(wait, earlier, later))
			return fence_of(MISTAKE_wrong_stream, wait->call, wait->record);
	}
	return (struct fence){ 0 };
}

int fences_have_wait(const struct fences *fences, int64_t stream)
{
	const struct waited *waited = id_map_get(&fences->streams, stream);

	return waited && waited->count;
}

const struct recent_wait *fences_find_third(const struct fences *fences,
	const struct operation_point *earlier, const struct operation_point *later)
{
	for (unsigned i = 0; i < FENCES_RECENT && i < fences->waits; i++) {
		const struct recent_wait *wait =
			&fences->recent[(fences->waits - 1 - i) % FENCES_RECENT];

		if (wait->recorded_in == earlier->stream && wait->record > earlier->call &&
			wait->call < later->call && wait->stream != earlier->stream &&
			wait->stream != later->stream)
			return wait;
	}
	return NULL;
}

struct fence fences_explain(const struct fences *fences, const struct operation_point *earlier,
	const struct operation_point *later)
{
	const struct waited *waited = id_map_get(&fences->streams, later->stream);
	struct fence fence = { 0 };

	for (unsigned i = 0; waited && !fence.why && i < WAITS && i < waited->count; i++)
		fence = explain(fences, &waited->last[(waited->count - 1 - i) % WAITS], earlier,
			later);
	return fence.why ? fence : find_wrong_stream(fences, earlier, later);
}

struct fence fences_find_unused(const struct fences *fences, const struct operation_point *earlier,
	const struct operation_point *later)
{
	for (unsigned i = 0; i < FENCES_RECENT && i < fences->records; i++) {
		const struct recent_record *record =
			&fences->recorded[(fences->records - 1 - i) % FENCES_RECENT];
		const struct recorded *event = id_map_get(&fences->events, record->event);

		if (record->stream == earlier->stream && record->call > earlier->call &&
			record->call < later->call && !event->used)
			return fence_of(MISTAKE_unused_event, 0, record->call);
	}
	return (struct fence){ 0 };
}

void fences_settle(const struct fences *fences, const struct run *run, struct fence *fence)
{
	const struct run_call *record = fence->record ? run_call(run, fence->record) : NULL;
	const struct recorded *event =
		record ? id_map_get(&fences->events, run_payload(run, record)->event) : NULL;

	if (event && event->used && fence->why == MISTAKE_unused_event)
		*fence = (struct fence){ 0 };
}

/* The wait uses a record between the two operations. */
static int is_between(const struct event_record *used, const struct operation_point *earlier,
	const struct operation_point *later)
{
	return used->stream == earlier->stream && used->call > earlier->call &&
		used->call < later->call;
}

struct fence fences_explain_captured(const struct fences *fences,
	const struct operation_point *earlier, const struct operation_point *later)
{
	const struct waited *waited = id_map_get(&fences->streams, later->stream);
	struct fence fence = { 0 };

	for (unsigned i = 0; waited && !fence.why && i < WAITS && i < waited->count; i++) {
		const struct stream_wait *wait = &waited->last[(waited->count - 1 - i) % WAITS];

		if (wait->call < later->call)
			fence = explain(fences, wait, earlier, later);
		else if (is_between(&wait->used, earlier, later))
			fence = fence_of(MISTAKE_late_fence, wait->call, wait->used.call);
	}
	return fence;
}

int64_t fences_find_late(const struct fences *fences, const struct walk_call *wait,
	const struct operation_point *earlier, const struct operation_point *later)
{
	struct event_record used;

	if (wait->stream != later->stream || wait->id < later->call)
		return 0;
	used = last_record(id_map_get(&fences->events, wait->event));
	return is_between(&used, earlier, later) ? used.call : 0;
}

void fences_release(struct fences *fences)
{
	id_map_release(&fences->events, free);
	id_map_release(&fences->streams, free);
	id_map_release(&fences->contexts, free);
}
