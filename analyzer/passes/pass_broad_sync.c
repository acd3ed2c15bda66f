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
 * A wait that only pairs need may be for something else, too (wait_verdict.h): then it is possibly
 * too broad, and likely otherwise.
 *
 * The saving is at most the part of the difference that the thread could have used: for its own
 * time, and for work that it submits next and that need not follow the excess work.  A later wait
 * for the same work would take the place of this one: both are changed together.
 */
#include <stdlib.h>

#include "constants.h"
#include "id_map.h"
#include "pass.h"
#include "wait_verdict.h"

struct place {
	int64_t broad, needed;
	struct wait_tally waits;
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
	int64_t id = findings_place(findings, call);

	return id > 0 ? id_map_need(places, id, sizeof(struct place)) : NULL;
}

static int tally(const struct pass_input *input, struct findings *findings, struct id_map *places,
	const struct map *clocks)
{
	for (size_t i = 0; i < input->needs.host_count; i++) {
		const struct host_wait *wait = &input->needs.host[i];
		struct place *place = place_of(findings, places, wait->call);

		if (!place)
			return -1;
		if (wait->behind)
			wait_tally_add(&place->waits, input->run, clocks, wait);
		place->needed += is_needed(wait);
		place->broad += excess(input->run, wait) >= BLOCKED_MIN_NS &&
			usable(&input->needs, wait) >= BLOCKED_MIN_NS;
	}
	return 0;
}

static enum confidence confidence_of(const struct pass_input *input, const struct place *place,
	const struct host_wait *wait)
{
	const struct needs_process *process = id_map_get(&input->needs.processes, wait->process);

	if (!is_for_order(wait))
		return wait->ordered ? CONFIDENCE_LIKELY : CONFIDENCE_OF_RULE;
	return process && wait_verdict(&place->waits, process) >= CONFIDENCE_LIKELY
		? CONFIDENCE_LIKELY
		: CONFIDENCE_POSSIBLE;
}

static int add(const struct pass_input *input, struct findings *findings, struct id_map *places,
	const struct host_wait *wait)
{
	const struct place *place = place_of(findings, places, wait->call);
	int64_t cost = excess(input->run, wait), rest = usable(&input->needs, wait);
	struct instance instance = { .rule = RULE_broad_sync,
		.process = wait->process,
		.call = wait->call,
		.other_call = wait->behind,
		.cost = cost,
		.saving = rest < cost ? rest : cost,
		.change = CHANGE_WAIT,
		.still_needs = wait->until > wait->ordered_end ? wait->needed : wait->ordered };

	if (!place)
		return -1;
	instance.confidence = confidence_of(input, place, wait);
	if (instance.saving < BLOCKED_MIN_NS || is_needed(wait) || place->needed > 1 ||
		place->broad < FINDING_MIN_COUNT)
		return 0;
	for (size_t i = 0; i < NEEDS_BESIDE && !is_hidden(&input->needs, wait); i++)
		instance.also[i] = wait->also[i];
	return findings_add(findings, &instance);
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct id_map places = { 0 };
	struct map clocks = { 0 };
	int rc;

	if (!input->needs.host_is_known)
		return 0;
	rc = ids_read(&clocks, input->db, WAIT_CLOCKS_SQL, 1) ||
			tally(input, findings, &places, &clocks)
		? -1
		: 0;
	for (size_t i = 0; i < input->needs.host_count && !rc; i++)
		if (excess(input->run, &input->needs.host[i]) >= BLOCKED_MIN_NS)
			rc = add(input, findings, &places, &input->needs.host[i]);
	id_map_release(&places, free);
	map_release(&clocks);
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
	fputs(" longer than for the last work that the host or later work is known to need", out);
	if (worst->also[0])
		fputs("; the next wait would take its place: fix that one, too", out);
	return 0;
}

const struct pass pass_broad_sync = { .run = run, .say = say };
