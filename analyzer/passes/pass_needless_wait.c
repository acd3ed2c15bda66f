/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needless-wait: the host waited for a stream, the device or an event, or polled one, and nothing
 * needed that before its next wait (needs.h).  A wait can be removed only if no wait of its place
 * is needed.  As for redundant-sync, one exception per place is accepted.
 *
 * Two other reasons to wait are not recorded: to limit how far the host runs ahead of the device,
 * and to read a clock.  Both wait for all submitted work and continue in the same streams.  So a
 * place is likely needless only if most of its waits needlessly delayed work of an idle stream that
 * is unordered with the work waited for.  All other places are possible, and so are waits among
 * records of timed events, in processes with several submitting threads, and for memory that other
 * processes may use.  A wait by a library, in the line of a script that copies to the device, has
 * neither reason: the line shows no wait.
 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "idmap.h"
#include "pass.h"
#include "waits_segment.h"

enum hidden { HIDDEN_UNKNOWN, HIDDEN_NO, HIDDEN_BELOW_COPY };

struct place {
	int64_t waits, needed, apart;
	enum hidden hidden;
};

struct search {
	const struct pass_input *input;
	struct findings *findings;
	struct idmap places;
	struct segments segments; /* run NULL: not opened */
};

static int is_needed(const struct host_wait *wait)
{
	return wait->looked || wait->maybe || wait->ordered_end != INT64_MIN || wait->freed ||
		wait->until != INT64_MIN;
}

static struct place *place_of(struct search *search, const struct host_wait *wait)
{
	int64_t id = findings_place(search->findings, wait->call);

	return id > 0 ? idmap_need(&search->places, id, sizeof(struct place)) : NULL;
}

/* Waits without pending work are left to redundant-sync. */
static int tally(struct search *search)
{
	const struct needs *needs = &search->input->needs;

	for (size_t i = 0; i < needs->host_count; i++) {
		const struct host_wait *wait = &needs->host[i];
		struct place *place = wait->behind ? place_of(search, wait) : NULL;

		if (!wait->behind)
			continue;
		if (!place)
			return -1;
		place->waits++;
		place->needed += is_needed(wait);
		place->apart += wait->apart && !is_needed(wait);
	}
	return 0;
}

static int is_found(const struct place *place)
{
	return place->needed <= 1 && place->waits - place->needed >= FINDING_MIN_COUNT;
}

/* All calls of a place come from one line, so that one check is enough. */
static int find_hidden(struct search *search, struct place *place, const struct host_wait *wait)
{
	int rc;

	if (place->hidden != HIDDEN_UNKNOWN || !wait->upload)
		return 0;
	if (!search->segments.run && segments_open(&search->segments, search->input->db))
		return -1;
	rc = segments_of_one_line(&search->segments, wait->call, wait->upload);
	place->hidden = rc > 0 ? HIDDEN_BELOW_COPY : HIDDEN_NO;
	return rc < 0 ? -1 : 0;
}

static enum confidence confidence_of(const struct place *place, const struct host_wait *wait,
	const struct needs_process *process)
{
	int apart = 2 * place->apart >= place->waits - place->needed;

	if (process->has_others)
		return CONFIDENCE_POSSIBLE;
	if (wait->upload && place->hidden == HIDDEN_BELOW_COPY)
		return CONFIDENCE_LIKELY;
	return apart && !wait->timed && process->submitter > 0 ? CONFIDENCE_LIKELY
							       : CONFIDENCE_POSSIBLE;
}

/*
 * After its last work a process is about to end.  Work missing from the records may have needed it.
 */
static int is_reported(const struct search *search, const struct host_wait *wait,
	const struct needs_process *process)
{
	return wait->behind && !is_needed(wait) && process && wait->call <= process->last &&
		!map_get(&search->input->run->gaps, wait->process, 0);
}

static int report(struct search *search, const struct host_wait *wait)
{
	const struct needs_process *process =
		idmap_get(&search->input->needs.processes, wait->process);
	int64_t cost = wait->exit - wait->enter;
	struct place *place;

	if (!is_reported(search, wait, process))
		return 0;
	place = place_of(search, wait);
	if (!place || (is_found(place) && find_hidden(search, place, wait)))
		return -1;
	if (!is_found(place))
		return 0;
	return findings_add(search->findings,
		&(struct instance){ .rule = RULE_needless_wait,
			.process = wait->process,
			.call = wait->call,
			.other_call = wait->behind,
			.cost = cost,
			.saving = wait->usable < cost ? wait->usable : cost,
			.change = CHANGE_CALL,
			.confidence = confidence_of(place, wait, process) });
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .input = input, .findings = findings };
	int rc;

	if (!input->needs.host_is_known)
		return 0;
	rc = tally(&search);
	for (size_t i = 0; i < input->needs.host_count && !rc; i++)
		rc = report(&search, &input->needs.host[i]);
	if (search.segments.run)
		segments_close(&search.segments);
	idmap_release(&search.places, free);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited for ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(": no use of its results detected before the next wait", out);
	return words_clock(words, worst->call, ", but a clock was read right after this one at ",
		out);
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
