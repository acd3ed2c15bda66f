/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bounds.h"
#include "compare.h"
#include "constants.h"
#include "memory.h"
#include "needs_internal.h"
#include "scope.h"

/* Number of waits of a stream that later work is compared with. */
#define OPEN_WAITS 16

/* A wait during the walk; public members come first. */
struct open_wait {
	struct event_wait wait;
	struct order_epoch epoch; /* its position in its stream */
	struct order_cover cover; /* what its event captured */
	/* Results it covers that the host may read: the last of each stream. */
	struct touch *shown;
	size_t shown_count;
	const struct open_waits *of; /* its stream's waits, NULL: not reached by the walk yet */
	size_t number;               /* index among waits that delayed work, from 0 */
};

struct ring {
	struct open_wait *wait[OPEN_WAITS];
	size_t count;
};

/*
 * A stream's waits.  A wait that delayed nothing is used without cost: work after it needs no
 * earlier wait for the same operation.
 */
struct open_waits {
	struct ring held, idle;
	struct open_wait *first; /* first wait that delayed work */
	/* All of the first left_needed waits that were made since this call may be needed. */
	int64_t left_since;
	size_t left_needed;
	/* In order; the host has observed those before index observed complete. */
	struct open_wait **unobserved;
	size_t unobserved_count, observed;
};

/* --- which waits --- */

/* An operation that event waits delayed, and one of the waits. */
struct held {
	const struct run_hold *hold;
	uint32_t process, behind;
	int64_t behind_end;
	int shares; /* the two operations name the same memory */
};

/* Sorts the wait that delayed an operation most first. */
static int compare_operations(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return by_number(x->hold->op, y->hold->op) ?: by_number(y->behind_end, x->behind_end)
		?: by_number(y->hold->via, x->hold->via);
}

/* Adds a wait to be examined.  Returns NULL if it was added before, or its site is unknown. */
static struct event_wait *add_wait(struct needs_known *known, struct id_map *waits,
	const struct held *held)
{
	int64_t call = held->hold->via;
	uint32_t site = run_outer_site(known->run, call);
	struct open_wait *open;

	if (!site)
		return NULL;
	open = id_map_need(waits, call, sizeof(*open));
	map_set(&known->sites, site, 1);
	if (open->wait.call)
		return NULL;
	open->wait = (struct event_wait){ .call = call,
		.process = held->process,
		.behind = held->behind,
		.behind_end = held->behind_end,
		.ready = held->hold->ready,
		.first = &open->wait };
	return &open->wait;
}

void needs_events_known(struct needs_known *known, struct id_map *waits)
{
	const struct run *run = known->run;
	struct held *list = NULL;
	struct event_wait *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < run->evidence.hold_count; i++) {
		const struct run_hold *hold = &run->evidence.hold[i];
		const struct run_work *op = run_work(run, hold->op);
		const struct run_work *behind = run_work(run, hold->behind);

		if (hold->reason == HOLD_EVENT && op && behind)
			*array_push(list, count) = (struct held){ hold, run_where(run, op)->process,
				behind->call, run_end(run, behind, hold->behind),
				run_shares(run, op->call, behind->call) };
	}
	if (count)
		qsort(list, count, sizeof(*list), compare_operations);
	for (size_t i = 0; i < count; i++) {
		const struct held *held = &list[i];
		struct event_wait *wait = NULL;

		if (!i || held->hold->op != held[-1].hold->op) {
			first = held->shares ? NULL : add_wait(known, waits, held);
			continue;
		}
		if (!first)
			continue;
		/* It delayed the same operation as first; waits not examined count as needed. */
		if (!held->shares && first->beside_count < NEEDS_BESIDE)
			wait = add_wait(known, waits, held);
		if (wait) {
			wait->first = first;
			first->beside[first->beside_count++] = wait;
		} else if (held->behind_end > first->ready) {
			first->ready = held->behind_end;
		}
	}
	free(list);
	known->has_events = waits->count > 0;
}

/* --- pairs of operations --- */

/*
 * Updates *last to the stream's last wait that covers the earlier operation and that the current
 * operation comes after.  The earlier one was submitted before the wait.
 */
static void find_last(struct orders *orders, const struct ring *ring, const struct touch *earlier,
	struct open_wait **last)
{
	size_t count = ring->count < OPEN_WAITS ? ring->count : OPEN_WAITS;

	for (size_t k = 0; k < count; k++) {
		struct open_wait *open = ring->wait[(ring->count - 1 - k) % OPEN_WAITS];

		if (open->wait.call < earlier->call ||
			(*last && open->wait.call <= (*last)->wait.call))
			return;
		if (orders_is_before(orders, &open->epoch) &&
			order_cover_has(&open->cover, &earlier->full)) {
			*last = open;
			return;
		}
	}
}

/*
 * Marks each stream's last wait for the earlier operation as needed.  If none is found, any that
 * has left its ring since may be it, unless another wait that is needed anyway keeps the two in
 * order.
 */
void needs_events_lost_pair(struct orders *orders, const struct walk_call *later,
	const struct touch *earlier)
{
	struct order_epoch point = orders->full.epoch;
	int is_kept = earlier &&
		needs_kept_by(&orders->kept[WITHOUT_EVENT_WAITS], orders, later->stream, earlier) !=
			NULL;
	int is_found = is_kept;
	int64_t since = earlier ? earlier->call : 0;
	struct id_map_slot *at;

	for (at = NULL; (at = id_map_next(&orders->open, at));) {
		struct open_waits *open = at->object;
		struct open_wait *last = NULL;

		if (earlier)
			find_last(orders, &open->held, earlier, &last);
		/* Unless the whole wait is needed, or the rest is too little for a finding. */
		if (last && last->wait.needed <= last->wait.behind_end - HELD_MIN_NS) {
			find_last(orders, &open->idle, earlier, &last);
			last->wait.needed = at_least(last->wait.needed, earlier->end);
		}
		/* An operation that is no longer kept may depend on any of the waits. */
		for (size_t k = 0; !earlier && k < open->held.count && k < OPEN_WAITS; k++)
			if (orders_is_before(orders, &open->held.wait[k]->epoch))
				open->held.wait[k]->wait.needed = WALK_NEVER;
		if (last && !is_found)
			point = last->epoch;
		is_found |= last != NULL;
	}
	for (at = NULL; !is_found && (at = id_map_next(&orders->open, at));) {
		struct open_waits *open = at->object;
		size_t count = open->held.count;

		if (count <= OPEN_WAITS || open->held.wait[count % OPEN_WAITS]->wait.call < since ||
			!orders_is_before(orders, &open->first->epoch))
			continue;
		if (!open->left_needed || since < open->left_since)
			open->left_since = since;
		open->left_needed = count - OPEN_WAITS;
	}
	if (earlier && !is_kept)
		needs_keep(&orders->kept[WITHOUT_EVENT_WAITS], later->stream, earlier, point, 0);
}

/* --- results that the host may read --- */

/* Has a thread, or work in a stream, observed an operation complete by the last call? */
static int has_observed(const struct order *order, const struct walk_call *call, int signal,
	struct order_epoch epoch)
{
	return signal ? order_before(order, epoch) == ORDER_GUARANTEED
		      : order_knows(order, call->thread, &epoch);
}

/* A thread that has observed a wait complete has observed the stream's earlier waits too. */
void needs_events_after(struct orders *orders, const struct walk_call *call)
{
	const struct order *loose = &orders->loose[WITHOUT_EVENT_WAITS].order;
	enum kind_family family = kind_family(call->kind);
	/* A host function, or a kernel that can signal the host through memory. */
	int signal = orders->shows == SHOWN && family != FAMILY_copy && family != FAMILY_set;

	if (!signal && family != FAMILY_query && scope_of(call) == SCOPE_NONE)
		return;
	for (struct id_map_slot *at = NULL; (at = id_map_next(&orders->open, at));) {
		struct open_waits *waits = at->object;

		for (; waits->observed < waits->unobserved_count; waits->observed++) {
			struct open_wait *open = waits->unobserved[waits->observed];

			if (!has_observed(&orders->full, call, signal, open->epoch))
				break;
			for (size_t k = 0; k < open->shown_count; k++)
				if (!has_observed(loose, call, signal,
					    open->shown[k].loose[WITHOUT_EVENT_WAITS]))
					open->wait.needed =
						at_least(open->wait.needed, open->shown[k].end);
		}
	}
}

/* --- the waits themselves --- */

int needs_events_wait(struct orders *orders, const struct walk_call *call)
{
	struct open_waits *waits = id_map_need(&orders->open, call->stream, sizeof(*waits));
	struct open_wait *open = id_map_get(orders->waits, call->id), **place;
	struct ring *ring = open ? &waits->held : &waits->idle;
	struct order_cover cover = { 0 };
	const struct recent_thing *shown;
	int rc;

	order_cover_of(&orders->full, call, &cover);
	rc = orders_without(orders, WITHOUT_EVENT_WAITS, call);
	/* One that delayed nothing matters if another wait may be redundant because of it. */
	if (rc || (!open && !waits->held.count)) {
		order_cover_release(&cover);
		return rc;
	}
	if (open) {
		open->of = waits;
		open->number = ring->count;
		waits->first = waits->first ? waits->first : open;
	} else {
		open = xcalloc(1, sizeof(*open));
		open->wait.call = call->id;
	}
	/* Adds the wait to its stream's order, like an operation without duration after it. */
	order_mark(&orders->full, call);
	open->epoch = orders->full.epoch;
	open->cover = cover;
	place = &ring->wait[ring->count % OPEN_WAITS];
	if (ring->count++ >= OPEN_WAITS) {
		order_cover_release(&(*place)->cover);
		if (!(*place)->of)
			free(*place);
	}
	*place = open;
	shown = open->of ? orders_shown_of(orders, call->process, SHOWN) : NULL;
	for (size_t i = 0; shown && i < shown->count; i++) {
		struct recent_ring *touches = &shown->ring[i];
		int64_t last =
			recent_last(touches, order_cover_reach(&cover, recent_agent(touches)));
		const struct touch *touch;

		if (last < recent_oldest(touches))
			continue;
		touch = recent_at(touches, last);
		/* If recording paused, the host may have observed anything. */
		if (call->stretch)
			open->wait.needed = at_least(open->wait.needed, touch->end);
		else
			*array_push(open->shown, open->shown_count) = *touch;
	}
	if (open->shown_count)
		*array_push(waits->unobserved, waits->unobserved_count) = open;
	return 0;
}

static void free_open(void *object)
{
	struct open_waits *open = object;

	for (size_t k = 0; k < open->idle.count && k < OPEN_WAITS; k++) {
		order_cover_release(&open->idle.wait[k]->cover);
		free(open->idle.wait[k]);
	}
	free(open->unobserved);
	free(open);
}

void needs_events_settle(const struct id_map *waits)
{
	for (struct id_map_slot *at = NULL; (at = id_map_next(waits, at));) {
		struct open_wait *open = at->object;

		if (open->of && open->number < open->of->left_needed &&
			open->wait.call >= open->of->left_since)
			open->wait.needed = WALK_NEVER;
		order_cover_release(&open->cover);
		free(open->shown);
		open->shown = NULL;
	}
}

void needs_events_close(struct orders *orders)
{
	id_map_release(&orders->open, free_open);
}
