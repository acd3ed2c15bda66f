/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "needs_parts.h"
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

	if (x->hold->op != y->hold->op)
		return (x->hold->op > y->hold->op) - (x->hold->op < y->hold->op);
	if (x->behind_end != y->behind_end)
		return (x->behind_end < y->behind_end) - (x->behind_end > y->behind_end);
	return (x->hold->via < y->hold->via) - (x->hold->via > y->hold->via);
}

/* Adds a wait to be examined.  *found is NULL if it was added before, or its site is unknown. */
static int add_wait(struct needs_events *events, const struct run *run, const struct held *held,
	struct event_wait **found)
{
	int64_t call = held->hold->via;
	uint32_t site = needs_site(run, call);
	struct open_wait *open;

	*found = NULL;
	if (!site)
		return 0;
	open = idmap_need(&events->needs->events, call, sizeof(*open));
	if (!open)
		return -1;
	map_set(&events->sites, site, 1);
	if (open->wait.call)
		return 0;
	open->wait = (struct event_wait){ .call = call,
		.process = held->process,
		.behind = held->behind,
		.behind_end = held->behind_end,
		.ready = held->hold->ready,
		.first = &open->wait };
	*found = &open->wait;
	return 0;
}

/* Adds a wait that delayed the same operation as first; waits not examined count as needed. */
static int add_beside(struct needs_events *events, const struct run *run, const struct held *held,
	struct event_wait *first)
{
	struct event_wait *wait = NULL;

	if (!held->shares && first->beside_count < NEEDS_BESIDE &&
		add_wait(events, run, held, &wait))
		return -1;
	if (wait) {
		wait->first = first;
		first->beside[first->beside_count++] = wait;
	} else if (held->behind_end > first->ready) {
		first->ready = held->behind_end;
	}
	return 0;
}

static int list_holds(const struct run *run, struct held **list, size_t *count)
{
	for (size_t i = 0; i < run->evidence.hold_count; i++) {
		const struct run_hold *hold = &run->evidence.hold[i];
		const struct run_work *op = run_work(run, hold->op);
		const struct run_work *behind = run_work(run, hold->behind);
		struct held *more;

		if (hold->reason != HOLD_EVENT || !op || !behind)
			continue;
		more = array_room(*list, *count, sizeof(*more));
		if (!more)
			return -1;
		*list = more;
		more[(*count)++] = (struct held){ hold, run_where(run, op)->process, behind->call,
			run_end(run, behind, hold->behind),
			run_shares(run, op->call, behind->call) };
	}
	if (*count)
		qsort(*list, *count, sizeof(**list), compare_operations);
	return 0;
}

int needs_events_open(struct needs_events *events, struct relax *relax, struct needs *needs,
	const struct run *run)
{
	struct held *list = NULL;
	struct event_wait *first = NULL;
	size_t count = 0;
	int rc;

	events->relax = relax;
	events->needs = needs;
	rc = list_holds(run, &list, &count);
	for (size_t i = 0; i < count && !rc; i++) {
		if (!i || list[i].hold->op != list[i - 1].hold->op) {
			first = NULL;
			if (!list[i].shares)
				rc = add_wait(events, run, &list[i], &first);
		} else if (first) {
			rc = add_beside(events, run, &list[i], first);
		}
	}
	free(list);
	return rc ? -1 : needs->events.count > 0;
}

/* --- pairs of operations --- */

static void need(struct open_wait *open, int64_t until)
{
	if (until > open->wait.needed)
		open->wait.needed = until;
}

/* Is the whole wait needed, or is the rest too little for a finding? */
static int is_needed(const struct open_wait *open)
{
	return open->wait.needed > open->wait.behind_end - HELD_MIN_NS;
}

/*
 * Updates *last to the stream's last wait that covers the earlier operation and that the current
 * operation comes after.  The earlier one was submitted before the wait.
 */
static void find_last(struct relax *relax, const struct ring *ring, const struct touch *earlier,
	struct open_wait **last)
{
	size_t count = ring->count < OPEN_WAITS ? ring->count : OPEN_WAITS;

	for (size_t k = 0; k < count; k++) {
		struct open_wait *open = ring->wait[(ring->count - 1 - k) % OPEN_WAITS];

		if (open->wait.call < earlier->call ||
			(*last && open->wait.call <= (*last)->wait.call))
			return;
		if (relax_is_before(relax, &open->epoch) &&
			order_cover_has(&open->cover, &earlier->full)) {
			*last = open;
			return;
		}
	}
}

/* An operation that is no longer kept may depend on any of the waits. */
static void need_all(struct relax *relax, const struct ring *ring)
{
	for (size_t k = 0; k < ring->count && k < OPEN_WAITS; k++)
		if (relax_is_before(relax, &ring->wait[k]->epoch))
			need(ring->wait[k], WALK_NEVER);
}

/* Likewise for waits that left a stream's ring since a call, if there are any. */
static void need_left(struct relax *relax, struct open_waits *waits, int64_t since)
{
	const struct ring *ring = &waits->held;

	if (ring->count <= OPEN_WAITS || ring->wait[ring->count % OPEN_WAITS]->wait.call < since ||
		!relax_is_before(relax, &waits->first->epoch))
		return;
	if (!waits->left_needed || since < waits->left_since)
		waits->left_since = since;
	waits->left_needed = ring->count - OPEN_WAITS;
}

/* Returns the stream's last wait for the earlier operation, NULL if none is found. */
static struct open_wait *blame(struct relax *relax, const struct open_waits *waits,
	const struct touch *earlier)
{
	struct open_wait *last = NULL;

	find_last(relax, &waits->held, earlier, &last);
	if (!last || is_needed(last))
		return last;
	find_last(relax, &waits->idle, earlier, &last);
	need(last, earlier->end);
	return last;
}

/*
 * Marks each stream's last wait for the earlier operation as needed.  If none is found, any that
 * has left its ring since may be it, unless another wait that is needed anyway keeps the two in
 * order.
 */
int needs_events_lost_pair(struct needs_events *events, const struct walk_call *later,
	const struct touch *earlier)
{
	struct relax *relax = events->relax;
	struct order_epoch point = relax->full.epoch;
	int is_kept = earlier && needs_is_kept(&events->kept, relax, later->stream, earlier);
	int is_found = is_kept;

	for (size_t i = 0; i < events->open.size; i++) {
		struct open_waits *open = events->open.slot[i].object;
		const struct open_wait *last = open && earlier ? blame(relax, open, earlier) : NULL;

		if (open && !earlier)
			need_all(relax, &open->held);
		if (last && !is_found)
			point = last->epoch;
		is_found |= last != NULL;
	}
	for (size_t i = 0; i < events->open.size && !is_found; i++)
		if (events->open.slot[i].object)
			need_left(relax, events->open.slot[i].object, earlier ? earlier->call : 0);
	return earlier && !is_kept ? needs_keep(&events->kept, later->stream, earlier, point) : 0;
}

/* --- results that the host may read --- */

/* A host function, or a kernel that can signal the host through memory. */
static int is_signal(const struct relax *relax, const struct walk_call *call)
{
	return relax->shows == SHOWN && kind_family(call->kind) != FAMILY_copy &&
		kind_family(call->kind) != FAMILY_set;
}

static int may_observe(const struct walk_call *call)
{
	return kind_family(call->kind) == FAMILY_query || scope_of(call) != SCOPE_NONE;
}

/* Has a thread, or work in a stream, observed an operation complete by the last call? */
static int has_observed(const struct order *order, const struct walk_call *call, int signal,
	struct order_epoch epoch)
{
	return signal ? order_before(order, epoch) == ORDER_GUARANTEED
		      : order_knows(order, call->thread, &epoch);
}

static void mark_observed(struct needs_events *events, const struct walk_call *call, int signal,
	struct open_wait *open)
{
	const struct order *loose = &events->relax->loose[WITHOUT_EVENT_WAITS].order;

	for (size_t i = 0; i < open->shown_count; i++)
		if (!has_observed(loose, call, signal, open->shown[i].loose[WITHOUT_EVENT_WAITS]))
			need(open, open->shown[i].end);
}

/* A thread that has observed a wait complete has observed the stream's earlier waits too. */
int needs_events_after(struct needs_events *events, const struct walk_call *call)
{
	int signal = is_signal(events->relax, call);

	if (!signal && !may_observe(call))
		return 0;
	for (size_t i = 0; i < events->open.size; i++) {
		struct open_waits *open = events->open.slot[i].object;

		while (open && open->observed < open->unobserved_count &&
			has_observed(&events->relax->full, call, signal,
				open->unobserved[open->observed]->epoch))
			mark_observed(events, call, signal, open->unobserved[open->observed++]);
	}
	return 0;
}

static int add_unobserved(struct open_waits *waits, struct open_wait *open)
{
	struct open_wait **more =
		array_room(waits->unobserved, waits->unobserved_count, sizeof(*more));

	if (!more)
		return -1;
	waits->unobserved = more;
	waits->unobserved[waits->unobserved_count++] = open;
	return 0;
}

static int add_shown(struct open_wait *open, const struct touch *touch)
{
	struct touch *more = array_room(open->shown, open->shown_count, sizeof(*more));

	if (!more)
		return -1;
	open->shown = more;
	more[open->shown_count++] = *touch;
	return 0;
}

/* If recording paused, the host may have observed anything. */
static int find_shown(struct needs_events *events, const struct walk_call *call,
	struct open_waits *waits, struct open_wait *open)
{
	const struct touched_thing *shown = relax_shown_of(events->relax, call->process, SHOWN);

	for (size_t i = 0; shown && i < shown->count; i++) {
		struct touched_ring *ring = &shown->ring[i];
		int64_t last =
			touched_last(ring, order_cover_reach(&open->cover, touched_agent(ring)));

		if (last < touched_oldest(ring))
			continue;
		if (call->stretch)
			need(open, touched_at(ring, last)->end);
		else if (add_shown(open, touched_at(ring, last)))
			return -1;
	}
	return open->shown_count ? add_unobserved(waits, open) : 0;
}

/* --- the waits themselves --- */

/* Adds the wait to its stream's order, like an operation without duration after it. */
static int mark(struct needs_events *events, const struct walk_call *call, struct open_wait *open)
{
	if (order_mark(&events->relax->full, call))
		return -1;
	open->epoch = events->relax->full.epoch;
	return 0;
}

static void close_cover(struct open_wait *open)
{
	order_cover_release(&open->cover);
}

static int open_held(struct needs_events *events, const struct walk_call *call,
	struct open_waits *waits, struct open_wait *open)
{
	struct ring *ring = &waits->held;

	if (mark(events, call, open))
		return -1;
	if (ring->count >= OPEN_WAITS)
		close_cover(ring->wait[ring->count % OPEN_WAITS]);
	open->of = waits;
	open->number = ring->count;
	if (!waits->first)
		waits->first = open;
	ring->wait[ring->count++ % OPEN_WAITS] = open;
	return find_shown(events, call, waits, open);
}

static void free_idle(struct open_wait *open)
{
	close_cover(open);
	free(open);
}

/* Only needed if another wait may be redundant because of it. */
static int open_idle(struct needs_events *events, const struct walk_call *call,
	struct open_waits *waits, struct order_cover *cover)
{
	struct ring *ring = &waits->idle;
	struct open_wait *open;

	if (!waits->held.count)
		return 0;
	open = calloc(1, sizeof(*open));
	if (!open)
		fputs("cufence: out of memory\n", stderr);
	if (!open || mark(events, call, open)) {
		free(open);
		return -1;
	}
	open->wait.call = call->id;
	open->cover = *cover;
	*cover = (struct order_cover){ 0 };
	if (ring->count >= OPEN_WAITS)
		free_idle(ring->wait[ring->count % OPEN_WAITS]);
	ring->wait[ring->count++ % OPEN_WAITS] = open;
	return 0;
}

int needs_events_has(const struct needs_events *events, const struct walk_call *call)
{
	return call->kind == KIND_STREAM_WAIT &&
		map_get(&events->sites, needs_site(events->relax->run, call->id), 0);
}

int needs_events_wait(struct needs_events *events, const struct walk_call *call)
{
	struct open_waits *waits = idmap_need(&events->open, call->stream, sizeof(*waits));
	struct open_wait *open = idmap_get(&events->needs->events, call->id);
	struct order_cover cover = { 0 };
	int rc;

	if (!waits || order_cover_of(&events->relax->full, call, &cover) ||
		relax_without(events->relax, WITHOUT_EVENT_WAITS, call)) {
		order_cover_release(&cover);
		return -1;
	}
	if (open) {
		open->cover = cover;
		return open_held(events, call, waits, open);
	}
	rc = open_idle(events, call, waits, &cover);
	order_cover_release(&cover);
	return rc;
}

static void free_open(void *object)
{
	struct open_waits *open = object;

	for (size_t k = 0; open && k < open->idle.count && k < OPEN_WAITS; k++)
		free_idle(open->idle.wait[k]);
	if (open)
		free(open->unobserved);
	free(open);
}

void needs_events_close(struct needs_events *events)
{
	struct idmap *all = &events->needs->events;

	for (size_t i = 0; i < all->size; i++) {
		struct open_wait *open = all->slot[i].object;

		if (!open)
			continue;
		if (open->of && open->number < open->of->left_needed &&
			open->wait.call >= open->of->left_since)
			need(open, WALK_NEVER);
		close_cover(open);
		free(open->shown);
		open->shown = NULL;
	}
	idmap_release(&events->open, free_open);
	idmap_release(&events->kept, free);
	map_release(&events->sites);
}
