/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broad-sync: the host waited for a stream or the device where an event would have been enough.
 *
 * needs.h finds what the host uses after a wait: memory that it can access without another call
 * (results of copies to the host, sources of copies that it may refill, mapped and managed memory),
 * or, if there is none, what it copies to the host before it submits anything else.  If pairs of
 * operations need the wait, it must also cover the earlier ones of these.  A wait before an event
 * time is read is needed as it is.  If the host uses nothing after a wait and no pair needs it, the
 * wait has another purpose (a time, the end, memory to be freed).  At most one wait of a place may
 * be needed as it is: the first wait of a loop often covers earlier work.
 *
 * A wait for the device that ended with another thread's work is too broad by what came after its
 * own thread's work, whether that is needed or not, if the other thread waits for its work itself
 * and no wait of the place is known to be needed for the work of others.
 *
 * A wait that only pairs need may be for something else, too (pass_waits.h): then it is possibly
 * too broad, and likely otherwise.  If streams can keep that order (needs_fences.c), the host need
 * not wait at all: so it is where no more than one wait of the place is needed for anything else.
 *
 * The saving is at most the part of the difference that the thread could have used: for its own
 * time, and for work that it submits next and that need not follow the excess work.  A later wait
 * for the same work would take the place of this one: both are changed together.
 */
#include <stddef.h>
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "id_map.h"
#include "memory.h"
#include "pass.h"
#include "pass_hazards.h"
#include "pass_waits.h"
#include "print.h"
#include "sorted.h"

struct place {
	int64_t broad, needed;
	int64_t fences, stays; /* for order that streams can keep; needed whatever streams do */
	int64_t for_others, beyond; /* needed for other threads' work; beyond their own thread's */
	struct wait_tally waits;
};

/* A thread, up to a wait. */
struct thread {
	uint32_t last;        /* its last call before */
	uint32_t own;         /* the call with the latest end of its work ... */
	int64_t own_end;      /* ... and that end, ns */
	uint32_t asked, wait; /* the last result of next_wait() */
};

struct search {
	const struct pass_input *input;
	struct findings *findings;
	struct id_map places, threads;
	struct map clocks;
	/* By wait: ns that it took longer than for its own thread's work, and that work's call. */
	struct beyond {
		int64_t time;
		uint32_t own;
	} * beyond;
};

/* A wait for a stream or the device that ended with a known call's operation. */
static int is_wait_for_more(const struct run *run, const struct host_wait *wait)
{
	const struct run_wait *row = run_wait_of(&run->evidence, wait->call);

	return row && row->kind == WAIT_EXPLICIT && row->waited >= BLOCKED_MIN_NS && wait->behind &&
		kind_waits(run_call(run, wait->call)->kind) != WAITS_EVENT;
}

/* The host uses nothing after it, as far as is known. */
static int is_for_order(const struct host_wait *wait)
{
	return wait->until == INT64_MIN && wait->ordered;
}

/* Returns how much longer the wait took than needed, ns. */
static int64_t excess(const struct run *run, const struct host_wait *wait)
{
	int64_t until = wait->until > wait->ordered_end ? wait->until : wait->ordered_end;
	int64_t from = until > wait->enter ? until : wait->enter;

	return until != INT64_MIN && is_wait_for_more(run, wait) && wait->behind_end > from
		? wait->behind_end - from
		: 0;
}

/* The wait is needed as it is: an excess below BLOCKED_MIN_NS is not reported. */
static int is_needed(const struct host_wait *wait)
{
	return wait->elapsed || (is_for_order(wait) && (wait->maybe || wait->freed)) ||
		wait->ordered_end > wait->behind_end - BLOCKED_MIN_NS;
}

/* Returns the thread's next wait for a stream or the device after a call; UINT32_MAX: none. */
static uint32_t next_wait(const struct run *run, struct thread *thread, uint32_t call)
{
	enum kind_waits waits;

	if (call >= thread->asked && call < thread->wait)
		return thread->wait;
	thread->asked = thread->wait = call;
	do {
		thread->wait = run_link(run, thread->wait)->next;
		waits = thread->wait ? kind_waits(run_call(run, thread->wait)->kind) : 0;
	} while (thread->wait && waits != WAITS_STREAM && waits != WAITS_CONTEXT);
	thread->wait = thread->wait ? thread->wait : UINT32_MAX;
	return thread->wait;
}

/* Does the thread that submitted the work of a call wait for it? */
static int is_awaited(const struct run *run, struct id_map *threads, uint32_t call)
{
	const struct run_call *work = run_call(run, call), *wait;
	uint32_t next =
		next_wait(run, id_map_need(threads, work->thread, sizeof(struct thread)), call);

	if (next == UINT32_MAX)
		return 0;
	wait = run_call(run, next);
	return kind_waits(wait->kind) == WAITS_CONTEXT || wait->stream == work->stream;
}

/* Is it needed for work that its thread did not submit, or may it be? */
static int is_for_others(const struct run *run, const struct host_wait *wait)
{
	uint32_t thread = run_call(run, wait->call)->thread;

	return wait->elapsed || wait->maybe || wait->freed || wait->ordered_end == INT64_MAX ||
		(wait->needed && run_call(run, wait->needed)->thread != thread) ||
		(wait->ordered && run_call(run, wait->ordered)->thread != thread);
}

/* Waits come in the order of their calls. */
static struct beyond beyond_own(const struct run *run, struct id_map *threads,
	const struct host_wait *wait)
{
	const struct run_call *call = run_call(run, wait->call);
	struct thread *thread = id_map_need(threads, call->thread, sizeof(*thread));
	uint32_t next =
		thread->last ? run_link(run, thread->last)->next : run->thread[call->thread].first;

	for (; next && next <= wait->call; next = run_link(run, next)->next) {
		uint32_t work = run_call(run, next)->last_work;
		int64_t end = work ? run_end(run, run_work(run, work), work) : INT64_MIN;

		thread->last = next;
		if (work && end >= thread->own_end) {
			thread->own = next;
			thread->own_end = end;
		}
	}
	if (wait->watches || !thread->own || !is_wait_for_more(run, wait) ||
		kind_waits(call->kind) != WAITS_CONTEXT ||
		run_call(run, wait->behind)->thread == call->thread ||
		!is_awaited(run, threads, wait->behind))
		return (struct beyond){ 0 };
	return (struct beyond){ wait->behind_end - at_least(thread->own_end, wait->enter),
		thread->own };
}

/* A later wait for the same work is needed and remains. */
static int is_hidden(const struct needs *needs, const struct host_wait *wait)
{
	for (size_t i = 0; i < NEEDS_BESIDE && wait->also[i]; i++) {
		const struct host_wait *other = needs_host_at(needs, wait->also[i]);

		if (other && (other->ordered_end != INT64_MIN || other->elapsed))
			return 1;
	}
	return 0;
}

/* Returns the time that the thread could have used, ns. */
static int64_t usable(const struct needs *needs, const struct host_wait *wait)
{
	return is_hidden(needs, wait) ? wait->until_also : wait->usable;
}

static struct place *place_of(struct findings *findings, struct id_map *places, int64_t call)
{
	int64_t id = findings_place_of_type(findings, call);

	return id > 0 ? id_map_need(places, id, sizeof(struct place)) : NULL;
}

/* All that is known to need it is an order that streams can keep. */
static int is_fence(const struct run *run, const struct host_wait *wait)
{
	return wait->behind && needs_fence(wait) && !wait->elapsed &&
		call_is_wait(run_call(run, wait->call)->kind) &&
		!map_get(&run->gaps, wait->process, 0);
}

/* Of its pairs, that one is said whose earlier operation ended last. */
static int add_fence(struct search *search, const struct host_wait *wait, enum confidence verdict)
{
	const struct run *run = search->input->run;
	const struct run_evidence *evidence = &run->evidence;
	struct instance instance = { .rule = RULE_broad_sync,
		.process = wait->process,
		.call = wait->call,
		.other_call = wait->behind,
		.cost = wait->exit - wait->enter,
		.change = CHANGE_WAIT,
		.confidence = verdict };
	int64_t last = INT64_MIN;

	for (size_t i = sorted_number(evidence->fence, evidence->fence_count,
		     sizeof(*evidence->fence), offsetof(struct run_fence, wait), wait->call);
		i < evidence->fence_count && evidence->fence[i].wait == wait->call; i++) {
		const struct run_fence *fence = &evidence->fence[i];
		uint32_t work = run_call(run, fence->earlier)->last_work;
		int64_t end = work ? run_end(run, run_work(run, work), work) : INT64_MIN;

		if (instance.pairs++ && end <= last)
			continue;
		last = end;
		instance.earlier = fence->earlier;
		instance.later = fence->later;
	}
	instance.saving = at_most(wait->usable, instance.cost);
	return instance.pairs ? findings_add(search->findings, &instance) : 0;
}

static int tally(struct search *search)
{
	const struct needs *needs = &search->input->needs;
	const struct run *run = search->input->run;

	for (size_t i = 0; i < needs->host_count; i++) {
		const struct host_wait *wait = &needs->host[i];
		struct place *place = place_of(search->findings, &search->places, wait->call);

		if (!place)
			return -1;
		if (wait->behind)
			wait_tally_add(&place->waits, run, &search->clocks, wait);
		search->beyond[i] = beyond_own(run, &search->threads, wait);
		place->needed += is_needed(wait);
		place->fences += is_fence(run, wait);
		place->stays += needs_wait(wait) && !is_fence(run, wait);
		place->broad += excess(run, wait) >= BLOCKED_MIN_NS &&
			usable(needs, wait) >= BLOCKED_MIN_NS;
		place->for_others += is_for_others(run, wait);
		place->beyond += search->beyond[i].time >= BLOCKED_MIN_NS;
	}
	return 0;
}

static enum confidence confidence_of(const struct needs_process *process, const struct place *place,
	const struct host_wait *wait)
{
	if (wait->again)
		return wait->again != AGAIN_SUBMITTER || !process || process->others == OTHERS_MAY
			? CONFIDENCE_POSSIBLE
			: CONFIDENCE_LIKELY;
	if (!is_for_order(wait))
		return wait->ordered ? CONFIDENCE_LIKELY : CONFIDENCE_OF_RULE;
	return process && wait_verdict(&place->waits, process) >= CONFIDENCE_LIKELY
		? CONFIDENCE_LIKELY
		: CONFIDENCE_POSSIBLE;
}

/* instance.why: the host needs later work, but waits for that itself. */
static const char awaited_again[] = "what came later has a wait of its own";

static int add(struct search *search, size_t number)
{
	const struct needs *needs = &search->input->needs;
	const struct host_wait *wait = &needs->host[number];
	const struct beyond *beyond = &search->beyond[number];
	const struct place *place = place_of(search->findings, &search->places, wait->call);
	const struct needs_process *process = id_map_get(&needs->processes, wait->process);
	struct instance instance = { .rule = RULE_broad_sync,
		.process = wait->process,
		.call = wait->call,
		.other_call = wait->behind,
		.cost = excess(search->input->run, wait),
		.change = CHANGE_WAIT,
		.still_needs = wait->until > wait->ordered_end ? wait->needed : wait->ordered };

	if (!place)
		return -1;
	if (process && place->fences >= FINDING_MIN_COUNT && place->stays <= 1)
		return is_fence(search->input->run, wait)
			? add_fence(search, wait, wait_verdict(&place->waits, process))
			: 0;
	instance.confidence = confidence_of(process, place, wait);
	instance.why = wait->again ? awaited_again : NULL;
	if (is_needed(wait) || place->needed > 1 || place->broad < FINDING_MIN_COUNT) {
		if (place->for_others || place->beyond < FINDING_MIN_COUNT)
			return 0;
		instance.own = 1;
		instance.why = NULL;
		instance.cost = beyond->time;
		instance.still_needs = beyond->own;
		instance.confidence = process && process->others == OTHERS_MAY ? CONFIDENCE_POSSIBLE
									       : CONFIDENCE_LIKELY;
	}
	instance.saving = at_most(usable(needs, wait), instance.cost);
	if (instance.saving < BLOCKED_MIN_NS)
		return 0;
	for (size_t i = 0; i < NEEDS_BESIDE && !is_hidden(needs, wait); i++)
		instance.also[i] = wait->also[i];
	return findings_add(search->findings, &instance);
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .input = input, .findings = findings };
	size_t count = input->needs.host_count;
	int rc;

	if (!input->needs.host_is_known)
		return 0;
	search.beyond = xcalloc(count + 1, sizeof(*search.beyond));
	rc = ids_read(&search.clocks, input->db, WAIT_CLOCKS_SQL, 1) || tally(&search) ? -1 : 0;
	for (size_t i = 0; i < count && !rc; i++)
		rc = add(&search, i);
	id_map_release(&search.places, free);
	id_map_release(&search.threads, free);
	map_release(&search.clocks);
	free(search.beyond);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited for ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	if (worst->pairs) {
		fputs(": later work of streams is known to need that, the host is not", out);
		return words_clock(words, worst->call, ", but a clock was read right after it at ",
			out);
	}
	fputs(", ", out);
	words_time(worst->cost, out);
	fputs(worst->own ? " longer than for the last work of its own thread"
			 : " longer than for the last work that the host or later work is known to "
			   "need",
		out);
	if (worst->why)
		print(out, "; %s", worst->why);
	if (worst->also[0])
		fputs("; the next wait would take its place: fix that one, too", out);
	return 0;
}

static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	struct instance fence = *worst;

	if (worst->pairs) {
		fence.call = worst->later;
		fence.other_call = worst->earlier;
		if (pass_fix_hazard(words, &fence, out))
			return -1;
		fputs(", and leave out this wait", out);
	}
	if (worst->pairs > 1)
		print(out, "; likewise for %lld other pair%s of streams",
			(long long)worst->pairs - 1, worst->pairs > 2 ? "s" : "");
	if (worst->own)
		fputs("wait for the streams that this thread submits to, not for the device", out);
	return 0;
}

const struct pass pass_broad_sync = { .run = run, .say = say, .fix = fix };
