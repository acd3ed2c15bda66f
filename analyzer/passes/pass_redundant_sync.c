/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redundant-sync: an explicit wait for work that the thread had already observed complete, or a
 * stream's wait for work that it already comes after (table known_wait).
 *
 * A wait can be removed only if it never has an effect, so a place counts if at most one of its
 * waits was needed; often the first one is, for work before the loop.  A wait that takes the place
 * of one that may be left out (needs.h) is needed.
 */
#include <stdlib.h>

#include "constants.h"
#include "id_map.h"
#include "pass.h"

struct place {
	int64_t waits, known;
};

static int is_wait(const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);

	return call && (call_is_wait(call->kind) || call->kind == KIND_STREAM_WAIT) &&
		call->flags & CALL_RETURNED && !run_payload(run, call)->result;
}

static int tally(const struct pass_input *input, struct findings *findings, struct id_map *places)
{
	const struct run *run = input->run;

	for (uint32_t id = 1; id < run_call_end(run); id++) {
		struct place *place;
		int64_t at;

		if (!is_wait(run, id))
			continue;
		at = findings_place_of_type(findings, id);
		place = at < 0 ? NULL : id_map_need(places, at, sizeof(*place));
		if (!place)
			return -1;
		place->waits++;
		if (map_get(&run->evidence.knows, id, 0) && !needs_replacement(&input->needs, id))
			place->known++;
	}
	return 0;
}

static int is_never_needed(const struct place *place)
{
	return place && place->waits - place->known <= 1;
}

static int64_t duration(const struct run *run, uint32_t id)
{
	const struct run_call *call = run_call(run, id);
	int64_t exit = call ? run_exit(run, call, id) : RUN_NEVER;

	return exit == RUN_NEVER ? -1 : exit - call->enter;
}

/* Removing the call saves its whole duration.  Processes with missing records are skipped. */
static int add_known(const struct run *run, struct findings *findings, const struct id_map *places,
	const struct run_known *known)
{
	int64_t process = run_payload(run, run_call(run, known->call))->process;
	int64_t itself = duration(run, known->call);
	int64_t whole = duration(run, run_link(run, known->call)->parent);
	int64_t cost = whole < 0 ? itself : whole;
	int64_t at = findings_place_of_type(findings, known->call);

	if (at < 0)
		return -1;
	if (itself < 0 || itself > BLOCKED_MIN_NS || map_get(&run->gaps, (uint64_t)process, 0) ||
		!is_never_needed(id_map_get(places, at)))
		return 0;
	return findings_add(findings,
		&(struct instance){
			.rule = RULE_redundant_sync,
			.process = process,
			.call = known->call,
			.other_call = known->since,
			.cost = cost,
			.saving = cost,
			.change = CHANGE_CALL,
		});
}

static int run(const struct pass_input *input, struct findings *findings)
{
	const struct run_evidence *evidence = &input->run->evidence;
	struct id_map places = { 0 };
	int rc = evidence->known_count ? tally(input, findings, &places) : 0;

	for (size_t i = 0; i < evidence->known_count && !rc; i++)
		rc = add_known(input->run, findings, &places, &evidence->known[i]);
	id_map_release(&places, free);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	int waits_for_event = words_only_orders(words, worst->call);

	if (waits_for_event < 0 || words_call(words, worst->call, out))
		return -1;
	if (!waits_for_event) {
		fputs(" had nothing to wait for: nothing was submitted since ", out);
		return words_call(words, worst->other_call, out);
	}
	if (worst->other_call > worst->call) {
		fputs(" ordered nothing: the next wait of its stream covers the same", out);
		return 0;
	}
	fputs(" ordered nothing: its stream comes after ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(" already", out);
	return 0;
}

/* What orders the two without it may depend on the run: on which streams, in what order. */
static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	int waits_for_event = words_only_orders(words, worst->call);

	if (waits_for_event > 0)
		fputs("leave it out, if what orders the two without it always does", out);
	return waits_for_event < 0 ? -1 : 0;
}

const struct pass pass_redundant_sync = { .run = run, .say = say, .fix = fix, .leaves_out = 1 };
