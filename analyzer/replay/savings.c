/* SPDX-License-Identifier: Apache-2.0 */
#include "savings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "constants.h"
#include "large.h"
#include "memory.h"
#include "replay.h"
#include "rows.h"

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* --- the runs --- */

void replay_make_room(struct replay *replay)
{
	size_t steps = replay->step_count;

#define ROOM(member, count) \
	(*array_push(replay->room, replay->room_count) = replay->member = \
			xcalloc((count), sizeof(*replay->member)))
	ROOM(once, replay->set_ups->lines);
	ROOM(same_place, steps);
	ROOM(change, steps);
	ROOM(end, steps);
	ROOM(held, steps);
	ROOM(held_unchanged, steps);
	ROOM(delays, steps);
	ROOM(delays_unchanged, steps);
	ROOM(end_unchanged, steps);
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

/* Prepares the replay, replays the unchanged run to compare with, and measures the error. */
static int prepare(struct savings *savings, struct replay *replay)
{
	int64_t replayed;

	replay->measured =
		replay->last >= replay->first ? replay->last - replay->first - replay->skipped : 0;
	if (replay->refusal)
		return 0;
	replay_make_room(replay);
	replay_sort(replay, &savings->db->run->evidence);
	for (size_t i = 0; i < replay->step_count; i++) {
		uint64_t place = replay_place(&replay->step[i]);

		replay->same_place[i] = (uint32_t)map_get(&replay->places, place, REPLAY_NONE);
		map_set(&replay->places, place, i);
	}
	replay_note_places(replay);
	if (replay_find_meetings(replay, savings->db))
		return -1;
	if (replay_find_accidents(replay, savings->db))
		return -1;
	replay_find_host_work(replay);
	replay_find_handovers(replay);
	replay_learn(replay);
	/* The likely one last: replay_takers() compares with it. */
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
	struct map *maps[] = { &replay->threads, &replay->streams, &replay->events,
		&replay->contexts, &replay->execs, &replay->memories, &replay->aparts,
		&replay->places, &replay->silences, &replay->admitted, &replay->kept,
		&replay->spread };
	void *rooms[] = { replay->step, replay->operand, replay->accident, replay->meeting,
		replay->sample, replay->room, replay };

	for (size_t i = 0; i < replay->room_count; i++)
		free(replay->room[i]);
	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		map_release(maps[i]);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
		free(rooms[i]);
}

struct savings *savings_open(struct db *db)
{
	struct savings *savings = xcalloc(1, sizeof(*savings));
	struct id_map pinned = { 0 }; /* struct pinned_rate */
	sqlite3_stmt *q = NULL;
	int rc;

	savings->db = db;
	rc = replay_load(savings, db) || pinned_find(&pinned, db) ||
			set_ups_find(&savings->set_ups, db->run, db) ||
			!(q = db_prepare(db, "SELECT id, clock = 'virtual' FROM process"))
		? -1
		: 0;
	while (!rc && (rc = db_step(q)) > 0) {
		int64_t process = sqlite3_column_int64(q, 0);
		struct replay *replay = id_map_get(&savings->processes, process);

		rc = 0;
		if (!replay)
			continue;
		replay->recording = sqlite3_column_int(q, 1) ? 0 : RECORDING_NS;
		replay->event_wait = sqlite3_column_int(q, 1) ? 0 : EVENT_WAIT_NS;
		replay->set_ups = &savings->set_ups;
		replay->pinned = pinned_rate_of(&pinned, process);
		rc = prepare(savings, replay);
	}
	id_map_release(&pinned, free);
	sqlite3_finalize(q);
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
	set_ups_release(&savings->set_ups);
	large_free(savings->step_of);
	free(savings);
}

static int is_inexact(const struct replay *replay)
{
	return !replay->refusal && replay->error > SAVINGS_MAX_ERROR_PERCENT / 100.0;
}

int savings_store(struct savings *savings)
{
	int rc = 0;

	for (size_t i = 0; i < savings->processes.size && !rc; i++) {
		const struct replay *replay = savings->processes.slot[i].object;
		int64_t replayed, samples = replay ? (int64_t)replay->samples : 0;
		char inexact[120];

		if (!replay)
			continue;
		replayed = replay->as_it_was[REPLAY_RECORDED];
		snprintf(inexact, sizeof(inexact), "a replay of the run as it was takes %.0f %% %s",
			100 * replay->error, replayed > replay->measured ? "more" : "less");
		rc = db_add(savings->db,
			ROW(replay, replay->process, replay->measured,
				replay->refusal ? DB_NULL : replayed,
				cell_text(is_inexact(replay)      ? inexact
						: replay->refusal ? replay->refusal
								  : replay->bound),
				DB_NULL, DB_NULL, DB_NULL, NAN, DB_NULL, DB_NULL, DB_NULL, DB_NULL,
				DB_NULL, samples ? replay->sampled_turns : DB_NULL,
				samples ? samples : DB_NULL, DB_NULL, DB_NULL));
	}
	return rc;
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
	/* For tests: few programs have so many findings. */
	const char *test = getenv("CUFENCE_TEST_REPLAYS");
	int64_t most = test && *test ? strtoll(test, NULL, 10) : REPLAYS_MOST;
	int64_t more = (int64_t)replays + REPLAYS_KEPT;
	struct replays *past;
	int fits;

	if (!replay)
		return 0;
	past = &replay->replays;
	fits = past->steps + more * (int64_t)replay->step_count <= ROOM_STEPS &&
		(search == SEARCH_FINDING || past->steps < SPARE_STEPS) &&
		(search == SEARCH_LINE || past->count - past->of_lines + more <= most);
	past->cut |= !fits;
	return fits;
}

struct replays savings_replays(const struct replay *replay)
{
	return replay->replays;
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
		replay->replays.steps += (int64_t)replay->step_count;
		replay->replays.count++;
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

int savings_estimate_best(struct replay *replay, int64_t *best)
{
	if (!replay || !replay->changes)
		return 0;
	*best = replay_extrapolated(replay, saved_best(replay, 0));
	replay_restore(replay);
	return 1;
}

int savings_estimate_line(struct replay *replay, int64_t *best)
{
	int64_t before = replay ? replay->replays.count : 0;
	int rc = savings_estimate_best(replay, best);

	if (replay)
		replay->replays.of_lines += replay->replays.count - before;
	return rc;
}

/* From the samples to all of the loop: how they differ makes the interval wider. */
static void extrapolate(const struct replay *replay, struct saving *saving)
{
	int64_t spread = (int64_t)map_get(&replay->spread, replay->made, 0);

	saving->best = replay_extrapolated(replay, saving->best);
	saving->low = replay_extrapolated(replay, saving->low) - spread;
	saving->low = clamp(saving->low, 0, saving->best);
	saving->high = replay_extrapolated(replay, saving->high) + spread;
}

int savings_estimate(struct replay *replay, struct saving *saving)
{
	double share = LEAST_ERROR_PERCENT / 100.0;
	int64_t error;

	if (!replay || !replay->changes)
		return 0;
	if (replay->error > share)
		share = replay->error;
	saving->best = saved_best(replay, 0);
	error = (int64_t)(share * (double)saving->best) + CHANGE_ERROR_NS * replay->changes;
	/* It depends on the speed of the host. */
	if (replay->as_it_was[REPLAY_QUICK] != replay->as_it_was[REPLAY_LIKELY])
		error += llabs(saving->best - saved(replay, REPLAY_QUICK, 0));
	if (error > saving->best / SAVING_ERROR_PART)
		error = saving->best / SAVING_ERROR_PART;
	saving->low = clamp(saved(replay, REPLAY_MOST, 0), 0, saving->best) - error;
	saving->low = clamp(saving->low, 0, saving->best);
	saving->high =
		clamp(saved(replay, REPLAY_LEAST, 0), saving->best, replay->measured) + error;
	if (replay->samples)
		extrapolate(replay, saving);
	replay_restore(replay);
	return 1;
}

/*
 * Returns the time of a loop in a replay, ns: from the end of what its thread did before, until all
 * that was submitted before its end has ended, without the thread's time in pauses.
 */
static int64_t loop_time(const struct replay *replay, uint32_t thread, const struct run_loop *loop,
	const int64_t *end)
{
	int64_t own = replay->first, last = replay->first, before = replay->first, paused = 0;

	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];
		int64_t since = own;

		if (step->enter >= loop->begin[loop->turns])
			continue;
		raise_to(&last, end[i]);
		if (step->thread != thread)
			continue;
		raise_to(&own, end[i]);
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
	if (results)
		replay_change_results(replay);
	saved_best(replay, 1);
	thread = (uint32_t)map_get(&replay->threads, (uint64_t)loop->thread, REPLAY_NONE);
	*ceiling =
		(struct ceiling){ .saving = loop_time(replay, thread, loop, replay->end_unchanged) -
				loop_time(replay, thread, loop, replay->end) };
	raise_to(&ceiling->saving, 0);
	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_step *step = &replay->step[i];

		if (step->thread == thread && run_loop_has(loop, step->enter))
			ceiling->blocked += replay->held[i];
	}
	ceiling->saving = replay_extrapolated(replay, ceiling->saving);
	ceiling->blocked = replay_extrapolated(replay, ceiling->blocked);
	replay_restore(replay);
	return 1;
}

size_t savings_find_takers(struct replay *replay, struct changed_call *taker, size_t most)
{
	struct changed_call found[TAKER_ROUND];
	int64_t alone, together, least;
	size_t count = 0, more;

	if (!replay || !replay->changes)
		return 0;
	alone = together = saved_best(replay, 1);
	/* And those that would wait instead of these, until none is left. */
	for (int round = 0; round < TAKER_ROUNDS; round++) {
		more = replay_takers(replay, found);
		if (!more || count + more > most ||
			!savings_has_room(replay, SEARCH_FINDING,
				REPLAYS_OF_BEST + REPLAYS_OF_ESTIMATE))
			break;
		for (size_t i = 0; i < more; i++) {
			taker[count++] = found[i];
			replay_change(replay, &found[i]);
		}
		together = saved_best(replay, 1);
	}
	replay_restore(replay);
	least = replay->measured * FINDING_MIN_PERCENT / 100;
	return together - alone >= least && together > JOINED_FACTOR * alone ? count : 0;
}
