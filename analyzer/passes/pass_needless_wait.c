/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needless-wait: the host waited for a stream, the device or an event, or polled one, and nothing
 * needed that before its next wait (needs.h).  A wait can be removed only if no wait of its place
 * is needed.  As for redundant-sync, one exception per place is accepted.
 *
 * How surely it can be removed is a matter of what else it may be for (pass_waits.h).
 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "id_map.h"
#include "pass.h"
#include "script_lines.h"
#include "pass_waits.h"
#include "print.h"

struct place {
	int64_t needed;
	struct wait_tally needless;
	int is_looked_at; /* needless.below_copy is known */
};

struct search {
	const struct pass_input *input;
	struct findings *findings;
	struct id_map places;
	struct map clocks;
	struct script_lines lines; /* words NULL: not opened */
};

static struct place *place_of(struct search *search, const struct host_wait *wait)
{
	int64_t id = findings_place_of_type(search->findings, wait->call);

	return id > 0 ? id_map_need(&search->places, id, sizeof(struct place)) : NULL;
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
		if (needs_wait(wait))
			place->needed++;
		else
			wait_tally_add(&place->needless, search->input->run, &search->clocks, wait);
	}
	return 0;
}

static int is_found(const struct place *place)
{
	return place->needed <= 1 && place->needless.waits >= FINDING_MIN_COUNT;
}

/* All calls of a place come from one line, so that one check is enough. */
static int find_hidden(struct search *search, struct place *place, const struct host_wait *wait)
{
	int rc;

	if (place->is_looked_at || !wait->upload)
		return 0;
	if (!search->lines.words && script_lines_open(&search->lines, search->input->db))
		return -1;
	rc = script_lines_same(&search->lines, wait->call, wait->upload);
	place->is_looked_at = 1;
	place->needless.below_copy = rc > 0;
	return rc < 0 ? -1 : 0;
}

/*
 * After its last work a process is about to end.  Work missing from the records may have needed it.
 */
static int is_reported(const struct search *search, const struct host_wait *wait,
	const struct needs_process *process)
{
	return wait->behind && !needs_wait(wait) && process && wait->call <= process->last &&
		!map_get(&search->input->run->gaps, wait->process, 0);
}

/* instance.why */
static const char awaited_again[] = "another thread waits for its result itself";

static int report(struct search *search, const struct host_wait *wait)
{
	const struct needs_process *process =
		id_map_get(&search->input->needs.processes, wait->process);
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
			.why = wait->again ? awaited_again : NULL,
			.confidence = wait_verdict(&place->needless, process) });
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .input = input, .findings = findings };
	int rc;

	if (!input->needs.host_is_known)
		return 0;
	rc = ids_read(&search.clocks, input->db, WAIT_CLOCKS_SQL, 1) || tally(&search) ? -1 : 0;
	for (size_t i = 0; i < input->needs.host_count && !rc; i++)
		rc = report(&search, &input->needs.host[i]);
	script_lines_close(&search.lines);
	id_map_release(&search.places, free);
	map_release(&search.clocks);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited for ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	print(out, ": %s",
		worst->why ? worst->why : "no use of its results detected before the next wait");
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

/* The library waits for its own copy, in one line of the script; or the wait serves a clock. */
static int fix(struct words *words, const struct instance *worst, FILE *out)
{
	int script = words_has_script(words, worst->process);
	char *at = place_of_call(words, worst->call);
	char *copy = place_of_call(words, worst->other_call);

	if (words_clock(words, worst->call,
		    "record events around the work and read their times after the loop, instead "
		    "of the clock at ",
		    out))
		script = -1;
	if (script > 0 && at && copy && *at && !strcmp(at, copy))
		fputs("copy with non_blocking=True: memory that is not pinned has been read when "
		      "the copy returns",
			out);
	free(at);
	free(copy);
	return script < 0 || !at || !copy ? -1 : 0;
}

const struct pass pass_needless_wait = { .run = run, .say = say, .fix = fix, .leaves_out = 1 };
