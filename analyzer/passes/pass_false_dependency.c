/* SPDX-License-Identifier: Apache-2.0 */
/*
 * false-dependency: a wait for an event held work for longer than what they share needs.  "Event
 * ... all work captured by" it is waited for (CUDA driver API, cuStreamWaitEvent), so that a record
 * that comes late covers work that nobody behind the wait looks at.
 *
 * What a wait is needed for is tried out: the run's order without the waits at the places in
 * question.  Whatever then shares memory and is unordered (relax.h) needed one of them, and so did
 * what the host may look at once it knows the wait over, if it would not know by other waits that
 * this is complete; the last of it to end is when a narrower event would have let go.  A wait for
 * which nothing is found is not reported: what it is for may be what cufence cannot see.
 *
 * Of several waits in a row that come too late, mending one leaves the work to the next: they are
 * looked at together, and the others are mended with the one that held the work for the longest.
 */
#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "idmap.h"
#include "order_loss.h"
#include "pass.h"
#include "relax.h"
#include "scope.h"
#include "walk.h"

/* Waits of a stream that later work is held against; those before are settled. */
#define OPEN_LIMIT 16

/* The longest hold of a wait. */
struct wait {
	int64_t call, process;
	int64_t behind_call, behind_end; /* the operation that let go last */
	int64_t ready;
	int64_t needed; /* when the last of what it is needed for ended, 0: nothing
	                                  * found; ns */
	/* The wait as a point of its stream, and what its event stands for. */
	struct order_epoch epoch, own;
	struct order_clock *clock;
	/* What it covers that the host may look at: the last of each stream. */
	struct touch *host;
	size_t host_count;
	int untold, settled; /* what the host, and what operations need is yet to see */
	/* Those that held the same operation: first is the one that held it for the longest. */
	struct wait *first, *beside[FINDING_ALSO];
	size_t beside_count, open; /* of the first; how many of all are not done with */
};

struct ring {
	struct wait *wait[OPEN_LIMIT];
	size_t count;
};

/*
 * A stream's waits.  Those that held nothing are free to cover what they do: what comes behind one
 * of them needs no earlier wait for that.
 */
struct open_waits {
	struct ring held, idle;
	struct wait **untold; /* in order; those before told are not any more */
	size_t untold_count, told;
};

struct search {
	struct relax relax;
	struct findings *findings;
	struct idmap places; /* whose waits are left out */
	struct idmap waits;  /* call -> struct wait: those that held something */
	struct idmap open;   /* stream -> struct open_waits */
	struct wait *asking;
};

/* An operation that was held by waits for events, and one of them. */
struct held {
	const struct run_hold *hold;
	uint32_t process, behind_call;
	int64_t behind_end;
	int shares; /* the two operations name the same memory */
};

/* Of an operation the wait that held it for the longest comes first. */
static int by_op(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	if (x->hold->op != y->hold->op)
		return (x->hold->op > y->hold->op) - (x->hold->op < y->hold->op);
	if (x->behind_end != y->behind_end)
		return (x->behind_end < y->behind_end) - (x->behind_end > y->behind_end);
	return (x->hold->via < y->hold->via) - (x->hold->via > y->hold->via);
}

/* A wait that is looked at; NULL in *found if it is already. */
static int note_wait(struct search *search, const struct held *held, struct wait **found)
{
	int64_t call = held->hold->via, place;
	struct wait *wait = idmap_need(&search->waits, call, sizeof(*wait));

	place = findings_place(search->findings, call);
	*found = NULL;
	if (!wait || place < 0 || !idmap_need(&search->places, place, 1))
		return -1;
	if (wait->call)
		return 0;
	*wait = (struct wait){ .call = call,
		.process = held->process,
		.behind_call = held->behind_call,
		.behind_end = held->behind_end,
		.ready = held->hold->ready,
		.first = wait,
		.open = 1 };
	*found = wait;
	return 0;
}

/* One that held the same operation as first; what is not looked at is needed as it is. */
static int add_beside(struct search *search, const struct held *held, struct wait *first)
{
	struct wait *wait = NULL;

	if (!held->shares && first->beside_count < FINDING_ALSO && note_wait(search, held, &wait))
		return -1;
	if (wait) {
		wait->first = first;
		first->beside[first->beside_count++] = wait;
		first->open++;
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
		qsort(*list, *count, sizeof(**list), by_op);
	return 0;
}

static int find_waits(const struct run *run, struct search *search)
{
	struct held *list = NULL;
	struct wait *first = NULL;
	size_t count = 0;
	int rc = list_holds(run, &list, &count);

	for (size_t i = 0; i < count && !rc; i++) {
		if (!i || list[i].hold->op != list[i - 1].hold->op) {
			first = NULL;
			if (!list[i].shares)
				rc = note_wait(search, &list[i], &first);
		} else if (first) {
			rc = add_beside(search, &list[i], first);
		}
	}
	free(list);
	return rc;
}

static void need(struct wait *wait, int64_t until)
{
	if (until > wait->needed)
		wait->needed = until;
}

/* All of it, or what is left is not worth a line. */
static int is_needed(const struct wait *wait)
{
	return wait->needed > wait->behind_end - BLOCKED_MIN_NS;
}

/* A wait is done with; once all of a row are, what is known of them together. */
static int report(struct search *search, const struct wait *done)
{
	struct wait *wait = done->first;
	struct instance instance = {
		.rule = RULE_false_dependency,
		.process = wait->process,
		.call = wait->call,
		.other_call = wait->behind_call,
		.saving = FINDING_DELAY,
		.change = CHANGE_ORDER,
	};
	int64_t from = wait->needed > wait->ready ? wait->needed : wait->ready;
	int count = 0;

	if (--wait->open)
		return 0;
	for (size_t i = 0; i < wait->beside_count; i++) {
		const struct wait *beside = wait->beside[i];
		int64_t until = beside->needed ? beside->needed : beside->behind_end;

		from = until > from ? until : from;
	}
	instance.cost = wait->behind_end - from;
	if (!wait->needed || is_needed(wait) || instance.cost < BLOCKED_MIN_NS)
		return 0;
	for (size_t i = 0; i < wait->beside_count; i++)
		if (wait->beside[i]->behind_end > from)
			instance.with[count++] = wait->beside[i]->call;
	return findings_add(search->findings, &instance);
}

static int settle(struct search *search, struct wait *wait)
{
	order_clock_unref(wait->clock);
	wait->clock = NULL;
	wait->settled = 1;
	return wait->untold ? 0 : report(search, wait);
}

static int is_behind(const struct wait *wait, const struct touch *touch)
{
	return order_clock_strength(wait->clock, &wait->own, &touch->full) == ORDER_GUARANTEED;
}

/*
 * The last wait of a stream that the present operation comes after and that covers the earlier one,
 * which was submitted before it.
 */
static void find_last(struct search *search, const struct ring *ring, const struct touch *earlier,
	struct wait **last)
{
	size_t count = ring->count < OPEN_LIMIT ? ring->count : OPEN_LIMIT;

	for (size_t k = 0; k < count; k++) {
		struct wait *wait = ring->wait[(ring->count - 1 - k) % OPEN_LIMIT];

		if (wait->call < earlier->call || (*last && wait->call <= (*last)->call))
			return;
		if (relax_is_before(&search->relax, &wait->epoch) && is_behind(wait, earlier)) {
			*last = wait;
			return;
		}
	}
}

/* An operation that is not remembered may be behind any of them. */
static void need_all(struct search *search, const struct ring *ring)
{
	for (size_t k = 0; k < ring->count && k < OPEN_LIMIT; k++)
		if (relax_is_before(&search->relax, &ring->wait[k]->epoch))
			need(ring->wait[k], WALK_NEVER);
}

/* A pair that a wait left out would have kept in order. */
static int lost(void *arg, const struct walk_call *later, const struct touch *earlier)
{
	struct search *search = arg;

	(void)later;
	for (size_t i = 0; i < search->open.size; i++) {
		struct open_waits *open = search->open.slot[i].object;
		struct wait *last = NULL;

		if (!open)
			continue;
		if (!earlier) {
			need_all(search, &open->held);
			continue;
		}
		find_last(search, &open->held, earlier, &last);
		if (!last || is_needed(last))
			continue;
		find_last(search, &open->idle, earlier, &last);
		need(last, earlier->end);
	}
	return 0;
}

static int is_behind_asking(void *arg, const struct touch *touch)
{
	return is_behind(((struct search *)arg)->asking, touch);
}

static int note_host(void *arg, const struct touch *touch)
{
	struct wait *wait = ((struct search *)arg)->asking;
	struct touch *more;

	if (!touch) {
		need(wait, WALK_NEVER);
		return 0;
	}
	more = array_room(wait->host, wait->host_count, sizeof(*more));
	if (!more)
		return -1;
	wait->host = more;
	wait->host[wait->host_count++] = *touch;
	return 0;
}

/* --- what the host looks at --- */

/* A host function, or a kernel that can tell the host something by memory. */
static int is_signal(const struct relax *relax, const struct walk_call *call)
{
	return relax->full.epoch.seq && relax->host_slot >= 0 &&
		kind_family(call->kind) != FAMILY_copy && kind_family(call->kind) != FAMILY_set;
}

static int may_learn(const struct walk_call *call)
{
	return kind_family(call->kind) == FAMILY_query || scope_of(call) != SCOPE_NONE;
}

/* By the last call a thread, or what runs in a stream, knows an operation complete. */
static int knows(const struct order *order, const struct walk_call *call, int signal,
	struct order_epoch epoch)
{
	return (signal ? order_before(order, epoch) : order_known(order, call->thread, epoch)) ==
		ORDER_GUARANTEED;
}

static int tell(struct search *search, const struct walk_call *call, int signal, struct wait *wait)
{
	for (size_t i = 0; i < wait->host_count; i++)
		if (!knows(&search->relax.loose, call, signal, wait->host[i].loose))
			need(wait, wait->host[i].end);
	wait->untold = 0;
	return wait->settled ? report(search, wait) : 0;
}

/* Who knows that a wait is over knows it of those before it in its stream. */
static int tell_host(struct search *search, const struct walk_call *call)
{
	int signal = is_signal(&search->relax, call);

	if (!signal && !may_learn(call))
		return 0;
	for (size_t i = 0; i < search->open.size; i++) {
		struct open_waits *open = search->open.slot[i].object;

		while (open && open->told < open->untold_count &&
			knows(&search->relax.full, call, signal, open->untold[open->told]->epoch))
			if (tell(search, call, signal, open->untold[open->told++]))
				return -1;
	}
	return 0;
}

static int keep_untold(struct open_waits *open, struct wait *wait)
{
	struct wait **more = array_room(open->untold, open->untold_count, sizeof(*more));

	if (!more)
		return -1;
	open->untold = more;
	open->untold[open->untold_count++] = wait;
	wait->untold = 1;
	return 0;
}

/* Where recording paused the host may have learned anything. */
static int open_to_host(struct search *search, const struct walk_call *call,
	struct open_waits *open, struct wait *wait)
{
	struct relax_visitor visitor = { is_behind_asking, note_host, search };

	search->asking = wait;
	if (relax_visit_host(&search->relax, &visitor))
		return -1;
	for (size_t i = 0; i < wait->host_count && call->stretch; i++)
		need(wait, wait->host[i].end);
	return wait->host_count && !call->stretch ? keep_untold(open, wait) : 0;
}

/* The wait takes part from here on: as if an operation without duration came after it. */
static int mark(struct search *search, const struct walk_call *call, struct wait *wait)
{
	struct order *full = &search->relax.full;
	struct walk_call step = *call;

	wait->own = order_of_event(full, call).own;
	wait->clock = order_clock_ref(order_clock_of_event(full, call));
	step.kind = KIND_ALLOC_ASYNC;
	step.ptr = 0;
	if (relax_full(&search->relax, &step))
		return -1;
	wait->epoch = full->epoch;
	return 0;
}

static int open_wait(struct search *search, const struct walk_call *call, struct wait *wait)
{
	struct open_waits *open = idmap_need(&search->open, call->stream, sizeof(*open));

	if (!open || mark(search, call, wait))
		return -1;
	if (open->held.count >= OPEN_LIMIT &&
		settle(search, open->held.wait[open->held.count % OPEN_LIMIT]))
		return -1;
	open->held.wait[open->held.count++ % OPEN_LIMIT] = wait;
	return open_to_host(search, call, open, wait);
}

static void free_wait(void *object)
{
	struct wait *wait = object;

	if (wait) {
		order_clock_unref(wait->clock);
		free(wait->host);
	}
	free(wait);
}

/* Only where there is a wait that it may relieve. */
static int open_idle_wait(struct search *search, const struct walk_call *call)
{
	struct open_waits *open = idmap_get(&search->open, call->stream);
	struct wait *wait;

	if (!open || !open->held.count)
		return 0;
	wait = calloc(1, sizeof(*wait));
	if (!wait || mark(search, call, wait)) {
		free(wait);
		return -1;
	}
	wait->call = call->id;
	if (open->idle.count >= OPEN_LIMIT)
		free_wait(open->idle.wait[open->idle.count % OPEN_LIMIT]);
	open->idle.wait[open->idle.count++ % OPEN_LIMIT] = wait;
	return 0;
}

static void free_open(void *object)
{
	struct open_waits *open = object;

	for (size_t k = 0; open && k < open->idle.count && k < OPEN_LIMIT; k++)
		free_wait(open->idle.wait[k]);
	if (open)
		free(open->untold);
	free(open);
}

static int see(void *arg, const struct walk_call *call)
{
	struct search *search = arg;
	struct wait *wait;
	int64_t place;

	if (relax_given_up(&search->relax))
		return 0;
	if (call->kind != KIND_STREAM_WAIT)
		return relax_both(&search->relax, call) ? -1 : tell_host(search, call);
	place = findings_place(search->findings, call->id);
	if (place < 0)
		return -1;
	if (!idmap_get(&search->places, place))
		return relax_both(&search->relax, call);
	wait = idmap_get(&search->waits, call->id);
	if (relax_full(&search->relax, call))
		return -1;
	return wait ? open_wait(search, call, wait) : open_idle_wait(search, call);
}

/* Those that are open when the order is given up are not settled: nothing is known of them. */
static int settle_all(struct search *search)
{
	if (relax_given_up(&search->relax))
		return 0;
	for (size_t i = 0; i < search->open.size; i++) {
		struct open_waits *open = search->open.slot[i].object;

		for (size_t k = 0; open && k < open->held.count && k < OPEN_LIMIT; k++)
			if (settle(search, open->held.wait[k]))
				return -1;
		while (open && open->told < open->untold_count)
			if (report(search, open->untold[open->told++]))
				return -1;
	}
	return 0;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct db *db = input->db;
	struct search *search = calloc(1, sizeof(*search));
	int rc;

	if (!search)
		return -1;
	search->findings = findings;
	search->relax.lost = lost;
	search->relax.arg = search;
	rc = find_waits(input->run, search);
	if (!rc && search->waits.count)
		rc = relax_init(&search->relax, db) || walk(db, see, search) ||
				settle_all(search) ||
				order_loss_add(db, relax_given_up(&search->relax))
			? -1
			: 0;
	idmap_release(&search->open, free_open);
	idmap_release(&search->waits, free_wait);
	idmap_release(&search->places, free);
	relax_release(&search->relax);
	free(search);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" delayed its stream until the end of ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(", ", out);
	words_time(worst->cost, out);
	fputs(" longer than any memory that they are seen to share requires", out);
	if (worst->joined)
		fputs("; another wait before the same work comes as late and has to be mended as "
		      "well",
			out);
	return 0;
}

const struct pass pass_false_dependency = { .run = run, .say = say };
