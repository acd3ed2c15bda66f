/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_waits.h"

#include <stdlib.h>

#include "constants.h"
#include "waits.h"

/*
 * Behind a call that was held, calls that wait as a side effect as well, but were not held any
 * more: frees and their like, copies to the device.  They would have waited in its place.  Behind a
 * copy to the host, or what is mended with one: others to the host, too.  Behind a pageable Async
 * copy: those of its stream.
 */
enum followers { FOLLOWERS_NONE, FOLLOWERS_WAITING, FOLLOWERS_ASYNC, FOLLOWERS_OF_RESULT };

static int is_to_host(const struct run_payload *payload)
{
	return payload->dst == MEMORY_PAGEABLE || payload->dst == MEMORY_PINNED;
}

/* Up to the thread's next call that was held or is made in order to wait. */
static int ends_followers(const struct run *run, uint32_t id, enum followers kind)
{
	const struct run_call *call = run_call(run, id);

	return call_is_wait(call->kind) ||
		(kind != FOLLOWERS_OF_RESULT && call_is_sync_copy(call->kind) &&
			is_to_host(run_payload(run, call))) ||
		wait_is_for_others(run, id);
}

static int is_follower(const struct run *run, const struct run_call *call, enum followers kind,
	uint32_t stream)
{
	const struct run_payload *payload = run_payload(run, call);

	if (kind == FOLLOWERS_ASYNC)
		return call_is_async_copy(call->kind) && call->stream == stream &&
			(payload->src == MEMORY_PAGEABLE || payload->dst == MEMORY_PAGEABLE);
	return kind_has(call->kind, K_RESOURCE) || call_is_sync_copy(call->kind) ||
		(call_is_sync_set(call->kind) && is_to_host(payload));
}

/* Within one window: what waited outside is not known. */
static void find_followers(const struct pass_input *input, const struct waited *waited,
	enum followers kind, struct instance *instance)
{
	const struct run *run = input->run;
	int64_t process = waited->payload->process;
	int stretch = stretches_find(&input->stretches, process, waited->call->enter), count = 0;
	uint32_t first = waited->wait->call;

	for (uint32_t id = run_link(run, first)->next;
		id && id < first + FOLLOWER_CALLS && count < FINDING_ALSO;
		id = run_link(run, id)->next) {
		const struct run_call *call = run_call(run, id);

		if (ends_followers(run, id, kind))
			break;
		if (is_follower(run, call, kind, waited->call->stream) &&
			stretches_find(&input->stretches, process, call->enter) == stretch)
			instance->also[count++] = id;
	}
}

/* A call's work that it comes after in its stream was still running when it was entered. */
static int kept_waiting(const struct run *run, const struct run_call *call, uint32_t before)
{
	const struct run_call *other = run_call(run, before);
	uint32_t id = other ? other->last_work : 0;

	while (id) {
		const struct run_work *work = run_work(run, id);
		int64_t end = run_end(run, work, id);

		if (run_where(run, work)->stream == call->stream && end != RUN_NEVER &&
			end > call->enter)
			return 1;
		id = work->next == other->last_work ? 0 : work->next;
	}
	return 0;
}

/* What else the legacy default stream had to do when a copy in it waited, one call per place. */
static size_t find_before(const struct run *run, const struct waited *waited,
	struct run_place *place, size_t most)
{
	uint32_t call = waited->wait->call;
	size_t count = 0;

	for (uint32_t id = call > ROW_CALLS ? call - ROW_CALLS + 1 : 1; id < call; id++)
		if (kept_waiting(run, waited->call, id))
			count = run_keep_place(place, count, most,
				(struct run_place){ run_link(run, id)->site, id }, 1);
	return count;
}

/* The stream that it leaves it leaves with what is mended with it and what it comes after there. */
static void add_leaving(const struct run *run, const struct waited *waited,
	struct instance *instance)
{
	struct run_place place[FINDING_ALSO];
	size_t count = 0, before;

	instance->with_change = CHANGE_WAIT | CHANGE_ORDER;
	instance->with[count++] = instance->call;
	for (size_t i = 0; i < FINDING_ALSO && instance->also[i] && count < FINDING_ALSO; i++)
		instance->with[count++] = instance->also[i];
	before = find_before(run, waited, place, FINDING_ALSO - count);
	for (size_t i = 0; i < before; i++)
		instance->with[count++] = place[i].call;
}

static enum followers followers_of(const struct waited *waited)
{
	enum call_kind kind = waited->call->kind;

	if (call_is_sync_set(kind))
		return FOLLOWERS_WAITING;
	if (call_is_sync_copy(kind))
		return is_to_host(waited->payload) ? FOLLOWERS_OF_RESULT : FOLLOWERS_WAITING;
	if (call_is_async_copy(kind))
		return waited->wait->kind == WAIT_IMPLICIT ? FOLLOWERS_ASYNC : FOLLOWERS_NONE;
	if (waited->wait->partner)
		return FOLLOWERS_OF_RESULT;
	return kind_family(kind) != FAMILY_launch && waited->wait->kind == WAIT_IMPLICIT
		? FOLLOWERS_WAITING
		: FOLLOWERS_NONE;
}

static int add_wait(const struct pass_input *input, struct findings *findings, enum rule rule,
	const struct waited *waited)
{
	const struct run_wait *wait = waited->wait;
	enum followers kind = followers_of(waited);
	struct instance instance = {
		.rule = rule,
		.process = waited->payload->process,
		.call = wait->call,
		.other_call = waited->behind,
		.cost = wait->waited,
		.saving = wait->avoidable > wait->apart ? wait->avoidable : wait->apart,
		.also = { wait->partner },
		.change = CHANGE_WAIT,
	};

	if (kind)
		find_followers(input, waited, kind, &instance);
	if (wait->apart > 0)
		add_leaving(input->run, waited, &instance);
	return findings_add(findings, &instance);
}

int pass_add_waits(const struct pass_input *input, struct findings *findings, enum rule rule,
	waited_filter *filter)
{
	const struct run *run = input->run;
	int rc = 0;

	for (size_t i = 1; i < run->evidence.wait_count && !rc; i++) {
		struct waited waited = { .wait = &run->evidence.wait[i] };
		const struct run_work *work = run_work(run, waited.wait->op);

		waited.call = run_call(run, waited.wait->call);
		if (waited.wait->kind == WAIT_BEHIND || waited.wait->kind == WAIT_QUEUE ||
			(waited.wait->avoidable <= 0 && waited.wait->apart <= 0) || !work ||
			!waited.call)
			continue;
		waited.payload = run_payload(run, waited.call);
		waited.behind = work->call;
		if (filter(input, &waited))
			rc = add_wait(input, findings, rule, &waited);
	}
	return rc;
}

int pass_say_waited(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" for ", out);
	if (worst->call == worst->other_call) {
		fputs("its own transfer", out);
		return 0;
	}
	return words_operation(words, worst->other_call, out);
}
