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
 */
#include <stdlib.h>

#include "array.h"
#include "idmap.h"
#include "owners.h"
#include "pass.h"
#include "relax.h"
#include "waits_scope.h"
#include "walk.h"

#define EXCESS_MIN_NS 20000
/* A wait at the end of a phase is no pattern. */
#define PLACE_MIN_COUNT 3
/* Places that others may have spoiled are tried alone, so many of them. */
#define ALONE_LIMIT 4

struct place {
	int64_t id;
	int64_t waits;                 /* in table wait */
	int64_t broad;                 /* longer than for what the host uses, at a cost */
	int narrowed, needed;          /* tried now; some order was lost */
};

/* A wait in table wait, and the operation that ended last of those it waited for. */
struct wait {
	int64_t call, process;
	int64_t behind_call, behind_end;
};

/* The last operation that a wait was for. */
struct behind {
	struct order_epoch loose;
};

/* A broad wait and what its thread has made of the time since. */
struct credit {
	struct instance instance;
	struct place *place;
	struct order_epoch behind;
	int64_t usable;                /* the time since, whichever wait it is credited to */
};

/* A narrowed wait behind which the host could look at nothing: it may be about to copy. */
struct fetching {
	const struct wait *wait;       /* NULL: none */
	struct place *place;
	int64_t enter;
	int64_t needed_end, needed;    /* as of struct search */
};

struct thread {
	int64_t last_exit;
	struct fetching fetching;
	struct credit *credit;         /* those with time left, the oldest first */
	size_t count;
};

/* The last of a stream that its thread knew complete before a wait. */
struct seen {
	int64_t stream, call;
};

struct search {
	struct relax relax;
	struct findings *findings;
	struct idmap places, waits, behind, threads;
	struct owners owners;
	const struct place *alone;     /* the only place that is tried, or NULL */
	struct credit *found;
	size_t found_count;
	/* The wait at hand. */
	const struct walk_call *call;
	struct seen *seen;
	size_t seen_count;
	int64_t needed_end;            /* INT64_MIN: the host can look at nothing */
	int64_t needed;                /* the call whose operation that is */
};

static const char waits_sql[] =
	"SELECT w.call, o.process, o.call, o.end FROM wait w JOIN call c ON c.id = w.call "
	"JOIN call_type t ON t.id = c.type JOIN operation o ON o.id = w.op "
	"WHERE w.kind = 'explicit' AND w.waited >= ? AND o.call NOT NULL "
	"AND t.kind IN ('stream_sync', 'context_sync')";

static struct place *place_of(struct search *search, int64_t call)
{
	int64_t id = findings_place(search->findings, call);
	struct place *place = id > 0 ? idmap_need(&search->places, id, sizeof(*place)) : NULL;

	if (place)
		place->id = id;
	return place;
}

static int find_waits(struct db *db, struct search *search)
{
	sqlite3_stmt *q = db_prepare(db, waits_sql);
	int rc = q ? db_bind(q, "i", (int64_t)EXCESS_MIN_NS) : -1;

	while (!rc && (rc = db_step(q)) > 0) {
		int64_t call = sqlite3_column_int64(q, 0);
		struct place *place = place_of(search, call);
		struct wait *wait = place ? idmap_need(&search->waits, call, sizeof(*wait)) : NULL;

		rc = 0;
		if (!wait)
			continue;
		place->waits++;
		*wait = (struct wait){ call, sqlite3_column_int64(q, 1),
			sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3) };
		if (!idmap_need(&search->behind, wait->behind_call, sizeof(struct behind)))
			rc = -1;
	}
	sqlite3_finalize(q);
	return rc;
}

/* --- what became of the time --- */

static int settle(struct search *search, struct thread *thread, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct credit *more;

		thread->credit[i].place->broad += thread->credit[i].usable >= EXCESS_MIN_NS;
		if (thread->credit[i].instance.saving < EXCESS_MIN_NS)
			continue;
		more = array_room(search->found, search->found_count, sizeof(*more));
		if (!more)
			return -1;
		search->found = more;
		search->found[search->found_count++] = thread->credit[i];
	}
	for (size_t i = count; i < thread->count; i++)
		thread->credit[i - count] = thread->credit[i];
	thread->count -= count;
	return 0;
}

/*
 * The thread had ns of its own or, with an order, of the device for the last stepped operation:
 * the oldest wait that could have left it them comes first.
 */
static void use(struct thread *thread, int64_t ns, const struct order *order)
{
	int64_t rest = ns;

	for (size_t i = 0; i < thread->count && ns > 0; i++) {
		struct instance *instance = &thread->credit[i].instance;
		int64_t left = instance->cost - instance->saving;
		int64_t used = rest < left ? rest : left;

		if (order && order_before(order, thread->credit[i].behind) == ORDER_GUARANTEED)
			continue;
		thread->credit[i].usable += ns;
		instance->saving += used;
		rest -= used;
	}
}

static size_t used_up(const struct thread *thread)
{
	size_t count = 0;

	while (count < thread->count &&
		thread->credit[count].instance.saving >= thread->credit[count].instance.cost)
		count++;
	return count;
}

static int follow(struct search *search, const struct walk_call *call, int narrowed)
{
	struct thread *thread = idmap_need(&search->threads, call->thread, sizeof(*thread));
	int64_t since;
	int waits = !narrowed && scope_waited(call);

	if (!thread)
		return -1;
	since = thread->last_exit;
	if (call->exit > thread->last_exit)
		thread->last_exit = call->exit;
	if (!thread->count)
		return 0;
	use(thread, call->enter - since, NULL);
	if (walk_submits(call) && search->relax.loose.epoch.seq)
		use(thread, call->op_busy, &search->relax.loose);
	return settle(search, thread, waits ? thread->count : used_up(thread));
}

/* What the wait took longer than until the end of what was needed of it, if that is much. */
static int add_credit(struct search *search, struct thread *thread, const struct fetching *narrow)
{
	const struct wait *wait = narrow->wait;
	const struct behind *behind = idmap_get(&search->behind, wait->behind_call);
	int64_t from = narrow->needed_end > narrow->enter ? narrow->needed_end : narrow->enter;
	int64_t excess = wait->behind_end - from;
	struct credit *more;

	if (wait->behind_end <= from || excess < EXCESS_MIN_NS)
		return 0;
	more = array_room(thread->credit, thread->count, sizeof(*more));
	if (!more)
		return -1;
	thread->credit = more;
	thread->credit[thread->count++] = (struct credit){
		.instance = { .rule = RULE_broad_sync, .process = wait->process,
			.call = wait->call, .other_call = wait->behind_call, .cost = excess,
			.change = CHANGE_WAIT, .still_needs = narrow->needed },
		.place = narrow->place, .behind = behind->loose };
	return 0;
}

/* --- waiting for less --- */

/* An event for each operation that the host may look at and that is remembered. */
static int64_t event_of(int64_t stream, int slot)
{
	return -(stream * RELAX_DEPTH + slot + 1);
}

static int step_event(struct search *search, const struct walk_call *call, enum call_kind kind,
	int64_t event)
{
	struct walk_call step = *call;

	step.kind = kind;
	step.event = event;
	step.op = step.op_busy = 0;
	step.op_start = step.op_end = WALK_NEVER;
	step.contested = 0;
	return order_step(&search->relax.loose, &step);
}

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
	return step_event(search, search->call, KIND_EVENT_SYNC,
		event_of(touch->stream, touch->slot));
}

/* The wait as it was for the one order, and for what the host may look at for the other. */
static int narrow(struct search *search, const struct walk_call *call, struct place *place)
{
	const struct wait *wait = idmap_get(&search->waits, call->id);
	struct relax_visitor before = { is_known, note_seen, search };
	struct relax_visitor after = { is_known, wait_for_news, search };
	struct fetching narrow = { wait, place, call->enter, INT64_MIN, 0 };
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
	thread->fetching.wait = NULL;
	if (!wait)
		return 0;
	if (search->needed_end == INT64_MIN) {
		thread->fetching = narrow;
		return 0;
	}
	narrow.needed_end = search->needed_end;
	narrow.needed = search->needed;
	return add_credit(search, thread, &narrow);
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

/* What a thread has fetched before it submits something else, or frees, is all it waited for. */
static int end_fetching(struct search *search, const struct walk_call *call)
{
	struct thread *thread = idmap_get(&search->threads, call->thread);
	struct fetching fetching;
	const struct behind *behind;

	if (!thread || !thread->fetching.wait || relax_fetches(call))
		return 0;
	fetching = thread->fetching;
	if (walk_submits(call) || (scope_waited(call) && !scope_is_explicit(call)))
		thread->fetching.wait = NULL;
	if (!walk_submits(call))
		return 0;
	behind = idmap_get(&search->behind, fetching.wait->behind_call);
	/* It has waited for all of it since. */
	if (fetching.needed_end == INT64_MIN ||
		order_known(&search->relax.loose, call->thread, behind->loose) == ORDER_GUARANTEED)
		return 0;
	return add_credit(search, thread, &fetching);
}

static int lost(void *arg, const struct walk_call *later, const struct touch *earlier)
{
	struct search *search = arg;

	(void)later, (void)earlier;
	for (size_t i = 0; i < search->places.size; i++) {
		struct place *place = search->places.slot[i].object;

		if (place && place->narrowed)
			place->needed = 1;
	}
	return 0;
}

/* A time is taken of what is complete: cudaEventElapsedTime would fail without the wait. */
static int time_event(struct search *search, const struct walk_call *call)
{
	struct thread *thread = idmap_get(&search->threads, call->thread);
	uint64_t open = 0;

	for (size_t i = 0; thread && i < thread->count && i < 64; i++)
		open |= (uint64_t)!knows(search, call->thread, &thread->credit[i]) << i;
	if (relax_both(&search->relax, call))
		return -1;
	for (size_t i = 0; thread && i < thread->count && i < 64; i++)
		if (open >> i & 1 && knows(search, call->thread, &thread->credit[i]))
			thread->credit[i].place->needed = 1;
	return follow(search, call, 0);
}

static int see(void *arg, const struct walk_call *call)
{
	struct search *search = arg;
	struct behind *behind;

	if (search->alone && search->alone->needed)
		return 0;
	if ((call->kind == KIND_STREAM_SYNC || call->kind == KIND_CONTEXT_SYNC) && !call->result) {
		int64_t id = findings_place(search->findings, call->id);
		struct place *place = id > 0 ? idmap_get(&search->places, id) : NULL;

		if (place && place->narrowed)
			return narrow(search, call, place);
	}
	if (call->kind == KIND_EVENT_ELAPSED && !call->result)
		return time_event(search, call);
	if (end_fetching(search, call) || relax_both(&search->relax, call) ||
		owners_note(&search->owners, &search->relax, call) || follow(search, call, 0))
		return -1;
	behind = idmap_get(&search->behind, call->id);
	if (behind)
		behind->loose = search->relax.loose.epoch;
	return search->relax.host_slot < 0 ? 0
		: step_event(search, call, KIND_EVENT_RECORD,
			  event_of(call->stream, search->relax.host_slot));
}

static void free_thread(void *object)
{
	struct thread *thread = object;

	if (thread)
		free(thread->credit);
	free(thread);
}

static int settle_all(struct search *search)
{
	for (size_t i = 0; i < search->threads.size; i++) {
		struct thread *thread = search->threads.slot[i].object;

		if (thread && settle(search, thread, thread->count))
			return -1;
	}
	return 0;
}

static int add_found(struct search *search)
{
	for (size_t i = 0; i < search->found_count; i++) {
		const struct credit *credit = &search->found[i];

		if (!credit->place->needed && credit->place->broad >= PLACE_MIN_COUNT &&
			findings_add(search->findings, &credit->instance))
			return -1;
	}
	return 0;
}

/* Follows the run with the waits at all narrowed places made narrow. */
static int try(struct db *db, struct search *search)
{
	int rc;

	search->relax = (struct relax){ .lost = lost, .fetched = fetched, .arg = search };
	search->found_count = 0;
	rc = relax_init(&search->relax, db) || walk(db, see, search) || settle_all(search) ||
	     add_found(search) ? -1 : 0;
	relax_release(&search->relax);
	idmap_release(&search->threads, free_thread);
	search->threads = (struct idmap){ 0 };
	owners_release(&search->owners);
	return rc;
}

/* Chooses places to be tried: those not hopeless, or only the nth of those that may have been
 * spoiled by another one.  Their number. */
static int choose(struct search *search, int alone)
{
	int count = 0, number = 0;

	search->alone = NULL;
	for (size_t i = 0; i < search->places.size; i++) {
		struct place *place = search->places.slot[i].object;

		if (!place)
			continue;
		place->narrowed = alone < 0 ? place->waits >= PLACE_MIN_COUNT
			: place->needed && place->broad >= PLACE_MIN_COUNT && number++ == alone;
		count += place->narrowed;
		if (place->narrowed && alone >= 0)
			search->alone = place;
	}
	return count;
}

static void forget(struct search *search)
{
	for (size_t i = 0; i < search->places.size; i++) {
		struct place *place = search->places.slot[i].object;

		if (place && place->narrowed)
			place->needed = place->broad = 0;
	}
}

static int try_all(struct db *db, struct search *search)
{
	int together = choose(search, -1), rc;

	if (!together)
		return 0;
	rc = try(db, search);
	/* One that turns out fine is no longer among those to be tried: the next one moves up. */
	for (int i = 0, at = 0; i < ALONE_LIMIT && together > 1 && !rc; i++) {
		if (!choose(search, at))
			break;
		forget(search);
		rc = try(db, search);
		for (size_t k = 0; k < search->places.size; k++) {
			const struct place *place = search->places.slot[k].object;

			at += place && place->narrowed && place->needed &&
			      place->broad >= PLACE_MIN_COUNT;
		}
	}
	return rc;
}

static int run(struct db *db, struct findings *findings)
{
	struct search *search = calloc(1, sizeof(*search));
	int rc;

	if (!search)
		return -1;
	search->findings = findings;
	rc = find_waits(db, search);
	if (!rc)
		rc = try_all(db, search);
	idmap_release(&search->places, free);
	idmap_release(&search->waits, free);
	idmap_release(&search->behind, free);
	free(search->found);
	free(search->seen);
	free(search);
	return rc;
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
	return 0;
}

const struct pass pass_broad_sync = { .run = run, .say = say };
