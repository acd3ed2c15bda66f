/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result that several waits are for is read after one of them, which no call shows.  Who waits
 * for all of a device has work of others in it by accident.
 *
 * A thread that waits for its own work itself does not leave it to the waits of others.
 *
 * Who waits for a result again did not rely on the wait before: a wait for a stream or an event
 * that finds the result complete is for that result and nothing else.  Of the same thread it counts
 * if work was submitted in between, the stream's next result follows, and the first wait has a
 * result that nobody waits for again; else it may be a habit, as before memory is used again or at
 * the end.  Another thread may have been handed the result; whether the first one had read it is
 * not known.
 */
#include <stdlib.h>

#include "bounds.h"
#include "needs_internal.h"

/* The last result of a stream that the host waited for. */
struct awaited_result {
	struct touch result;
	size_t count;
	struct awaited_wait {
		size_t number; /* in orders.found.host, from 1 */
		unsigned again;
	} wait[NEEDS_BESIDE]; /* the first ones of their threads */
};

static uint32_t thread_of(const struct orders *orders, uint32_t call)
{
	return run_call(orders->run, call)->thread;
}

int needs_again_left(const struct orders *orders, const struct walk_call *call,
	const struct touch *result)
{
	const struct run *run = orders->run;
	const struct run_call *next = run_call(run, result->call);
	uint32_t id = result->call, stream = next->stream;

	if (next->thread == call->thread)
		return 0;
	do {
		id = run_link(run, id)->next;
		next = id ? run_call(run, id) : NULL;
	} while (next && !call_is_wait(next->kind) &&
		(!kind_has(next->kind, K_WORK) || kind_has(next->kind, K_MARKER)) &&
		kind_waits(next->kind) == WAITS_NOTHING);
	return next && call_is_wait(next->kind) &&
		((kind_waits(next->kind) == WAITS_CONTEXT &&
			 run_payload(run, next)->context == run_stream(run, stream)->context) ||
			(kind_waits(next->kind) == WAITS_STREAM && next->stream == stream));
}

void needs_again_once(struct host_wait *wait, const struct touch *result)
{
	if (result->end > wait->once_end) {
		wait->once_end = result->end;
		wait->once = result->call;
	}
}

static void settle(struct orders *orders, struct awaited_result *awaited, int has_next)
{
	const struct touch *result = &awaited->result;

	for (size_t i = 0; i < awaited->count; i++) {
		struct host_wait *wait = &orders->found.host[awaited->wait[i].number - 1];
		unsigned again = awaited->wait[i].again & ~(has_next ? 0U : AGAIN_LATER);

		if (!again)
			needs_again_once(wait, result);
		else
			wait->again_end = at_least(wait->again_end, result->end);
		wait->again |= (uint8_t)again;
	}
}

void needs_again_first(struct orders *orders, struct host_wait *wait, const struct touch *result)
{
	struct awaited_result *awaited =
		id_map_need(&orders->awaited, result->stream, sizeof(*awaited));

	if (awaited->result.call != result->call) {
		settle(orders, awaited, result->call > awaited->result.call);
		*awaited = (struct awaited_result){ .result = *result };
	}
	if (awaited->count < NEEDS_BESIDE)
		awaited->wait[awaited->count++].number = orders->found.host_count + 1;
	else
		needs_again_once(wait, result);
}

void needs_again_later(struct orders *orders, const struct walk_call *call, struct host_wait *wait,
	const struct order_cover *cover, size_t row)
{
	const struct recent_thing *shown = orders_shown_of(orders, call->process, SHOWN);

	if (kind_waits(call->kind) == WAITS_CONTEXT)
		return;
	for (size_t i = 0; shown && i < shown->count; i++) {
		const struct touch *last = &shown->ring[i].last;
		struct awaited_result *awaited = id_map_get(&orders->awaited, last->stream);

		if (!awaited || awaited->result.call != last->call || last->end > wait->enter ||
			!(call->event || last->stream == call->stream) ||
			!order_cover_has(cover, &last->loose[WITHOUT_HOST_WAITS]))
			continue;
		for (size_t k = 0; k < awaited->count; k++) {
			struct awaited_wait *first = &awaited->wait[k];
			const struct host_wait *other = &orders->found.host[first->number - 1];
			int is_same = thread_of(orders, other->call) == call->thread;

			if (other->exit > wait->enter)
				continue;
			first->again |= !is_same       ? AGAIN_OTHER
				: first->number >= row ? AGAIN_ROW
						       : AGAIN_LATER;
			if (first->again & AGAIN_ROW)
				continue;
			wait->replaces = wait->replaces ? wait->replaces : other->call;
		}
	}
}

void needs_again_finish(struct orders *orders)
{
	for (struct id_map_slot *at = NULL; (at = id_map_next(&orders->awaited, at));)
		settle(orders, at->object, 0);
	for (size_t i = 0; i < orders->found.host_count; i++) {
		struct host_wait *wait = &orders->found.host[i];
		int is_left = wait->again == AGAIN_OTHER && wait->once_end == INT64_MIN;

		if (wait->again & AGAIN_ROW || wait->until != wait->again_end ||
			wait->once_end >= wait->until ||
			(wait->once_end == INT64_MIN && !is_left)) {
			wait->again &= AGAIN_SUBMITTER;
			continue;
		}
		wait->until = wait->once_end;
		wait->needed = wait->once;
		wait->looked &= !is_left;
	}
}
