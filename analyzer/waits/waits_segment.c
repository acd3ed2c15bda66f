/* SPDX-License-Identifier: Apache-2.0 */
#include "waits_segment.h"

#include "conflict.h"
#include "constants.h"
#include "order_path.h"
#include "places.h"
#include "run_columns.h"
#include "sharing.h"
#include "waits.h"
#include "scope.h"
#include "words.h"

static int is_held(const struct run *run, int64_t call)
{
	return run_wait_of(&run->evidence, call) != NULL;
}

/* A copy from pageable memory is staged, and a small one does nothing else. */
static int may_not_wait(const struct walk_call *call)
{
	if (scope_of(call) == SCOPE_STREAM)
		return call_is_async_copy(call->kind) && !scope_includes_own(call);
	return scope_empties_device(call) && scope_of(call) != SCOPE_NONE;
}

static int is_side_effect(const struct wait *wait)
{
	return !wait->is_copy && !wait->is_async && wait->kind != WAIT_STAGED &&
		wait->kind != WAIT_EXPLICIT;
}

/*
 * A call that waits as a side effect and the synchronous copies to the device after it are one
 * mistake, fixed together: the second one would wait in place of the first.  A copy to the host
 * waits on purpose, and begins its own row: the results of a round, fetched one by one.  After a
 * side effect both costs are computed: for the first call alone, and for both.
 */
static int is_about_results(const struct wait *wait)
{
	return wait->to_host || wait->past_results;
}

static int is_of_row(const struct walk_call *call, const struct wait *wait)
{
	return (wait->on_default || is_side_effect(wait)) && wait->next->row_count < SEGMENT_ROW &&
		call_is_sync(call->kind) &&
		(call->stream_kind == STREAM_KIND_LEGACY ||
			call->stream_kind == STREAM_KIND_THREAD) &&
		scope_of(call) != SCOPE_NONE && call->direction != COPY_H2H &&
		(is_about_results(wait) || call->direction != COPY_D2H);
}

/*
 * An Async copy and the pageable ones after it in its stream are one row too: the fix that pins one
 * result's memory pins the next one's.
 */
static int is_of_async_row(const struct walk_call *call, const struct wait *wait)
{
	return wait->is_async && wait->kind != WAIT_STAGED && wait->kind != WAIT_EXPLICIT &&
		wait->next->async_count < SEGMENT_ROW && call_is_async_copy(call->kind) &&
		call->stream == wait->itself.stream && scope_of(call) != SCOPE_NONE;
}

/*
 * Is it a line of a script, or one that calls a library of CUDA's that fetches results into memory
 * of the host unless it is told not to (pointer mode)?  The line does not show the wait.
 */
static int is_script(struct segments *s, int64_t place)
{
	int rc = db_bind(s->is_script, "i", place) ? -1 : db_step(s->is_script);

	sqlite3_reset(s->is_script);
	return rc;
}

int segments_of_script(struct segments *s, int64_t call)
{
	int64_t place = places_site(s->places, call);

	return place < 0 ? -1 : place ? is_script(s, place) : 0;
}

/* Is it an explicit wait, or an equivalent: a copy of another device's result? */
static int waits_for_all(const struct walk_call *call, const struct wait *wait)
{
	return scope_is_explicit(call) ||
		(call_is_sync_copy(call->kind) && call->direction == COPY_D2H &&
			call->stream_context != wait->behind.context);
}

/*
 * Returns 1 if after a copy to the host the thread waits for the remaining work: then the next
 * round follows.  Returns 0 if it had observed that complete, as with the events of a ring of
 * buffers.
 */
static int closes_round(struct segments *s, const struct walk_call *call, const struct wait *wait)
{
	int other;

	if (!is_about_results(wait) || !waits_for_all(call, wait))
		return 0;
	if (map_get(&s->run->evidence.knows, (uint64_t)call->id, 0))
		return 0;
	other = segments_of_script(s, wait->call);
	return other < 0 ? -1 : !other;
}

/* Returns 1 if the call would have waited for the operation, had that still been pending. */
static int covers(struct segments *s, const struct walk_call *call, const struct wait *wait)
{
	int found;

	if (call->result)
		return 0;
	found = closes_round(s, call, wait);
	if (found)
		return found;
	if (may_not_wait(call) || is_of_row(call, wait) || is_of_async_row(call, wait)) {
		int any = may_not_wait(call) && !is_of_async_row(call, wait);

		if (!(any ? is_held(s->run, call->id) : wait_is_for_others(s->run, call->id)))
			return 0;
	}
	switch (scope_requested(call)) {
	case SCOPE_NONE:
		return 0;
	case SCOPE_PROCESS:
		return 1;
	case SCOPE_DEVICE:
		return call->device == wait->behind.device;
	case SCOPE_CONTEXT:
		return call->context == wait->behind.context;
	case SCOPE_STREAM:
	case SCOPE_OWN:
		if (call->stream == wait->behind.stream)
			return 1;
		break;
	case SCOPE_EVENT:
	case SCOPE_LEGACY:
		break;
	}
	return order_path_exists(s->path, call->id, wait->behind.call);
}

/* Legacy work and the work of blocking streams run one after the other. */
static int legacy_orders(const struct walk_call *call, const struct wait *wait)
{
	if (call->stream_kind == STREAM_KIND_LEGACY)
		return stream_is_blocking(wait->behind.kind);
	return wait->next->legacy && stream_is_blocking(call->stream_kind) &&
		(stream_is_blocking(wait->behind.kind) || wait->behind.kind == STREAM_KIND_LEGACY);
}

/* Did the call's stream exist when another call was made?  Default streams always do. */
static int exists_since(const struct run *run, const struct walk_call *call, int64_t since)
{
	return run_stream(run, call->stream)->created <= since;
}

/* Finds the copies of the row that do not order the call after the operation by their data. */
static int find_moved(struct segments *s, const struct walk_call *call, const struct wait *wait,
	struct segment *moved)
{
	moved->row_count = 0;
	for (size_t i = 0; i < wait->next->row_count; i++) {
		int needed = sharing_between(s->sharing, wait->next->row[i], wait->behind.call,
			call->id);

		if (needed < 0)
			return -1;
		if (!needed)
			moved->row[moved->row_count++] = wait->next->row[i];
	}
	return 0;
}

/*
 * Returns whether a later call's work must come after the operation; -1 after a message.  An order
 * by a copy in a default stream is not required, unless the copy orders the two by its data.
 */
static int comes_after(struct segments *s, const struct walk_call *call, const struct wait *wait)
{
	struct segment moved = { .until = 0 };
	int after;

	if (call->stream == wait->behind.stream || legacy_orders(call, wait))
		return 1;
	/*
	 * The wait for a result comes before objects made for the next result, including streams.
	 */
	if (is_about_results(wait) && !exists_since(s->run, call, wait->call))
		return 1;
	if (find_moved(s, call, wait, &moved))
		return -1;
	after = order_path_exists_moved(s->path, call->id, wait->behind.call, moved.row,
		moved.row_count);
	return after ? after
		     : access_may_conflict(s->reader, wait->behind.call, call->id, CONFLICT_SHOWN);
}

/* Adds a call that does not cover the operation to the segment. */
static int add_call(struct segments *s, const struct walk_call *call, const struct wait *wait)
{
	int after, leaves;

	wait->next->until = call->exit;
	/* A call that drains the device does its own work only then: never concurrently. */
	if (scope_of(call) != SCOPE_NONE &&
		(scope_empties_device(call) || call->exit - call->enter > BLOCKED_MIN_NS)) {
		wait->next->elsewhere += call->exit - call->enter;
		if (spans_add(&wait->next->spans, SPAN_ELSEWHERE, call->enter, call->exit))
			return -1;
	}
	if (!walk_submits(call) || call->result)
		return 0;
	wait->next->submits = 1;
	if (is_of_row(call, wait)) {
		wait->next->row[wait->next->row_count++] = call->id;
		return 0;
	}
	leaves = wait->leaves && is_of_async_row(call, wait);
	if (is_of_async_row(call, wait))
		wait->next->async_count++;
	after = comes_after(s, call, wait);
	if (after < 0)
		return -1;
	if (leaves && wait->next->row_count < SEGMENT_ROW)
		wait->next->row[wait->next->row_count++] = call->id;
	else if (call->stream_kind == STREAM_KIND_LEGACY)
		wait->next->legacy = 1;
	if (call->op_start == WALK_NEVER || call->op_end == WALK_NEVER)
		return 0;
	if (after)
		wait->next->after = 1;
	else
		wait->next->apart += call->op_end - call->op_start;
	if (call->op_end > wait->next->last_end)
		wait->next->last_end = call->op_end;
	return spans_add(&wait->next->spans, after ? SPAN_AFTER : SPAN_APART, call->op_start,
		call->op_end);
}

/* Is the segment already as long as the wait?  No more than that is avoidable. */
static int is_long_enough(const struct wait *wait)
{
	return (!wait->next->after && wait->next->apart >= wait->waited) ||
		wait->next->until - wait->exit - wait->next->elsewhere >= wait->waited;
}

int segments_own_apart(struct segments *s, const struct wait *wait)
{
	int conflict =
		access_may_conflict(s->reader, wait->behind.call, wait->call, CONFLICT_UNNAMED);

	return conflict < 0 ? -1 : !conflict;
}

int segments_of_one_line(struct segments *s, int64_t call, int64_t other)
{
	int64_t place = places_site(s->places, call);

	if (place <= 0 || places_site(s->places, other) != place)
		return place < 0 ? -1 : 0;
	return is_script(s, place);
}

/* The program's own wait in the line of an Async copy is not a separate wait. */
static int belongs_to_copy(struct segments *s, const struct walk_call *call, struct wait *wait)
{
	int rc;

	if (!wait->is_async || wait->partner || !scope_is_explicit(call))
		return 0;
	rc = segments_of_one_line(s, wait->call, call->id);
	if (rc > 0)
		wait->partner = call->id;
	return rc;
}

/* This copy, which covers the operation, would wait only without the side effect. */
static int is_result_behind(const struct segments *s, const struct walk_call *call,
	const struct wait *wait)
{
	return is_side_effect(wait) && !wait->past_results && call_is_sync_copy(call->kind) &&
		call->direction == COPY_D2H && !wait_is_for_others(s->run, call->id);
}

/* Returns 1 if *segment is closed, 0 to continue with the next call, -1 after a message. */
static int process_call(struct segments *s, const struct walk_call *call, struct wait *wait)
{
	int found = covers(s, call, wait), belongs;

	if (found > 0) {
		belongs = belongs_to_copy(s, call, wait);
		if (belongs)
			return belongs < 0 ? -1 : 0;
		wait->result = is_result_behind(s, call, wait) ? call->id : 0;
		wait->next->until = call->enter;
		return 1;
	}
	if (found < 0 || add_call(s, call, wait))
		return -1;
	return is_long_enough(wait);
}

/* Was the thread's last work before the wait a fetch of another device's result? */
static int has_fetched_elsewhere(const struct run *run, const struct wait *wait)
{
	for (int64_t id = wait->call - 1; id > 0; id--) {
		const struct run_call *call = run_call(run, id);
		const struct run_payload *payload;

		if (!call || call->thread != wait->thread || !call->stream ||
			call->kind == KIND_RUNTIME)
			continue;
		payload = run_payload(run, call);
		return call_is_sync_copy(call->kind) &&
			(payload->dst == MEMORY_PAGEABLE || payload->dst == MEMORY_PINNED) &&
			run_stream(run, call->stream)->context != wait->behind.context;
	}
	return 0;
}

/*
 * Returns 1 if the copy fetched the last of several devices' results, one by one: the next round
 * begins after it, also on the devices that had finished before.
 */
static int closes_fetching(struct segments *s, const struct wait *wait)
{
	int rc = wait->to_host ? segments_of_script(s, wait->call) : 1;

	if (rc)
		return rc < 0 ? -1 : 0;
	if (!has_fetched_elsewhere(s->run, wait))
		return 0;
	rc = segments_own_apart(s, wait);
	return rc < 0 ? -1 : !rc;
}

int segments_measure(struct segments *s, struct wait *wait)
{
	struct walk_call call;
	int rc = 0, taken;

	wait->next->until = wait->exit;
	wait->next->last_end = INT64_MIN;
	if (wait->on_default || wait->leaves)
		wait->next->row[wait->next->row_count++] = wait->call;
	taken = closes_fetching(s, wait);
	walk_thread_seek(s->walk, wait->thread, wait->call);
	for (int i = 0; i < SEGMENT_CALLS && !taken; i++) {
		rc = walk_thread_next(s->walk, &call);
		/* Work after recording stopped may have waited at once. */
		if (rc <= 0 || call.exit == WALK_NEVER || call.stretch != wait->stretch)
			break;
		if (call.exit > wait->exit) /* otherwise it was made within the wait */
			taken = process_call(s, &call, wait);
	}
	return rc < 0 || taken < 0 ? -1 : 0;
}

int segments_open(struct segments *s, struct db *db)
{
	s->walk = walk_thread_open(db);
	s->path = order_path_open(db);
	s->reader = access_open(db);
	s->sharing = s->reader ? sharing_open(db, s->reader) : NULL;
	s->words = words_open(db);
	s->places = s->words ? places_open(db, s->words) : NULL;
	s->is_script = db_prepare(db,
		"SELECT 1 FROM frame u WHERE u.site = ? AND u.user AND (u.code NOT NULL OR EXISTS"
		" (SELECT 1 FROM frame i JOIN module m ON m.id = i.module WHERE i.site = u.site"
		"  AND i.depth = 0 AND m.id <> u.module AND (m.path GLOB '*/libcublas*.so*'"
		"   OR m.path GLOB '*/libcusolver*.so*' OR m.path GLOB '*/libcusparse*.so*')))");
	s->run = db->run;
	return s->walk && s->path && s->sharing && s->places && s->is_script ? 0 : -1;
}

void segments_close(struct segments *s)
{
	sqlite3_finalize(s->is_script);
	places_close(s->places);
	words_close(s->words);
	sharing_close(s->sharing);
	access_close(s->reader);
	order_path_close(s->path);
	walk_thread_close(s->walk);
}
