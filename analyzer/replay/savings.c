/* SPDX-License-Identifier: Apache-2.0 */
#include "savings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "constants.h"
#include "ids.h"
#include "large.h"
#include "memory.h"
#include "replay.h"
#include "rows.h"
#include "workers.h"

/* --- the runs --- */

void replay_make_room(struct replay *replay)
{
	size_t steps = replay->step_count;

#define ROOM(member, count) \
	(*array_push(replay->room, replay->room_count) = replay->member = \
			xcalloc((count), sizeof(*replay->member)))
	ROOM(once, replay->lines);
	ROOM(same_place, steps);
	ROOM(change, steps);
	ROOM(now, steps);
	ROOM(unchanged, steps);
	ROOM(thread, replay->threads.count);
	ROOM(stream, replay->streams.count);
	ROOM(event, replay->events.count);
	ROOM(exec, replay->execs.count);
	ROOM(context, replay->contexts.count);
	ROOM(memory, replay->memories.count);
	ROOM(apart, replay->aparts.count);
	for (size_t i = 0; i < steps; i++)
		if (replay->step[i].device >= replay->device_count)
			replay->device_count = replay->step[i].device + 1;
	ROOM(booking, (size_t)replay->device_count * ENGINE_COUNT);
#undef ROOM
	replay->changes = 1;
	replay_restore(replay);
}

void replay_note_places(struct replay *replay)
{
	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];
		const struct replay_operand *operand = &replay->operand[step->operands];

		if (step->context != REPLAY_NONE && step->device >= 0)
			replay->context[step->context].device = step->device;
		for (uint32_t k = 0; k < step->operand_count; k++) {
			if (step->stream_kind == STREAM_KIND_LEGACY)
				break;
			replay->memory[operand[k].exact].outside = 1;
			replay->memory[operand[k].allocation].outside = 1;
		}
	}
}

static void prepare(struct replay *replay, const struct run_evidence *evidence)
{
	replay_make_room(replay);
	replay_sort(replay, evidence);
	for (size_t i = 0; i < replay->step_count; i++) {
		uint64_t place = replay_place(&replay->step[i]);

		replay->same_place[i] = (uint32_t)map_get(&replay->places, place, REPLAY_NONE);
		map_set(&replay->places, place, i);
	}
	replay_note_places(replay);
}

/* The runs that are replayed, each at the same time as others. */
struct replayed {
	struct db *db;
	struct replay **replay;
	size_t count;
};

/* Replays the unchanged run to compare with, and measures the error. */
static int replay_unchanged(void *arg, size_t number)
{
	const struct replayed *runs = arg;
	struct replay *replay = runs->replay[number];
	int64_t replayed;
	int rc;

	prepare(replay, &runs->db->run->evidence);
	db_lock(runs->db);
	rc = replay_find_meetings(replay, runs->db) || replay_find_accidents(replay, runs->db);
	db_unlock(runs->db);
	if (rc)
		return -1;
	replay_learn(replay);
	/* The likely one last: find_takers() compares with it. */
	for (int i = REPLAY_CONTENTIONS; i-- > 0;)
		replay->as_it_was[i] = replay_run(replay, (enum replay_contention)i);
	replayed = replay->as_it_was[REPLAY_RECORDED];
	replay->error = replay->measured > 0
		? (double)llabs(replayed - replay->measured) / (double)replay->measured
		: 1;
	return 0;
}

void replay_free(void *object)
{
	struct replay *replay = object;
	struct map *maps[] = { &replay->places, &replay->silences, &replay->admitted, &replay->kept,
		&replay->spread };
	void *rooms[] = { replay->step, replay->operand, replay->accident, replay->meeting,
		replay->sample, replay->room, replay };

	for (size_t i = 0; i < replay->room_count; i++)
		free(replay->room[i]);
	for (size_t i = 0; i < REPLAY_NUMBERS; i++)
		map_release(&replay->numbers[i]);
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
		free(rooms[i]);
}

struct savings *savings_open(struct db *db)
{
	struct savings *savings = xcalloc(1, sizeof(*savings));
	struct id_map pinned = { 0 }; /* struct pinned_rate */
	struct map simulated = { 0 };
	struct replayed runs = { .db = db };
	int rc;

	savings->db = db;
	rc = replay_load(savings, db) || pinned_find(&pinned, db) ||
			set_ups_find(&savings->set_ups, db->run, db) ||
			ids_read(&simulated, db, "SELECT id FROM process WHERE clock = 'virtual'",
				1)
		? -1
		: 0;
	for (struct id_map_slot *at = NULL; !rc && (at = id_map_next(&savings->processes, at));) {
		struct replay *replay = at->object;
		int is_simulated = map_get(&simulated, (uint64_t)at->id, 0) != 0;

		replay->recording = is_simulated ? 0 : RECORDING_NS;
		replay->event_wait = is_simulated ? 0 : EVENT_WAIT_NS;
		replay->set_ups = &savings->set_ups;
		replay->lines = savings->set_ups.lines;
		replay->pinned = pinned_rate_of(&pinned, at->id);
		if (replay->last >= replay->first)
			replay->measured = replay->last - replay->first - replay->skipped;
		if (replay->refusal)
			continue;
		*array_push(runs.replay, runs.count) = replay;
	}
	if (!rc)
		rc = workers_run(runs.count, replay_unchanged, &runs);
	free(runs.replay);
	id_map_release(&pinned, free);
	map_release(&simulated);
	if (!rc)
		return savings;
	savings_close(savings);
	return NULL;
}

void savings_close(struct savings *savings)
{
	if (!savings)
		return;
	id_map_release(&savings->processes, replay_free);
	free(savings->set_ups.list);
	large_free(savings->step_of);
	free(savings);
}

static int is_inexact(const struct replay *replay)
{
	return !replay->refusal && replay->error > SAVINGS_MAX_ERROR_PERCENT / 100.0;
}

struct replay *savings_of(const struct savings *savings, int64_t process)
{
	struct replay *replay = savings_bound_of(savings, process);

	return replay && !replay->bound ? replay : NULL;
}

struct replay *savings_bound_of(const struct savings *savings, int64_t process)
{
	struct replay *replay = id_map_get(&savings->processes, process);

	return replay && !replay->refusal && !is_inexact(replay) ? replay : NULL;
}

struct replay_row *savings_row(const struct savings *savings, int64_t process)
{
	struct replay *replay = id_map_get(&savings->processes, process);

	return replay ? &replay->row : NULL;
}

int savings_store(struct savings *savings)
{
	int rc = 0;

	for (struct id_map_slot *at = NULL; !rc && (at = id_map_next(&savings->processes, at));) {
		const struct replay *replay = at->object;
		const struct replay_row *row = &replay->row;
		int64_t replayed = replay->as_it_was[REPLAY_RECORDED],
			samples = (int64_t)replay->samples;
		int is_counted = row->has_findings && savings_of(savings, at->id);
		char inexact[120];

		snprintf(inexact, sizeof(inexact), "a replay of the run as it was takes %.0f %% %s",
			100 * replay->error, replayed > replay->measured ? "more" : "less");
		rc = db_add(savings->db,
			ROW(replay, replay->process, replay->measured,
				replay->refusal ? DB_NULL : replayed,
				cell_text(is_inexact(replay)      ? inexact
						: replay->refusal ? replay->refusal
								  : replay->bound),
				row->saving, row->low, row->high, row->share, row->turn_saving,
				row->ceiling[0], row->blocked[0], row->ceiling[1], row->blocked[1],
				samples ? replay->sampled_turns : DB_NULL,
				samples ? samples : DB_NULL, is_counted ? replay->replays : DB_NULL,
				is_counted && replay->is_cut ? 1 : DB_NULL));
	}
	return rc;
}

/* --- changes --- */

void savings_change(struct replay *replay, const struct changed_call *changed, size_t count)
{
	for (size_t i = 0; replay && i < count; i++)
		replay_change(replay, &changed[i]);
}

void savings_admit(struct replay *replay, int64_t call, unsigned change)
{
	uint32_t step = replay ? replay_step_of(replay, call) : REPLAY_NONE;
	uint64_t place = step == REPLAY_NONE ? 0 : replay_place(&replay->step[step]);

	if (step != REPLAY_NONE)
		map_set(&replay->admitted, place, map_get(&replay->admitted, place, 0) | change);
}

int savings_has_room(struct replay *replay, enum savings_search search, size_t replays)
{
	int64_t most = replay_limit("CUFENCE_TEST_REPLAYS", REPLAYS_MOST);
	int64_t more = (int64_t)replays + REPLAYS_KEPT;
	int64_t steps = replay ? replay->steps_replayed : 0;
	int fits;

	if (!replay)
		return 0;
	fits = steps + more * (int64_t)replay->step_count <= ROOM_STEPS &&
		(search == SEARCH_FINDING || steps < SPARE_STEPS) &&
		(search == SEARCH_LINE ||
			replay->replays - replay->replays_of_lines + more <= most);
	replay->is_cut |= !fits;
	return fits;
}

/* --- estimates --- */

/*
 * Returns the saving, ns; negative if the run takes longer.  anew: not a kept one, since what is
 * held in the last run counts.
 */
static int64_t saved(struct replay *replay, enum replay_contention contention, int anew)
{
	uint64_t unknown = (uint64_t)INT64_MIN, key = replay->made ^ (uint64_t)contention;
	uint64_t kept = anew ? unknown : map_get(&replay->kept, key, unknown);

	if (kept == unknown) {
		kept = (uint64_t)(replay->as_it_was[contention] - replay_run(replay, contention));
		replay->steps_replayed += (int64_t)replay->step_count;
		replay->replays++;
		map_set(&replay->kept, key, kept);
		if (contention == REPLAY_LIKELY && replay->samples)
			map_set(&replay->spread, replay->made, (uint64_t)replay_spread(replay));
	}
	return (int64_t)kept;
}

static int64_t saved_best(struct replay *replay, int anew)
{
	return clamp(saved(replay, REPLAY_LIKELY, anew), 0, replay->measured);
}

int savings_estimate_best(struct replay *replay, enum savings_search search, int64_t *best)
{
	int64_t before = replay ? replay->replays : 0;

	if (!replay || !replay->changes)
		return 0;
	*best = replay_extrapolated(replay, saved_best(replay, 0));
	replay_restore(replay);
	if (search == SEARCH_LINE)
		replay->replays_of_lines += replay->replays - before;
	return 1;
}

void saving_between(struct saving *saving, const int64_t saved[REPLAY_RECORDED], int64_t measured,
	int64_t changes, double error)
{
	double share = fmax(error, LEAST_ERROR_PERCENT / 100.0);
	int64_t best = clamp(saved[REPLAY_LIKELY], 0, measured);
	/* It depends on the speed of the host. */
	int64_t wide = at_most((int64_t)(share * (double)best) + CHANGE_ERROR_NS * changes +
			llabs(best - saved[REPLAY_QUICK]),
		best / SAVING_ERROR_PART);

	saving->best = best;
	saving->low = clamp(clamp(saved[REPLAY_MOST], 0, best) - wide, 0, best);
	saving->high = clamp(saved[REPLAY_LEAST], best, measured) + wide;
}

int savings_estimate(struct replay *replay, struct saving *saving)
{
	int64_t saves[REPLAY_RECORDED], spread;

	if (!replay || !replay->changes)
		return 0;
	for (int i = 0; i < REPLAY_QUICK; i++)
		saves[i] = saved(replay, (enum replay_contention)i, 0);
	saves[REPLAY_QUICK] = replay->as_it_was[REPLAY_QUICK] != replay->as_it_was[REPLAY_LIKELY]
		? saved(replay, REPLAY_QUICK, 0)
		: clamp(saves[REPLAY_LIKELY], 0, replay->measured);
	saving_between(saving, saves, replay->measured, replay->changes, replay->error);
	/* From the samples to all of the loop: how they differ makes the interval wider. */
	if (replay->samples) {
		spread = (int64_t)map_get(&replay->spread, replay->made, 0);
		saving->best = replay_extrapolated(replay, saving->best);
		saving->low = replay_extrapolated(replay, saving->low) - spread;
		saving->low = clamp(saving->low, 0, saving->best);
		saving->high = replay_extrapolated(replay, saving->high) + spread;
	}
	replay_restore(replay);
	return 1;
}

/*
 * Returns the time of a loop in a replay, ns: from the end of what its thread did before, until all
 * that was submitted before its end has ended, without the thread's time in pauses.
 */
static int64_t loop_time(const struct replay *replay, uint32_t thread, const struct run_loop *loop,
	const struct step_result *result)
{
	int64_t own = replay->first, last = replay->first, before = replay->first, paused = 0;

	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];
		int64_t since = own;

		if (step->enter >= loop->begin[loop->turns])
			continue;
		raise_to(&last, result[i].end);
		if (step->thread != thread)
			continue;
		raise_to(&own, result[i].end);
		if (step->enter < loop->begin[0])
			before = own;
		else if (!run_loop_has(loop, step->enter))
			paused += own - since;
	}
	return last - before - paused;
}

int savings_estimate_ceiling(struct replay *replay, int results, const struct run_loop *loop,
	struct ceiling *ceiling)
{
	uint32_t thread;

	if (!replay)
		return 0;
	/*
	 * As if the host never read a value: synchronous copies to the host become asynchronous,
	 * and nothing waits right after an Async one.
	 */
	for (size_t i = 0; results && i < replay->step_count; i++)
		if (replay->step[i].act & STEP_WAITS && replay_is_result(&replay->step[i]))
			replay->change[i].bits |= CHANGE_WAIT;
	if (results) {
		replay->orders = replay->results = 1;
		replay->made = ~replay->made;
		replay->changes++;
	}
	saved_best(replay, 1);
	thread = (uint32_t)map_get(&replay->threads, (uint64_t)loop->thread, REPLAY_NONE);
	*ceiling = (struct ceiling){ .saving = loop_time(replay, thread, loop, replay->unchanged) -
			loop_time(replay, thread, loop, replay->now) };
	raise_to(&ceiling->saving, 0);
	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];

		if (step->thread == thread && run_loop_has(loop, step->enter))
			ceiling->blocked += replay->now[i].held;
	}
	ceiling->saving = replay_extrapolated(replay, ceiling->saving);
	ceiling->blocked = replay_extrapolated(replay, ceiling->blocked);
	replay_restore(replay);
	return 1;
}

/* --- places that wait or delay longer once others are changed --- */

/*
 * May that change of a step join others?  An explicit wait is made on purpose, and so is a wait
 * for an event, unless nothing is known to need those of its place; and so is a copy of a result,
 * unless another such copy is changed.  Work of the legacy stream that is not for the host may
 * leave it if others do: its memory still keeps it in order.
 */
static int may_join(const struct replay *replay, uint32_t number, unsigned change)
{
	const struct replay_step *step = &replay->step[number];
	unsigned act = step->act, admitted;
	int is_result = replay_is_result(step);

	if (!step->site || replay->change[number].bits & (change | CHANGE_CALL))
		return 0;
	admitted = (unsigned)map_get(&replay->admitted, replay_place(step), 0);
	if (change == CHANGE_WAIT)
		return act & STEP_WAITS &&
			((is_result && replay->results) ||
				(act & STEP_EXPLICIT ? !!(admitted & change) : !is_result));
	if (act & STEP_AWAITS || !replay->moves)
		return !!(admitted & change);
	return step->stream_kind == STREAM_KIND_LEGACY && act & (STEP_SUBMITS | STEP_RECORDS) &&
		!(act & STEP_BECOMES_ASYNC &&
			(step->engine == ENGINE_H2D || step->engine == ENGINE_D2H));
}

/*
 * Finds the places whose calls waited longer in the last replay_run() than in the original run, or
 * delayed the work of streams longer: they wait or delay as a side effect instead of the changed
 * calls.  Explicit waits and waits for events must be admitted.  Returns their number; for each a
 * call and the change that leaves it out, the longest first.
 */
static size_t find_takers(const struct replay *replay, struct changed_call taker[TAKER_ROUND])
{
	int64_t longer[TAKER_ROUND + 1];
	size_t count = 0;

	for (size_t i = 0; i < 2 * replay->places.size; i++) {
		const struct map_entry *place = &replay->places.entry[i / 2];
		uint32_t last = place->used ? (uint32_t)place->value : REPLAY_NONE;
		unsigned change = i % 2 ? CHANGE_ORDER : CHANGE_WAIT;
		int64_t sum = 0;
		size_t at = count;

		for (uint32_t number = last; number != REPLAY_NONE;
			number = replay->same_place[number]) {
			const struct step_result *now = &replay->now[number];
			const struct step_result *before = &replay->unchanged[number];

			if (may_join(replay, number, change))
				sum += change == CHANGE_ORDER ? now->delays - before->delays
							      : now->held - before->held;
		}
		if (sum < BLOCKED_MIN_NS)
			continue;
		for (; at && longer[at - 1] < sum; at--) {
			longer[at] = longer[at - 1];
			if (at < TAKER_ROUND)
				taker[at] = taker[at - 1];
		}
		longer[at] = sum;
		if (at < TAKER_ROUND)
			taker[at] = (struct changed_call){ .call = replay->step[last].call,
				.change = change };
		count += count < TAKER_ROUND;
	}
	return count;
}

int64_t savings_least(const struct replay *replay)
{
	return replay_extrapolated(replay, replay->measured * FINDING_MIN_PERCENT / 100);
}

size_t savings_find_takers(struct replay *replay, struct changed_call *taker, size_t most)
{
	struct changed_call found[TAKER_ROUND];
	int64_t alone, together;
	size_t count = 0, more;

	if (!replay || !replay->changes)
		return 0;
	alone = together = saved_best(replay, 1);
	/* And those that would wait instead of these, until none is left. */
	for (int round = 0; round < TAKER_ROUNDS; round++) {
		more = find_takers(replay, found);
		if (!more || count + more > most ||
			!savings_has_room(replay, SEARCH_FINDING,
				2 * REPLAYS_OF_BEST + REPLAYS_OF_ESTIMATE))
			break;
		for (size_t i = 0; i < more; i++) {
			taker[count++] = found[i];
			replay_change(replay, &found[i]);
		}
		together = saved_best(replay, 1);
	}
	replay_restore(replay);
	return replay_extrapolated(replay, together - alone) >= savings_least(replay) &&
			together > JOINED_FACTOR * alone
		? count
		: 0;
}
