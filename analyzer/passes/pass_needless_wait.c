/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needless-wait: the host waited for a stream, the device or an event, or asked one again and
 * again, and nobody needed that before its next wait.
 *
 * What waits are needed for is tried out (relax.h): the run's order is followed without those
 * behind which the host can look at nothing new (host_view.h).  Operations that share memory
 * and lose their order needed the last wait that covers the earlier one, and memory that is given
 * up needed the waits before.  A wait can be left out only where it never does anything, so that
 * at most one of a place may have been needed, as for redundant-sync.
 *
 * Why else a program waits is not seen: to limit how far it is ahead of the device, and to read a
 * clock.  Both wait for all that was submitted, and go on in the same streams.  So a place is
 * likely needless only where most of its waits kept work back for nothing: work of a stream that
 * was idle, in no order with what was waited for.  All other places are possible, and so are waits
 * among records of events of which a time is taken, in processes of which several threads submit,
 * and where others may use the memory.  A wait that a library makes in the line of a script that
 * copies to the device is for neither: that line does not say that it waits.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "constants.h"
#include "idmap.h"
#include "host_view.h"
#include "fed_streams.h"
#include "order_loss.h"
#include "pass.h"
#include "polls.h"
#include "waits_fruitless.h"
#include "waits_segment.h"

/* A lost order is blamed on waits so far back, else on all. */
#define BLAME_LIMIT 4096
/* Waits in a row of which one knows what they kept back. */
#define OPEN_LIMIT 16

enum hidden { HIDDEN_UNKNOWN, HIDDEN_NO, HIDDEN_BELOW_COPY };

struct place {
	int64_t waits, needed, apart; /* those left out, and of them */
	enum hidden hidden;
	/* At a glance. */
	int64_t fruitless, fruitful, waited;
	int is_candidate; /* until more than one is seen to be needed */
};

/* A wait that the other order does not see. */
struct skipped {
	int64_t call, process, exit;
	int64_t upload;       /* as of struct thread */
	int64_t cost, usable; /* ns; of the host and the device, until the thread's next wait */
	struct place *place;
	struct cover cover;
	int needed, apart, timed;
};

struct thread {
	int64_t row; /* the number of its last row of waits, without work between them */
	int in_row;  /* nothing was submitted since */
	size_t open[OPEN_LIMIT]; /* numbers of those left out in that row */
	size_t open_count;
	int64_t upload; /* its last work, if that is an Async copy to the device, or 0 */
	int64_t asked,
		since; /* the stream or event that it asks in vain, since when, ns; 0: none */
	int often;     /* and again */
	int timed;     /* since its last row an event was recorded of which a time is taken */
};

struct process {
	int64_t submitter; /* the thread that submits, -1: several do */
	int64_t last;      /* call that submitted */
};

struct search {
	struct relax relax;
	struct findings *findings;
	const struct run *run;
	struct host_view view;
	struct feeds feeds;
	struct polls polls;
	struct segments segments; /* run NULL: not opened */
	struct idmap places, threads, processes;
	size_t candidates; /* places */
	struct skipped *skipped;
	size_t count;
	int64_t rows;   /* so far */
	int64_t waiter; /* the thread whose wait is at hand */
	int64_t *seen;  /* what that may have looked at before */
	size_t seen_count;
	int news;    /* it may look at more */
	int spoiled; /* it is not known which wait was needed */
};

/* --- what waits are needed for --- */

static void need(struct search *search, struct place *place)
{
	place->needed++;
	search->candidates -= place->is_candidate && place->needed > 1;
	place->is_candidate &= place->needed <= 1;
}

static void blame(struct search *search, struct skipped *skipped)
{
	if (!skipped->needed)
		need(search, skipped->place);
	skipped->needed = 1;
}

/*
 * The last wait that surely was for the earlier operation, and those since that may have been: if
 * none that is needed anyway keeps them in order.
 */
static int lost(void *arg, const struct walk_call *later, const struct touch *earlier)
{
	struct search *search = arg;
	size_t tries = 0;

	if (earlier && feeds_is_kept(&search->feeds, earlier))
		return 0;
	for (size_t i = search->count; earlier && i-- && tries < BLAME_LIMIT; tries++) {
		struct skipped *skipped = &search->skipped[i];
		enum covers covers = skipped->process == later->process
			? feeds_covers(&search->feeds, &skipped->cover, earlier)
			: COVERS_NOT;

		if (skipped->call < earlier->call)
			break;
		if (covers != COVERS_NOT)
			blame(search, skipped);
		if (covers == COVERS_SURELY) {
			feeds_keep(&search->feeds, earlier, &skipped->cover, skipped->call);
			return 0;
		}
	}
	search->spoiled = 1;
	return 0;
}

static int shows(void *arg, const struct walk_call *call, int shown)
{
	struct search *search = arg;

	return host_view_shows(&search->view, &search->relax, call, shown);
}

static int is_known(void *arg, const struct touch *touch)
{
	const struct search *search = arg;

	return order_known(&search->relax.full, search->waiter, touch->full) == ORDER_GUARANTEED;
}

static int note_seen(void *arg, const struct touch *touch)
{
	struct search *search = arg;
	int64_t *more;

	if (!touch)
		return 0;
	more = array_room(search->seen, search->seen_count, sizeof(*more));
	if (!more)
		return -1;
	search->seen = more;
	search->seen[search->seen_count++] = touch->call;
	return 0;
}

static int note_news(void *arg, const struct touch *touch)
{
	struct search *search = arg;

	for (size_t i = 0; touch && i < search->seen_count; i++)
		if (search->seen[i] == touch->call)
			return 0;
	search->news = 1;
	return 0;
}

/* Follows the wait in the one order, and in the other if the host may look at more behind it. */
static int step(struct search *search, const struct walk_call *call)
{
	struct relax_visitor before = { is_known, note_seen, search };
	struct relax_visitor after = { is_known, note_news, search };

	search->waiter = call->thread;
	search->seen_count = 0;
	search->news = 0;
	if (relax_visit_host(&search->relax, &before) || relax_full(&search->relax, call) ||
		relax_visit_host(&search->relax, &after))
		return -1;
	return search->news ? order_step(&search->relax.loose, call) : 0;
}

/* --- waits --- */

/* The thread waits at a time: those of its last row were without consequence until then. */
static void close_row(struct search *search, struct thread *thread, int64_t now)
{
	for (size_t i = 0; i < thread->open_count; i++) {
		struct skipped *skipped = &search->skipped[thread->open[i]];

		skipped->usable += now > skipped->exit ? now - skipped->exit : 0;
	}
	thread->open_count = 0;
}

static void begin_row(struct search *search, struct thread *thread, int64_t now)
{
	if (thread->in_row)
		return;
	close_row(search, thread, now);
	thread->row = ++search->rows;
	thread->in_row = 1;
}

static int add_skipped(struct search *search, struct thread *thread, const struct skipped *skipped)
{
	struct skipped *more = array_room(search->skipped, search->count, sizeof(*more));

	if (!more)
		return -1;
	search->skipped = more;
	if (thread->open_count < OPEN_LIMIT)
		thread->open[thread->open_count++] = search->count;
	more[search->count++] = *skipped;
	skipped->place->waits++;
	return 0;
}

/* NULL after a message; *known is 0 if it is not known where the call is. */
static struct place *place_of(struct search *search, int64_t call, int *known)
{
	int64_t id = findings_place(search->findings, call);

	*known = id != 0;
	return id > 0 ? idmap_need(&search->places, id, sizeof(struct place)) : NULL;
}

static int see_wait(struct search *search, struct thread *thread, const struct walk_call *call,
	int64_t enter)
{
	int known;
	struct place *place = place_of(search, call->id, &known);
	struct skipped skipped = { .call = call->id,
		.process = call->process,
		.exit = call->exit,
		.upload = thread->upload,
		.cost = call->exit - enter,
		.place = place,
		.timed = thread->timed || feeds_is_timed(&search->feeds, call->event) };

	if (known && !place)
		return -1;
	begin_row(search, thread, enter);
	thread->timed = 0;
	feeds_wait(&search->feeds, call, thread->row, &skipped.cover);
	/* Of what nothing is waited for redundant-sync speaks. */
	if (!known || !place->is_candidate || !skipped.cover.last.call ||
		call->stretch == STRETCH_NONE)
		return relax_both(&search->relax, call);
	if (step(search, call))
		return -1;
	if (!search->news)
		return add_skipped(search, thread, &skipped);
	need(search, place);
	return 0;
}

/* --- what comes between waits --- */

/* The work could have run beside what the waits before it were for. */
static void hold_back(struct search *search, struct thread *thread, const struct walk_call *call)
{
	int idled = feeds_idled(&search->feeds, call->stream, thread->row);

	for (size_t i = 0; i < thread->open_count && idled; i++) {
		struct skipped *skipped = &search->skipped[thread->open[i]];

		if (order_before(&search->relax.loose, skipped->cover.last.loose) ==
			ORDER_GUARANTEED)
			continue;
		skipped->place->apart += !skipped->apart;
		skipped->apart = 1;
		skipped->usable += call->op_busy;
	}
}

static int see_work(struct search *search, struct thread *thread, const struct walk_call *call)
{
	struct process *process = idmap_need(&search->processes, call->process, sizeof(*process));

	if (!process)
		return -1;
	if (process->submitter && process->submitter != call->thread)
		process->submitter = -1;
	else
		process->submitter = call->thread;
	process->last = call->id;
	thread->upload =
		call_is_async_copy(call->kind) && call->direction == COPY_H2D ? call->id : 0;
	hold_back(search, thread, call);
	thread->in_row = 0;
	return 0;
}

/* Memory that goes while the device may use it, without waiting for that. */
static void see_release(struct search *search, struct thread *thread)
{
	for (size_t i = 0; i < thread->open_count; i++)
		blame(search, &search->skipped[thread->open[i]]);
}

static int releases(const struct walk_call *call)
{
	enum kind_family family = kind_family(call->kind);

	return family == FAMILY_mapping || family == FAMILY_object;
}

/* cudaEventElapsedTime would fail without the wait. */
static void take_time(struct search *search, struct thread *thread)
{
	for (size_t i = 0; i < thread->open_count; i++)
		search->skipped[thread->open[i]].timed = 1;
}

/* A call that waits beside what it does. */
static void see_implicit(struct search *search, struct thread *thread, const struct walk_call *call)
{
	struct cover cover;

	thread->in_row = 0;
	begin_row(search, thread, call->enter);
	feeds_wait(&search->feeds, call, thread->row, &cover);
}

static int see_other(struct search *search, struct thread *thread, const struct walk_call *call)
{
	if (relax_both(&search->relax, call))
		return -1;
	if (walk_submits(call) && see_work(search, thread, call))
		return -1;
	if (feeds_note(&search->feeds, &search->relax, call))
		return -1;
	if (releases(call))
		see_release(search, thread);
	if (call->kind == KIND_EVENT_ELAPSED)
		take_time(search, thread);
	if (call->kind == KIND_EVENT_RECORD)
		thread->timed |= feeds_is_timed(&search->feeds, call->event);
	if (scope_waited(call) && !scope_is_explicit(call))
		see_implicit(search, thread, call);
	return 0;
}

static int see(void *arg, const struct walk_call *call)
{
	struct search *search = arg;
	struct thread *thread = idmap_need(&search->threads, call->thread, sizeof(*thread));
	int64_t since = polls_since(&search->polls, call->id);

	if (!thread)
		return -1;
	if (relax_given_up(&search->relax) || !search->candidates)
		return 0;
	if (since != INT64_MIN)
		return see_wait(search, thread, call, since);
	if (scope_is_explicit(call) && !call->result && call->exit != WALK_NEVER)
		return see_wait(search, thread, call, call->enter);
	return see_other(search, thread, call);
}

/* --- what is found --- */

static int is_found(const struct place *place)
{
	return place->is_candidate && place->waits - place->needed >= FINDING_MIN_COUNT;
}

/* All calls of a place come from one line: the first that is asked about says it for all. */
static int find_hidden(struct search *search, const struct skipped *skipped)
{
	int rc;

	if (skipped->place->hidden != HIDDEN_UNKNOWN || !skipped->upload)
		return 0;
	if (!search->segments.run && segments_open(&search->segments, search->relax.full.db))
		return -1;
	rc = segments_of_one_line(&search->segments, skipped->call, skipped->upload);
	skipped->place->hidden = rc > 0 ? HIDDEN_BELOW_COPY : HIDDEN_NO;
	return rc < 0 ? -1 : 0;
}

static enum confidence confidence_of(const struct search *search, const struct skipped *skipped,
	const struct process *process)
{
	int apart = 2 * skipped->place->apart >= skipped->place->waits;

	if (host_view_has_others(&search->view, skipped->process))
		return CONFIDENCE_POSSIBLE;
	if (skipped->upload && skipped->place->hidden == HIDDEN_BELOW_COPY)
		return CONFIDENCE_LIKELY;
	return apart && !skipped->timed && process->submitter > 0 ? CONFIDENCE_LIKELY
								  : CONFIDENCE_POSSIBLE;
}

/* Behind its last work a process is about to end; what records are missing may have needed it. */
static int is_reported(const struct search *search, const struct skipped *skipped,
	const struct process *process)
{
	return !skipped->needed && process && skipped->call <= process->last &&
		!map_get(&search->run->gaps, (uint64_t)skipped->process, 0) &&
		is_found(skipped->place);
}

static int report(struct search *search, const struct skipped *skipped)
{
	const struct process *process = idmap_get(&search->processes, skipped->process);

	if (!is_reported(search, skipped, process))
		return 0;
	if (find_hidden(search, skipped))
		return -1;
	return findings_add(search->findings,
		&(struct instance){ .rule = RULE_needless_wait,
			.process = skipped->process,
			.call = skipped->call,
			.other_call = skipped->cover.last.call,
			.cost = skipped->cost,
			.saving = skipped->usable < skipped->cost ? skipped->usable : skipped->cost,
			.change = CHANGE_CALL,
			.confidence = confidence_of(search, skipped, process) });
}

static int report_all(struct search *search)
{
	int rc = 0;

	for (size_t i = 0; i < search->count && !rc; i++)
		if (!search->spoiled && !relax_given_up(&search->relax))
			rc = report(search, &search->skipped[i]);
	return rc;
}

static void free_search(struct search *search)
{
	relax_release(&search->relax);
	host_view_release(&search->view);
	feeds_close(&search->feeds);
	polls_release(&search->polls);
	if (search->segments.run)
		segments_close(&search->segments);
	idmap_release(&search->places, free);
	idmap_release(&search->threads, free);
	idmap_release(&search->processes, free);
	free(search->skipped);
	free(search->seen);
	free(search);
}

static int follow(struct search *search, struct db *db)
{
	search->relax = (struct relax){ .lost = lost, .shows = shows, .arg = search };
	return relax_init(&search->relax, db) || host_view_find(&search->view, db) ||
			feeds_open(&search->feeds, db->run) || walk(db, see, search) ||
			report_all(search) || order_loss_add(db, relax_given_up(&search->relax))
		? -1
		: 0;
}

static int note_glance(void *arg, int64_t call, int fruitless, int64_t ns)
{
	struct search *search = arg;
	int known;
	struct place *place = place_of(search, call, &known);

	if (!place)
		return known ? -1 : 0;
	place->fruitless += fruitless;
	place->fruitful += !fruitless;
	place->waited += fruitless ? ns : 0;
	return 0;
}

/* To follow a run takes as long as its analysis: not for waits that all but surely are needed. */
static int find_candidates(struct search *search, const struct run *run)
{
	struct glance glance = { .wait = note_glance, .arg = search };
	int64_t waited = 0;

	if (glance_at(&glance, run, &search->polls))
		return -1;
	for (size_t i = 0; i < search->places.size; i++) {
		struct place *place = search->places.slot[i].object;

		if (!place || place->fruitless < FINDING_MIN_COUNT || place->fruitful > 1)
			continue;
		place->is_candidate = 1;
		search->candidates++;
		waited += place->waited;
	}
	return waited >= SHOWN_MIN_NS;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search *search = calloc(1, sizeof(*search));
	int rc;

	if (!search)
		return -1;
	search->findings = findings;
	search->run = input->run;
	rc = polls_find(&search->polls, input->run, input->db)
		? -1
		: find_candidates(search, input->run);
	if (rc > 0)
		rc = follow(search, input->db);
	free_search(search);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited for ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(", which nobody is seen to need before the next wait", out);
	return 0;
}

static char *place_of_call(struct words *words, int64_t call)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = out ? words_place(words, call, out) : -1;

	if (out)
		fclose(out);
	if (!rc)
		return text;
	free(text);
	return NULL;
}

/* The library waits for its own copy, in one line of the script. */
static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	int script = words_has_script(words, worst->process);
	char *at = place_of_call(words, worst->call);
	char *copy = place_of_call(words, worst->other_call);

	if (script > 0 && at && copy && *at && !strcmp(at, copy))
		fputs("copy with non_blocking=True: memory that is not pinned has been read when "
		      "the copy returns",
			out);
	free(at);
	free(copy);
	return script < 0 || !at || !copy ? -1 : 0;
}

const struct pass pass_needless_wait = { .run = run, .say = say, .fix = fix };
