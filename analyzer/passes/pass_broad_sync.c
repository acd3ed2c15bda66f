/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broad-sync: the host waited for a stream or the device where an event would have done.
 *
 * What the host may use after a wait is what it can look at without another call: copies to the
 * host, sources of copies that it may fill again, mapped and managed memory; or, where there is
 * no such thing, what it copies to the host before it submits anything else.  What another thread
 * takes care of is not among it (owners.h).  Where work of another kind kept the wait going for
 * longer, the run's order is tried with events behind the former instead (relax.h), or with waits
 * for the streams that made what is copied.  Operations that share memory and lose their order
 * needed the wait as it is, and so did a time that is taken of events: then its place is left
 * alone.  A wait after which the host can look at nothing is for something else (a time, the end,
 * memory to be freed) and never reported; nor is one before memory is freed, which waits itself.
 *
 * What is saved is what the thread could have used of the difference: its own time, and work that
 * it then submits and that need not come after what it waited for in excess.
 *
 * A second wait behind such a one, before anything is submitted, returns at once and hides it: it
 * would have waited in its place.  Where one covers the same the two are tried together.  Waits of
 * one place in a row, as for each device in turn, are one wait for all of them (broad_row.h).
 */
#include <stdlib.h>

#include "array.h"
#include "broad_credit.h"
#include "broad_places.h"
#include "broad_row.h"
#include "broad_waits.h"
#include "constants.h"
#include "idmap.h"
#include "order_loss.h"
#include "owners.h"
#include "pass.h"
#include "relax.h"
#include "scope.h"
#include "walk.h"

struct thread {
	int64_t last_exit;
	int64_t submissions;
	int64_t also[FINDING_ALSO]; /* narrowed waits since the last submission, at once */
	size_t also_count;
	struct fetching fetching;
	struct broad_row row;
	struct broad_place *hidden; /* since then, by a wait that is not narrowed */
	struct credits credits;     /* those with time left */
};

/* The last of a stream that its thread knew complete before a wait. */
struct seen {
	int64_t stream, call;
};

struct search {
	struct relax relax;
	struct findings *findings;
	struct broad_places places;
	struct broad_waits waits;
	struct idmap threads;
	struct owners owners;
	int given_up;               /* a try could not follow the run to its end */
	struct credits found, kept; /* by this try; alone, where others are to be tried with */
	/* The wait at hand. */
	const struct walk_call *call;
	struct seen *seen;
	size_t seen_count;
	int64_t needed_end; /* INT64_MIN: the host can look at nothing */
	int64_t needed;     /* the call whose operation that is */
};

/* --- what became of the time --- */

static int follow(struct search *search, const struct walk_call *call, int goes_on)
{
	struct thread *thread = idmap_need(&search->threads, call->thread, sizeof(*thread));
	struct credits *credits;
	int64_t since;
	int waits = !goes_on && scope_waited(call);

	if (!thread)
		return -1;
	credits = &thread->credits;
	since = thread->last_exit;
	if (call->exit > thread->last_exit)
		thread->last_exit = call->exit;
	if (walk_submits(call)) {
		thread->submissions++;
		thread->also_count = 0;
		thread->hidden = NULL;
	}
	if (!credits->count)
		return 0;
	credits_use(credits, call->enter - since, NULL);
	if (walk_submits(call) && search->relax.loose.epoch.seq)
		credits_use(credits, call->op_busy, &search->relax.loose);
	return credits_settle(credits, waits ? credits->count : credits_used_up(credits),
		&search->found);
}

/* What the wait took longer than until the end of what was needed of it, if that is much. */
static int add_credit(struct search *search, struct thread *thread, const struct fetching *narrow)
{
	const struct broad_wait *wait = narrow->wait;
	const struct broad_behind *behind = idmap_get(&search->waits.behind, wait->behind_call);
	int64_t from = narrow->needed_end > narrow->enter ? narrow->needed_end : narrow->enter;
	int64_t excess = wait->behind_end - from;
	struct instance instance = { .rule = RULE_broad_sync,
		.process = wait->process,
		.call = wait->call,
		.other_call = wait->behind_call,
		.cost = excess,
		.change = CHANGE_WAIT,
		.still_needs = narrow->needed };
	struct credit credit = { .instance = instance,
		.place = narrow->place,
		.behind = behind->loose,
		.submissions = thread->submissions };

	if (wait->behind_end <= from || excess < BLOCKED_MIN_NS)
		return 0;
	for (size_t i = 0; i < thread->also_count; i++)
		credit.instance.also[i] = thread->also[i];
	return credits_add(&thread->credits, &credit);
}

/* --- waiting for less --- */

static int is_known(void *arg, const struct touch *touch)
{
	const struct search *search = arg;

	return order_known(&search->relax.full, search->call->thread, touch->full) ==
		ORDER_GUARANTEED;
}

static int note_seen(void *arg, const struct touch *touch)
{
	struct search *search = arg;
	struct seen *more;

	if (!touch)
		return 0;
	more = array_room(search->seen, search->seen_count, sizeof(*more));
	if (!more)
		return -1;
	search->seen = more;
	search->seen[search->seen_count++] = (struct seen){ touch->stream, touch->call };
	return 0;
}

static int wait_for_news(void *arg, const struct touch *touch)
{
	struct search *search = arg;

	if (!touch) {
		search->needed_end = WALK_NEVER;
		return 0;
	}
	for (size_t i = 0; i < search->seen_count; i++)
		if (search->seen[i].call == touch->call)
			return 0;
	if (owners_is_others(&search->owners, touch->stream, search->call->thread))
		return 0;
	if (touch->end > search->needed_end) {
		search->needed_end = touch->end;
		search->needed = touch->call;
	}
	return relax_event(&search->relax, search->call, KIND_EVENT_SYNC, touch->stream,
		touch->slot);
}

/* Lets an agent that does nothing else wait as the call does: covers() asks what that is for. */
static int64_t prober_of(const struct walk_call *call)
{
	return -call->thread;
}

static int probe(struct search *search, const struct walk_call *call)
{
	struct walk_call step = *call;

	step.thread = prober_of(call);
	return order_step(&search->relax.loose, &step);
}

static int covers(const struct search *search, const struct walk_call *call,
	const struct order_epoch *behind)
{
	return order_known(&search->relax.loose, prober_of(call), *behind) == ORDER_GUARANTEED;
}

/* The call, which returned at once, would have waited for what a credit of this row is for. */
static int covers_credit(const struct search *search, const struct walk_call *call,
	const struct thread *thread, const struct credit *credit)
{
	return credit->submissions == thread->submissions && covers(search, call, &credit->behind);
}

static int covers_fetching(const struct search *search, const struct walk_call *call,
	const struct thread *thread)
{
	const struct broad_wait *wait = thread->fetching.wait;
	const struct broad_behind *behind =
		wait ? idmap_get(&search->waits.behind, wait->behind_call) : NULL;

	return behind && covers(search, call, &behind->loose);
}

/* A narrowed wait that did not hold its thread: mended with the one before it that it covers. */
static int add_second(struct search *search, struct thread *thread, const struct walk_call *call)
{
	int fetching, covered;
	size_t at = thread->also_count;

	if (probe(search, call))
		return -1;
	covered = fetching = covers_fetching(search, call, thread);
	for (size_t i = 0; i < thread->credits.count && at < FINDING_ALSO; i++) {
		struct credit *credit = &thread->credits.credit[i];

		if (!covers_credit(search, call, thread, credit))
			continue;
		credit->instance.also[at] = call->id;
		covered = 1;
	}
	if (covered && at < FINDING_ALSO)
		thread->also[thread->also_count++] = call->id;
	if (fetching && search->needed_end == INT64_MIN)
		return 0;
	/* What the host may look at it knows by this one only. */
	thread->fetching.needed_end = search->needed_end;
	thread->fetching.needed = search->needed;
	if (fetching && add_credit(search, thread, &thread->fetching))
		return -1;
	thread->fetching.wait = NULL;
	return 0;
}

/* The wait as it was for the one order, and for what the host may look at for the other. */
static int narrow(struct search *search, const struct walk_call *call, struct broad_place *place)
{
	const struct broad_wait *wait = idmap_get(&search->waits.map, call->id);
	struct relax_visitor before = { is_known, note_seen, search };
	struct relax_visitor after = { is_known, wait_for_news, search };
	struct fetching narrow = { wait, place, call->enter, 0, 0 };
	struct thread *thread;

	search->call = call;
	search->seen_count = 0;
	search->needed_end = INT64_MIN;
	if (relax_visit_host(&search->relax, &before) || relax_full(&search->relax, call) ||
		relax_visit_host(&search->relax, &after))
		return -1;
	search->relax.loose.epoch.seq = 0;
	if (follow(search, call, 1))
		return -1;
	thread = idmap_get(&search->threads, call->thread);
	narrow.needed_end = search->needed_end;
	narrow.needed = search->needed;
	broad_row_add(&thread->row, thread->submissions, &narrow);
	if (!wait)
		return add_second(search, thread, call);
	thread->also_count = 0;
	thread->fetching.wait = NULL;
	if (search->needed_end != INT64_MIN)
		return add_credit(search, thread, &narrow);
	thread->fetching = narrow;
	return 0;
}

/* --- what is copied to the host next --- */

static int knows(const struct search *search, int64_t thread, const struct credit *credit)
{
	return order_known(&search->relax.loose, thread, credit->behind) == ORDER_GUARANTEED;
}

static int always(void *arg, const struct touch *touch)
{
	(void)arg, (void)touch;
	return 1;
}

static int wait_for_stream(void *arg, const struct touch *touch)
{
	struct search *search = arg;
	struct walk_call step = *search->call;
	struct fetching *fetching =
		&((struct thread *)idmap_get(&search->threads, step.thread))->fetching;
	const struct owned_stream *stream =
		touch ? owners_stream(&search->owners, touch->stream) : NULL;

	if (!stream) {
		fetching->needed_end = WALK_NEVER;
		return 0;
	}
	if (order_known(&search->relax.loose, step.thread, touch->loose) == ORDER_GUARANTEED)
		return 0;
	if (stream->end > fetching->needed_end) {
		fetching->needed_end = stream->end;
		fetching->needed = stream->last;
	}
	step.kind = KIND_STREAM_SYNC;
	step.stream = touch->stream;
	step.stream_kind = stream->kind;
	step.stream_context = stream->context;
	step.op = step.op_busy = 0;
	step.op_start = step.op_end = WALK_NEVER;
	step.contested = 0;
	return order_step(&search->relax.loose, &step);
}

/* The thread waits for the streams that worked on what it copies. */
static int fetched(void *arg, const struct walk_call *copy)
{
	struct search *search = arg;
	const struct thread *thread = idmap_get(&search->threads, copy->thread);
	struct relax_visitor visitor = { always, wait_for_stream, search };

	search->call = copy;
	return thread && thread->fetching.wait ? relax_visit_named(&search->relax, &visitor) : 0;
}

/* Nothing was needed of it but this.  Not if the thread has waited for all of it since. */
static int credit_fetching(struct search *search, struct thread *thread, int64_t id,
	const struct fetching *fetching)
{
	const struct broad_behind *behind =
		idmap_get(&search->waits.behind, fetching->wait->behind_call);

	if (order_known(&search->relax.loose, id, behind->loose) == ORDER_GUARANTEED)
		return 0;
	return add_credit(search, thread, fetching);
}

/* Of a row the waits behind which there was nothing to look at, if there was behind others. */
static int credit_row(struct search *search, struct thread *thread, int64_t id)
{
	struct broad_row *row = &thread->row;
	int rc = 0;

	for (size_t i = 0; i < row->count && row->needed_end != INT64_MIN && !rc; i++) {
		row->fetching[i].needed_end = row->needed_end;
		row->fetching[i].needed = row->needed;
		rc = credit_fetching(search, thread, id, &row->fetching[i]);
	}
	return rc;
}

/* What a thread has fetched before it submits something else, or frees, is all it waited for. */
static int end_fetching(struct search *search, const struct walk_call *call)
{
	struct thread *thread = idmap_get(&search->threads, call->thread);
	struct fetching fetching;
	int rc = 0;

	if (!thread || relax_fetches(call) ||
		!(walk_submits(call) || (scope_waited(call) && !scope_is_explicit(call))))
		return 0;
	fetching = thread->fetching;
	thread->fetching.wait = NULL;
	if (walk_submits(call))
		rc = fetching.wait && fetching.needed_end != INT64_MIN
			? credit_fetching(search, thread, call->thread, &fetching)
			: credit_row(search, thread, call->thread);
	thread->row.place = NULL;
	thread->row.count = 0;
	return rc;
}

static int lost(void *arg, const struct walk_call *later, const struct touch *earlier)
{
	struct search *search = arg;

	(void)later, (void)earlier;
	broad_places_spoil(&search->places);
	return 0;
}

/* Of the waits that are open to credit, those whose excess the thread does not know complete. */
static uint64_t open_credits(const struct search *search, const struct thread *thread, int64_t id)
{
	uint64_t open = 0;

	for (size_t i = 0; thread && i < thread->credits.count && i < 64; i++)
		open |= (uint64_t)!knows(search, id, &thread->credits.credit[i]) << i;
	return open;
}

/* A time is taken of what is complete: cudaEventElapsedTime would fail without the wait. */
static int time_event(struct search *search, const struct walk_call *call)
{
	struct thread *thread = idmap_get(&search->threads, call->thread);
	uint64_t open = open_credits(search, thread, call->thread);

	if (relax_both(&search->relax, call))
		return -1;
	open &= ~open_credits(search, thread, call->thread);
	for (size_t i = 0; open >> i; i++)
		if (open >> i & 1)
			thread->credits.credit[i].place->needed = 1;
	return follow(search, call, 0);
}

/*
 * A wait that returned at once behind one that is narrowed, before anything is submitted.  If it
 * covers what that is too broad for, the two are to be tried together; else it makes no difference.
 */
static int see_second(struct search *search, const struct walk_call *call, struct thread *thread)
{
	struct broad_place *place;
	int rc;

	if (probe(search, call))
		return -1;
	for (size_t i = 0; i < thread->credits.count; i++)
		if (covers_credit(search, call, thread, &thread->credits.credit[i]))
			thread->hidden = thread->credits.credit[i].place;
	if (covers_fetching(search, call, thread))
		thread->hidden = thread->fetching.place;
	rc = relax_both(&search->relax, call) || owners_note(&search->owners, &search->relax, call);
	if (rc || !thread->hidden)
		return rc ? -1 : follow(search, call, 1);
	place = broad_place_need(&search->places, search->findings, call->id);
	if (place)
		broad_place_add_second(thread->hidden, place);
	return follow(search, call, 0);
}

static int is_second(const struct thread *thread, const struct walk_call *call)
{
	const struct credits *credits = thread ? &thread->credits : NULL;

	return thread &&
		(thread->hidden || thread->fetching.wait ||
			(credits->count &&
				credits->credit[credits->count - 1].submissions ==
					thread->submissions)) &&
		!call->result && scope_is_explicit(call) &&
		call->exit - call->enter < BLOCKED_MIN_NS;
}

static int see(void *arg, const struct walk_call *call)
{
	struct search *search = arg;
	struct thread *thread = idmap_get(&search->threads, call->thread);
	struct broad_behind *behind;

	if ((search->places.alone && search->places.alone->needed) ||
		relax_given_up(&search->relax))
		return 0;
	if (scope_is_explicit(call) && !call->result) {
		struct broad_place *place =
			broad_place_get(&search->places, search->findings, call->id);

		if (place && place->narrowed)
			return narrow(search, call, place);
	}
	if (call->kind == KIND_EVENT_ELAPSED && !call->result)
		return time_event(search, call);
	if (is_second(thread, call))
		return see_second(search, call, thread);
	if (end_fetching(search, call) || relax_both(&search->relax, call) ||
		owners_note(&search->owners, &search->relax, call) || follow(search, call, 0))
		return -1;
	behind = idmap_get(&search->waits.behind, call->id);
	if (behind)
		behind->loose = search->relax.loose.epoch;
	return search->relax.host_slot < 0 ? 0
					   : relax_event(&search->relax, call, KIND_EVENT_RECORD,
						     call->stream, search->relax.host_slot);
}

static void free_thread(void *object)
{
	struct thread *thread = object;

	if (thread)
		credits_release(&thread->credits);
	free(thread);
}

static int settle_all(struct search *search)
{
	for (size_t i = 0; i < search->threads.size; i++) {
		struct thread *thread = search->threads.slot[i].object;

		if (thread &&
			credits_settle(&thread->credits, thread->credits.count, &search->found))
			return -1;
	}
	return 0;
}

/* What is found of waits alone is kept until they were tried with those behind them. */
static int add_found(struct search *search)
{
	if (relax_given_up(&search->relax))
		return 0;
	for (size_t i = 0; i < search->found.count; i++) {
		struct credit *credit = &search->found.credit[i];
		int keeps = !search->places.with_seconds && credit->place->second_count;

		if (!broad_place_is_found(credit->place))
			continue;
		credit->place->told |= !keeps;
		if (keeps ? credits_add(&search->kept, credit)
			  : findings_add(search->findings, &credit->instance))
			return -1;
	}
	return 0;
}

static int add_kept(struct search *search)
{
	for (size_t i = 0; i < search->kept.count && !search->given_up; i++)
		if (!search->kept.credit[i].place->told &&
			findings_add(search->findings, &search->kept.credit[i].instance))
			return -1;
	return 0;
}

/* Follows the run with the waits at all narrowed places made narrow. */
static int try(struct db *db, struct search *search)
{
	int rc;

	search->relax = (struct relax){ .lost = lost, .fetched = fetched, .arg = search };
	search->found.count = 0;
	rc = relax_init(&search->relax, db) || walk(db, see, search) || settle_all(search) ||
		add_found(search) || order_loss_add(db, relax_given_up(&search->relax));
	search->given_up |= relax_given_up(&search->relax) != 0;
	relax_release(&search->relax);
	idmap_release(&search->threads, free_thread);
	search->threads = (struct idmap){ 0 };
	owners_release(&search->owners);
	return rc ? -1 : 0;
}

static int try_all(struct db *db, struct search *search)
{
	struct broad_places *places = &search->places;
	int together = broad_places_choose(places, -1), rc;

	if (!together || search->given_up)
		return 0;
	rc = try(db, search);
	/* One that turns out fine is no longer among those to be tried: the next one moves up. */
	for (int i = 0, at = 0; i < ALONE_LIMIT && together > 1 && !rc && !search->given_up; i++) {
		if (!broad_places_choose(places, at))
			break;
		broad_places_forget(places);
		rc = try(db, search);
		at += !broad_place_is_found(places->alone);
	}
	return rc;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct db *db = input->db;
	struct search *search = calloc(1, sizeof(*search));
	int rc;

	if (!search)
		return -1;
	search->findings = findings;
	rc = broad_waits_find(&search->waits, input->run, &search->places, findings) ||
		try_all(db, search);
	if (!rc && broad_places_take_seconds(&search->places))
		rc = try_all(db, search);
	if (!rc)
		rc = add_kept(search);
	broad_places_release(&search->places);
	broad_waits_release(&search->waits);
	credits_release(&search->found);
	credits_release(&search->kept);
	free(search->seen);
	free(search);
	return rc ? -1 : 0;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited for ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(", ", out);
	words_time(worst->cost, out);
	fputs(" longer than for the last result that the host is seen to need", out);
	if (worst->also[0])
		fputs("; the wait behind it would take its place and has to be mended as well",
			out);
	return 0;
}

const struct pass pass_broad_sync = { .run = run, .say = say };
