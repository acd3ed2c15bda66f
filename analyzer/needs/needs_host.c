/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "constants.h"
#include "memory.h"
#include "needs_internal.h"
#include "polls.h"
#include "scope.h"
#include "stretches.h"

/* The last waits of a row that are followed: bits of find_unknown(). */
#define ROW_WINDOW 64

/* A thread, and its row of waits with no work submitted between them. */
struct waiter {
	size_t *row; /* numbers in orders.found.host */
	size_t row_count;
	/* Number of waits in the row with these set. */
	size_t timed_count, freed_count, unproven_count;
	size_t open[ROW_WINDOW]; /* waits of the row for which later work still counts */
	size_t open_count;
	struct order_epoch last;   /* of the work they delayed; set 0: several contexts */
	int in_row;                /* nothing was submitted since */
	struct order_clock *known; /* what it had observed complete before the current wait */
	uint32_t upload;           /* as of struct host_wait */
	uint8_t uploads;           /* as of struct host_wait */
	uint8_t submits;           /* it has submitted work since its last wait */
	int timed;          /* an event for an elapsed time was recorded since its last row */
	struct map seen[2]; /* stream -> number of its possible, and sure, results observed */
};

/* --- which waits --- */

void needs_host_known(struct needs_known *known)
{
	const struct run *run = known->run;
	int64_t waited = 0;

	for (uint32_t id = 1; id < run_call_end(run) && waited < SHOWN_MIN_NS; id++) {
		const struct run_call *call = run_call(run, id);
		int64_t exit = call ? run_exit(run, call, id) : RUN_NEVER;
		int64_t since = polls_since(run, id);

		if (exit != RUN_NEVER && call_is_wait(call->kind))
			since = call->enter;
		waited += exit != RUN_NEVER && since != INT64_MIN ? exit - since : 0;
	}
	known->has_host = waited >= SHOWN_MIN_NS;
	for (uint32_t id = 1; id < run_call_end(run) && known->has_host; id++) {
		const struct run_call *call = run_call(run, id);

		if (!call || call->kind != KIND_EVENT_ELAPSED)
			continue;
		map_set(&known->timed, run_payload(run, call)->event, 1);
		map_set(&known->timed, (uint64_t)run_object(run, id, OBJECT_EVENT), 1);
	}
}

static void free_waiter(void *object)
{
	struct waiter *waiter = object;

	free(waiter->row);
	order_clock_unref(waiter->known);
	map_release(&waiter->seen[0]);
	map_release(&waiter->seen[1]);
	free(waiter);
}

void needs_host_close(struct orders *orders)
{
	for (size_t i = 0; orders->live && i < LIVE_WAITS; i++)
		order_cover_release(&orders->live[i].cover);
	free(orders->live);
	id_map_release(&orders->threads, free_waiter);
	id_map_release(&orders->awaited, free);
}

/*
 * Returns the entry of the wait that ends with this call, INT64_MIN: the call is no removable wait.
 */
static int64_t wait_since(const struct orders *orders, const struct walk_call *call)
{
	int64_t since = polls_since(orders->run, call->id);

	if (since == INT64_MIN && scope_is_explicit(call) && !call->result &&
		call->exit != WALK_NEVER)
		since = call->enter;
	return since != INT64_MIN && call->stretch != STRETCH_NONE &&
			run_outer_site(orders->run, call->id)
		? since
		: INT64_MIN;
}

static int is_timed(const struct orders *orders, int64_t event)
{
	return event && map_get(&orders->known->timed, (uint64_t)event, 0);
}

static struct waiter *waiter_of(struct orders *orders, int64_t thread)
{
	return id_map_need(&orders->threads, thread, sizeof(struct waiter));
}

static struct host_wait *wait_at(const struct orders *orders, size_t number)
{
	return &orders->found.host[number - 1];
}

/* Returns NULL if the wait is too long ago. */
static struct live_wait *live_at(const struct orders *orders, size_t number)
{
	struct live_wait *live = &orders->live[number % LIVE_WAITS];

	return live->number == number ? live : NULL;
}

static struct order *loose(struct orders *orders)
{
	return &orders->loose[WITHOUT_HOST_WAITS].order;
}

/* The host needs the operation complete, which the wait is the first to be for. */
static void need(struct host_wait *wait, const struct touch *touch)
{
	if (touch->end > wait->until) {
		wait->until = touch->end;
		wait->needed = touch->call;
	}
}

/* --- waits in a row --- */

static size_t window_of(const struct waiter *waiter)
{
	return waiter->row_count > ROW_WINDOW ? waiter->row_count - ROW_WINDOW : 0;
}

/* Closes the row when the thread waits again, or in another call. */
static void close_row(struct orders *orders, struct waiter *waiter, int64_t now)
{
	for (size_t i = 0; i < waiter->row_count; i++) {
		struct host_wait *wait = wait_at(orders, waiter->row[i]);

		wait->usable += now > wait->exit ? now - wait->exit : 0;
	}
	waiter->row_count = waiter->timed_count = waiter->freed_count = waiter->open_count = 0;
	waiter->unproven_count = 0;
}

/* Is a later wait of the row for the same work: from the same site, or does it cover that work? */
static int covers_same_work(const struct orders *orders, size_t number, size_t later)
{
	const struct live_wait *one = live_at(orders, number), *other = live_at(orders, later);

	if (wait_at(orders, number)->site == wait_at(orders, later)->site)
		return 1;
	return later > number && one && other && one->behind.call &&
		order_cover_has(&other->cover, &one->behind.loose[WITHOUT_HOST_WAITS]);
}

/* Has the thread waited for all of it since? */
static int has_waited_since(struct orders *orders, size_t number, int64_t thread)
{
	const struct live_wait *live = live_at(orders, number);

	return !live || !live->behind.call ||
		order_knows(loose(orders), thread, &live->behind.loose[WITHOUT_HOST_WAITS]);
}

/*
 * Ends the row: the thread submits work or waits otherwise, so its results are complete.  Settles
 * what its waits were for, and which would wait in place of each.
 */
static void end_row(struct orders *orders, struct waiter *waiter, const struct walk_call *call)
{
	size_t from = walk_submits(call) ? window_of(waiter) : waiter->row_count;

	if (!waiter->in_row)
		return;
	waiter->in_row = 0;
	for (size_t at = from; at < waiter->row_count; at++) {
		size_t number = waiter->row[at], count = 0;
		struct host_wait *wait = wait_at(orders, number);
		int waited = has_waited_since(orders, number, call->thread);
		int lacks = wait->until == INT64_MIN && wait->behind && !waited;

		/* If a copy has waited for all of the work since, all of it counts as needed. */
		if (wait->until != INT64_MIN && !wait->looked && waited &&
			wait->behind_end > wait->until)
			wait->until = wait->behind_end;
		/* Without results of its own, it needs those of the waits for the same work. */
		for (size_t i = window_of(waiter); i < waiter->row_count && lacks; i++) {
			const struct host_wait *other = wait_at(orders, waiter->row[i]);

			if (i == at || other->until <= wait->until ||
				!covers_same_work(orders, number, waiter->row[i]))
				continue;
			wait->until = other->until;
			wait->needed = other->needed;
		}
		wait->until_also = -1;
		for (size_t i = at + 1; i < waiter->row_count && count < NEEDS_BESIDE; i++) {
			const struct host_wait *other = wait_at(orders, waiter->row[i]);

			if (other->site == wait->site ||
				other->exit - other->enter >= BLOCKED_MIN_NS ||
				!covers_same_work(orders, number, waiter->row[i]))
				continue;
			wait->also[count++] = other->call;
			if (wait->until_also < 0)
				wait->until_also = at_least(other->enter - wait->exit, 0);
		}
	}
}

/* --- the waits themselves --- */

/* Finds the last result of each stream that the thread had not observed before the wait. */
static void find_results(struct orders *orders, struct waiter *waiter, const struct walk_call *call,
	struct host_wait *wait, int is_sure)
{
	const struct recent_thing *shown =
		orders_shown_of(orders, call->process, is_sure ? SHOWN : SHOWN_MAYBE);
	struct map *all_seen = &waiter->seen[is_sure];

	for (size_t i = 0; shown && i < shown->count; i++) {
		struct recent_ring *ring = &shown->ring[i];
		int64_t seen = (int64_t)map_get(all_seen, (uint64_t)ring->stream, 0);
		const struct touch *touch;
		struct order_cover cover;
		int64_t last;

		if (seen == ring->count)
			continue;
		last = recent_last(ring,
			order_known_reach(&orders->full, call->thread, recent_agent(ring)));
		if (last < recent_oldest(ring) || last < seen)
			continue;
		map_set(all_seen, (uint64_t)ring->stream, (uint64_t)last + 1);
		touch = recent_at(ring, last);
		if (order_clock_strength(waiter->known, NULL, &touch->full) == ORDER_GUARANTEED)
			continue;
		wait->maybe |= !is_sure;
		if (!is_sure)
			continue;
		wait->looked = 1;
		if (needs_again_left(orders, call, touch)) {
			if (touch->end > wait->enter)
				wait->again |= AGAIN_SUBMITTER;
			continue;
		}
		need(wait, touch);
		needs_again_first(orders, wait, touch);
		cover = (struct order_cover){ .clock = touch->clock,
			.own = touch->loose[WITHOUT_HOST_WAITS] };
		order_thread_knows(loose(orders), call, &cover);
	}
}

/*
 * Returns 1 if it was the first wait for work whose accesses are not known from a call or PTX.
 * Work that is no longer kept counts as such.
 */
static int is_unproven(const struct orders *orders, const struct waiter *waiter,
	const struct walk_call *call)
{
	const struct recent_thing *unproven = recent_find(&orders->unproven, call->process);
	struct recent_ring *ring = unproven ? recent_newest(unproven) : NULL;

	for (; ring; ring = recent_older(unproven, ring)) {
		uint32_t reach = order_known_reach(&orders->full, call->thread, recent_agent(ring));
		int64_t last = recent_last(ring, reach);

		if (last < recent_oldest(ring)
				? reach && last >= 0
				: order_clock_strength(waiter->known, NULL,
					  &recent_at(ring, last)->full) != ORDER_GUARANTEED)
			return 1;
	}
	return 0;
}

/* Adds the wait to its row. */
static void add_wait(struct orders *orders, struct waiter *waiter, const struct host_wait *wait,
	struct live_wait *live)
{
	const struct order_epoch *behind = &live->behind.loose[WITHOUT_HOST_WAITS];
	struct needs_process *process = id_map_get(&orders->found.processes, wait->process);
	struct live_wait *place;

	*array_push(orders->found.host, orders->found.host_count) = *wait;
	live->number = orders->found.host_count;
	if (process) {
		orders->found.host[live->number - 1].apart = process->apart;
		process->latest = live->number;
		process->apart = 0;
	}
	*array_push(waiter->row, waiter->row_count) = live->number;
	place = &orders->live[live->number % LIVE_WAITS];
	order_cover_release(&place->cover);
	*place = *live;
	if (!live->behind.call)
		return;
	if (!waiter->open_count)
		waiter->last = *behind;
	if (waiter->last.set != behind->set)
		waiter->last.set = 0;
	if (waiter->last.seq < behind->seq)
		waiter->last.seq = behind->seq;
	if (waiter->open_count == ROW_WINDOW)
		memmove(waiter->open, waiter->open + 1,
			--waiter->open_count * sizeof(*waiter->open));
	waiter->open[waiter->open_count++] = live->number;
}

static int process_wait(struct orders *orders, const struct walk_call *call, int64_t since)
{
	struct order *full = &orders->full;
	const struct order_state *news = &full->needs[ORDER_WAIT];
	const struct needs_process *process = id_map_get(&orders->found.processes, call->process);
	struct waiter *waiter = waiter_of(orders, call->thread);
	struct host_wait wait = { .call = (uint32_t)call->id,
		.site = run_outer_site(orders->run, call->id),
		.process = (uint32_t)call->process,
		.enter = since,
		.exit = call->exit,
		.until = INT64_MIN,
		.ordered_end = INT64_MIN,
		.stand_in_end = INT64_MIN,
		.again_end = INT64_MIN,
		.once_end = INT64_MIN,
		.upload = waiter->upload,
		.uploads = waiter->uploads,
		.watches = !waiter->submits,
		.keeps = process && process->busy > call->exit,
		.timed = waiter->timed || is_timed(orders, call->event) };
	struct live_wait live = { 0 };
	const struct run_work *work;

	if (!waiter->in_row)
		close_row(orders, waiter, since);
	waiter->in_row = 1;
	/* Those right before it are no bound on how far the host runs ahead, either. */
	for (size_t i = window_of(waiter); i < waiter->row_count && !wait.keeps; i++)
		wait_at(orders, waiter->row[i])->keeps = 0;
	waiter->submits = 0;
	waiter->timed = 0;
	order_clock_unref(waiter->known);
	waiter->known = order_clock_ref(order_clock_of_thread(full, call->thread));
	order_cover_of(loose(orders), call, &live.cover);
	if (orders_without(orders, WITHOUT_HOST_WAITS, call)) {
		order_cover_release(&live.cover);
		return -1;
	}
	live.point = order_point_of_thread(full, call->thread);
	/* The operation that ended last, of those it was the first to wait for. */
	work = news->op ? run_work(orders->run, news->op) : NULL;
	if (work) {
		const struct touch *touch =
			orders_find(orders, run_call(orders->run, work->call)->stream, work->call);

		wait.behind = work->call;
		wait.behind_end = news->end;
		if (touch)
			live.behind = *touch;
	}
	needs_again_later(orders, call, &wait, &live.cover,
		waiter->row_count ? waiter->row[0] : orders->found.host_count + 1);
	find_results(orders, waiter, call, &wait, 1);
	find_results(orders, waiter, call, &wait, 0);
	wait.unproven = (uint8_t)is_unproven(orders, waiter, call);
	add_wait(orders, waiter, &wait, &live);
	return 0;
}

/* --- work between waits --- */

/* Returns a bit per wait of the window: results are unknown without that wait. */
static uint64_t find_unknown(struct orders *orders, const struct waiter *waiter, int64_t thread)
{
	size_t from = window_of(waiter);
	uint64_t unknown = 0;

	for (size_t i = from; i < waiter->row_count; i++)
		unknown |= (uint64_t)!has_waited_since(orders, waiter->row[i], thread)
			<< (i - from);
	return unknown;
}

/*
 * Notes what later calls say about the waits of the row.  unknown: of find_unknown(), before a call
 * that reads an elapsed time.
 */
static void mark_row(struct orders *orders, struct waiter *waiter, const struct walk_call *call,
	uint64_t unknown)
{
	int releases = kind_has(call->kind, K_RELEASES) && !kind_has(call->kind, K_MARKER);

	/*
	 * Frees memory or an object that the device may use, without a wait or a stream's order.
	 * cuMemRelease: "freed when all outstanding mappings to the memory are unmapped" (driver
	 * API).  cudaFree "will not perform any implicit synchronization when the pointer was
	 * allocated with cudaMallocAsync" (runtime API).
	 */
	if (call->kind == KIND_TEXTURE_DESTROY ||
		(releases && (kind_waits(call->kind) == WAITS_NOTHING || call->freed_async)))
		for (; waiter->freed_count < waiter->row_count; waiter->freed_count++)
			wait_at(orders, waiter->row[waiter->freed_count])->freed = 1;
	for (; orders->is_unproven && waiter->unproven_count < waiter->row_count;
		waiter->unproven_count++)
		wait_at(orders, waiter->row[waiter->unproven_count])->unproven = 1;
	/* cudaEventElapsedTime would fail without the waits that complete the events. */
	if (call->kind == KIND_EVENT_ELAPSED && !call->result) {
		uint64_t known = unknown & ~find_unknown(orders, waiter, call->thread);

		for (size_t i = window_of(waiter); i < waiter->row_count; i++, known >>= 1)
			wait_at(orders, waiter->row[i])->elapsed |= known & 1;
		for (; waiter->timed_count < waiter->row_count; waiter->timed_count++)
			wait_at(orders, waiter->row[waiter->timed_count])->timed = 1;
	}
	if (call->kind == KIND_EVENT_RECORD)
		waiter->timed |= is_timed(orders, call->event);
}

/* A thread that submits work after another one may rely on a wait, if on nothing of the device. */
static void follow_threads(struct orders *orders, struct needs_process *process,
	const struct walk_call *call)
{
	const struct run_call *last = run_call(orders->run, process->last);
	const struct touch *touch;

	if (!last || last->thread == call->thread)
		return;
	touch = orders_find(orders, last->stream, process->last);
	if (touch && orders_is_before_without(orders, WITHOUT_HOST_WAITS, touch))
		return;
	process->apart = 1;
	if (process->latest)
		wait_at(orders, process->latest)->apart = 1;
}

int needs_host_call(struct orders *orders, const struct walk_call *call)
{
	struct waiter *waiter = waiter_of(orders, call->thread);
	struct order_reaches *reaches = &orders->loose[WITHOUT_HOST_WAITS].reaches;
	const struct order_epoch *last = &waiter->last;
	struct needs_process *process;
	int uploads = call_is_async_copy(call->kind) && call->direction == COPY_H2D, is_after;
	int64_t since = wait_since(orders, call);
	uint64_t unknown = 0;

	if (since != INT64_MIN)
		return process_wait(orders, call, since);
	if (call->kind == KIND_EVENT_ELAPSED && !call->result)
		unknown = find_unknown(orders, waiter, call->thread);
	if (orders_all(orders, call))
		return -1;
	if (walk_submits(call)) {
		process = id_map_need(&orders->found.processes, call->process, sizeof(*process));
		if (!process->last)
			*process = (struct needs_process){ .busy = INT64_MIN,
				.others =
					(enum host_view_others)map_get(&orders->known->view.others,
						(uint64_t)call->process, OTHERS_NONE) };
		follow_threads(orders, process, call);
		process->last = call->id;
		if (call->op && call->op_end != WALK_NEVER)
			process->busy = at_least(process->busy, call->op_end);
		waiter->submits = 1;
		if (waiter->in_row)
			waiter->uploads = 0;
		waiter->uploads |= uploads && call->src == MEMORY_PAGEABLE;
		waiter->upload = uploads ? (uint32_t)call->id : 0;
		/*
		 * The work could have run concurrently with the work of the waits before it, unless
		 * it is after all of that: mostly the case after legacy work.  Time after a wait
		 * counts only up to its length.
		 */
		is_after = last->set &&
			order_reaches_set(reaches, loose(orders), last->set) >= last->seq;
		for (size_t i = 0; i < waiter->open_count && !is_after;) {
			const struct live_wait *live = live_at(orders, waiter->open[i]);
			struct host_wait *wait = wait_at(orders, waiter->open[i]);

			if (!live || wait->usable >= wait->exit - wait->enter) {
				waiter->open[i] = waiter->open[--waiter->open_count];
				continue;
			}
			i++;
			if (!orders_is_before_without(orders, WITHOUT_HOST_WAITS, &live->behind))
				wait->usable += call->op_busy;
		}
		if (!orders_fetches(call))
			end_row(orders, waiter, call);
	}
	mark_row(orders, waiter, call, unknown);
	if (scope_waited(call) && !scope_is_explicit(call) &&
		!(waiter->in_row && orders_fetches(call))) {
		end_row(orders, waiter, call);
		close_row(orders, waiter, call->enter);
	}
	return 0;
}

/* --- missing orders --- */

/* Returns the number of the last wait that orders the pair; 0: it is not known. */
static size_t find_last(struct orders *orders, const struct touch *earlier)
{
	size_t number = orders->found.host_count, last = 0;

	for (; number && live_at(orders, number); number--) {
		const struct live_wait *live = live_at(orders, number);
		struct host_wait *wait = wait_at(orders, number), *stand_in;

		if (wait->call < earlier->call)
			break;
		if (!orders_is_before(orders, &live->point) ||
			!order_cover_has(&live->cover, &earlier->loose[WITHOUT_HOST_WAITS]))
			continue;
		last = last ? last : number;
		if (!wait->behind)
			continue;
		/*
		 * Of two waits, of which the second has nothing to wait for, one is needed: right
		 * after the first that one, since the second is sure to be redundant; later the
		 * second, since time is lost before.
		 */
		stand_in = wait_at(orders, last);
		wait->unfenced |= last != number;
		if (last != number && stand_in->enter - wait->exit >= BLOCKED_MIN_NS) {
			stand_in->replaces = wait->call;
		} else if (last != number) {
			wait->stand_in = stand_in->site;
			wait->stand_in_end = at_least(wait->stand_in_end, earlier->end);
		}
		break;
	}
	return last;
}

void needs_host_lost_pair(struct orders *orders, const struct walk_call *later,
	const struct touch *earlier)
{
	const struct order *full = &orders->full;
	const struct waiter *waiter = waiter_of(orders, later->thread);
	uint32_t since = earlier ? earlier->call : 0;
	struct order_epoch point = full->epoch;
	const struct needs_kept *kept = NULL;
	struct host_wait *wait;
	size_t last;

	/* A wait that is needed anyway keeps them in order. */
	if (earlier)
		kept = needs_kept_by(&orders->kept[WITHOUT_HOST_WAITS], orders, later->thread,
			earlier);
	if (kept) {
		needs_note_fence(orders, kept->wait, later, earlier);
		return;
	}
	last = earlier ? find_last(orders, earlier) : 0;
	wait = last ? wait_at(orders, last) : NULL;
	if (!wait) {
		/* Any wait since may be it. */
		if (!orders->unknown_until || since < orders->unknown_since)
			orders->unknown_since = since;
		orders->unknown_until = orders->found.host_count;
		if (earlier && order_knows(full, later->thread, &earlier->full))
			point = order_point_of_thread(full, later->thread);
	} else if (waiter->in_row && waiter->row_count && orders_fetches(later) &&
		last >= waiter->row[0]) {
		/* The thread waited for what it copies to the host before it submits more. */
		need(wait, earlier);
		needs_again_once(wait, earlier);
		order_thread_waits(loose(orders), later, earlier->stream);
		return;
	} else {
		if (earlier->end > wait->ordered_end) {
			wait->ordered_end = earlier->end;
			wait->ordered = earlier->call;
		}
		point = live_at(orders, last)->point;
		needs_note_fence(orders, last, later, earlier);
	}
	if (earlier)
		needs_keep(&orders->kept[WITHOUT_HOST_WAITS], later->thread, earlier, point, last);
}

void needs_host_finish(struct orders *orders)
{
	for (size_t i = 0; i < orders->unknown_until; i++)
		if (orders->found.host[i].call >= orders->unknown_since)
			orders->found.host[i].ordered_end = INT64_MAX;
	needs_again_finish(orders);
}
