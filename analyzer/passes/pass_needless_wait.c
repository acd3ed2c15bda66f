/* SPDX-License-Identifier: Apache-2.0 */
/*
 * needless-wait: the host waited for a stream, the device or an event, or polled one, and nothing
 * needed that before its next wait (needs.h).  A wait can be removed only if no wait of its place
 * is needed.  As for redundant-sync, one exception per place is accepted.
 *
 * A place is possibly needless if its waits may serve something that is not recorded (verdict()).
 * Otherwise it is certainly needless if all accesses of the process's operations are known from
 * their calls and PTX, and likely needless if not.
 */
#include <stdlib.h>
#include <string.h>

#include "constants.h"
#include "idmap.h"
#include "pass.h"
#include "waits_segment.h"

enum hidden { HIDDEN_UNKNOWN, HIDDEN_NO, HIDDEN_BELOW_COPY };

/* Numbers of waits; those after `needed` are of waits that are not needed. */
struct place {
	int64_t waits, needed;
	int64_t others;  /* for work that another thread submitted */
	int64_t unknown; /* a kernel may have written what the host reads */
	int64_t keeps;   /* work was still in progress afterwards */
	int64_t uploads; /* for copies from pageable memory */
	int64_t timed;   /* among records of events whose times are read */
	int64_t clocks;  /* a clock was read right after */
	enum hidden hidden;
};

struct search {
	const struct pass_input *input;
	struct findings *findings;
	struct idmap places;
	struct map clocks;        /* calls of table wait_clock */
	struct segments segments; /* run NULL: not opened */
};

static int is_needed(const struct host_wait *wait)
{
	return wait->looked || wait->ordered_end != INT64_MIN || wait->freed ||
		wait->until != INT64_MIN;
}

static struct place *place_of(struct search *search, const struct host_wait *wait)
{
	int64_t id = findings_place(search->findings, wait->call);

	return id > 0 ? idmap_need(&search->places, id, sizeof(struct place)) : NULL;
}

static int find_clocks(struct search *search)
{
	sqlite3_stmt *q = db_prepare(search->input->db, "SELECT call FROM wait_clock");
	int step = -1;

	while (q && (step = db_step(q)) > 0)
		if (map_set(&search->clocks, (uint64_t)sqlite3_column_int64(q, 0), 1)) {
			step = -1;
			break;
		}
	sqlite3_finalize(q);
	return step;
}

static int has_clock(const struct search *search, uint32_t call)
{
	for (uint32_t parent; (parent = run_link(search->input->run, call)->parent);)
		call = parent;
	return map_get(&search->clocks, call, 0) != 0;
}

static int is_for_others(const struct run *run, const struct host_wait *wait)
{
	return run_call(run, wait->behind)->thread != run_call(run, wait->call)->thread;
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
		if (is_needed(wait))
			continue;
		place->others += is_for_others(search->input->run, wait);
		place->unknown += wait->maybe;
		place->keeps += wait->keeps;
		place->uploads += wait->uploads;
		place->timed += wait->timed;
		place->clocks += has_clock(search, wait->call);
	}
	return 0;
}

/*
 * The one verdict on the waits of a place; CONFIDENCE_OF_RULE: no finding.
 *
 * Documented purposes of a wait besides results and order are to see errors, to bound how far the
 * host runs ahead, and to read a clock.  No error needs a wait: a later call returns it.  A wait
 * that leaves later work in progress is a bound; one that lets the device idle bounds nothing that
 * a wait for an older event would not.
 */
static enum confidence verdict(const struct place *place, const struct needs_process *process)
{
	int64_t needless = place->waits - place->needed, most = (needless + 1) / 2;

	if (place->needed > 1 || needless < FINDING_MIN_COUNT)
		return CONFIDENCE_OF_RULE;
	/* Others may use the memory now, in ways that no call shows. */
	if (process->others == OTHERS_MAY)
		return CONFIDENCE_POSSIBLE;
	/* Another thread may go on, or submit work, once this one knows that work is complete. */
	if (place->others >= most || (process->submitter < 0 && process->stream < 0))
		return CONFIDENCE_POSSIBLE;
	/* The host may read what kernels of which not all is known have written. */
	if (place->unknown)
		return CONFIDENCE_POSSIBLE;
	/* A library waits in a line that copies; what is copied has been read. */
	if (place->hidden == HIDDEN_BELOW_COPY)
		return CONFIDENCE_LIKELY;
	/* The host may free or change what it copies: pageable memory has been read, by most
	 * drivers. */
	if (place->uploads >= most)
		return CONFIDENCE_POSSIBLE;
	/* A bound, or timing by events that are read at once. */
	if (place->keeps >= most || place->timed >= most)
		return CONFIDENCE_POSSIBLE;
	if (place->clocks >= most || process->others == OTHERS_LOADED)
		return CONFIDENCE_LIKELY;
	return process->evidence >= EVIDENCE_PTX ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
}

/* All calls of a place come from one line, so that one check is enough. */
static int find_hidden(struct search *search, struct place *place, const struct host_wait *wait)
{
	int rc;

	if (place->hidden != HIDDEN_UNKNOWN || !wait->upload || place->needed > 1)
		return 0;
	if (!search->segments.run && segments_open(&search->segments, search->input->db))
		return -1;
	rc = segments_of_one_line(&search->segments, wait->call, wait->upload);
	place->hidden = rc > 0 ? HIDDEN_BELOW_COPY : HIDDEN_NO;
	return rc < 0 ? -1 : 0;
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
	enum confidence confidence;
	struct place *place;

	if (!is_reported(search, wait, process))
		return 0;
	place = place_of(search, wait);
	if (!place || find_hidden(search, place, wait))
		return -1;
	confidence = verdict(place, process);
	if (confidence == CONFIDENCE_OF_RULE)
		return 0;
	return findings_add(search->findings,
		&(struct instance){ .rule = RULE_needless_wait,
			.process = wait->process,
			.call = wait->call,
			.other_call = wait->behind,
			.cost = cost,
			.saving = wait->usable < cost ? wait->usable : cost,
			.change = CHANGE_CALL,
			.confidence = confidence });
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct search search = { .input = input, .findings = findings };
	int rc;

	if (!input->needs.host_is_known)
		return 0;
	rc = find_clocks(&search) || tally(&search) ? -1 : 0;
	for (size_t i = 0; i < input->needs.host_count && !rc; i++)
		rc = report(&search, &input->needs.host[i]);
	if (search.segments.run)
		segments_close(&search.segments);
	idmap_release(&search.places, free);
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

const struct pass pass_needless_wait = { .run = run, .say = say, .fix = fix };
