/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a thread went on because another one had done its part: the main thread of a training
 * loop waits, outside of CUDA, while another thread submits the backward pass, and that one waits
 * for the main thread.  The time of the one's calls is no time of the other's own.
 *
 * A thread was silent for long, another one made calls in that time, and was silent itself from its
 * last one until this thread's next call had returned.  Where readings of the thread's usage exist
 * (table usage), it was also off its processor for most of the time.
 */
#include <stdlib.h>

#include "array.h"
#include "constants.h"
#include "replay_parts.h"

int replay_read_usage(struct replays *replays, struct db *db)
{
	sqlite3_stmt *q = db_prepare(db,
		"SELECT t.process, u.thread, u.time, u.off FROM usage u"
		" JOIN thread t ON t.id = u.thread ORDER BY u.thread, u.time");
	int step = -1;

	while (q && (step = db_step(q)) > 0) {
		struct replay *replay = idmap_get(&replays->processes, sqlite3_column_int64(q, 0));
		uint64_t row = (uint64_t)sqlite3_column_int64(q, 1);
		uint32_t thread = !replay ? REPLAY_NONE
					  : (uint32_t)map_get(&replay->threads, row, REPLAY_NONE);
		struct replay_usage *more;

		if (thread == REPLAY_NONE)
			continue;
		more = array_room(replay->usage, replay->usage_count, sizeof(*more));
		if (!more) {
			step = -1;
			break;
		}
		replay->usage = more;
		more[replay->usage_count++] = (struct replay_usage){ thread,
			sqlite3_column_int64(q, 2), sqlite3_column_int64(q, 3) };
	}
	sqlite3_finalize(q);
	return step;
}

static int by_thread(const void *a, const void *b)
{
	const struct replay_usage *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

/* Does the second step wait for the first one's copy to the host? */
static int is_fetch(const struct replay_step *copy, const struct replay_step *wait)
{
	return copy->act & STEP_SUBMITS && copy->engine == ENGINE_D2H &&
		wait->act & STEP_EXPLICIT &&
		(wait->stream == copy->stream || wait->scope >= SCOPE_DEVICE);
}

/* Links each step to the next one of its thread. */
int replay_find_handovers(struct replay *replay)
{
	size_t count = replay->step_count;

	replay->next = malloc((count + 1) * sizeof(*replay->next));
	if (!replay->next)
		return -1;
	for (size_t i = 0; i < replay->threads.count; i++)
		replay->thread[i].last = REPLAY_NONE;
	for (size_t i = count; i-- > 0;) {
		struct replay_thread *thread = &replay->thread[replay->step[i].thread];

		replay->next[i] = thread->last;
		if (thread->last != REPLAY_NONE &&
			is_fetch(&replay->step[i], &replay->step[thread->last]))
			replay->step[thread->last].act |= STEP_FETCHES;
		thread->last = (uint32_t)i;
	}
	if (replay->usage_count)
		qsort(replay->usage, replay->usage_count, sizeof(*replay->usage), by_thread);
	return 0;
}

/* Returns the first reading of a thread after a time; the count if there is none. */
static size_t first_reading(const struct replay *replay, uint32_t thread, int64_t after)
{
	size_t low = 0, high = replay->usage_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct replay_usage *usage = &replay->usage[middle];

		if (usage->thread < thread || (usage->thread == thread && usage->time <= after))
			low = middle + 1;
		else
			high = middle;
	}
	return low < replay->usage_count && replay->usage[low].thread == thread
		? low
		: replay->usage_count;
}

/*
 * Returns how long the thread was on its processor between two of its calls, ns; 0 if that was not
 * read.  A reading is made when the time ends, with the next call.
 */
static int64_t busy_between(const struct replay *replay, const struct replay_step *step,
	int64_t from)
{
	size_t at = first_reading(replay, step->thread, from);
	int64_t off = 0, length = step->enter - from;

	if (at == replay->usage_count)
		return 0;
	for (; at < replay->usage_count && replay->usage[at].thread == step->thread &&
		replay->usage[at].time <= step->exit;
		at++)
		off += replay->usage[at].off;
	return off < length ? length - off : 0;
}

/* Was the other thread silent from its last call, before this one, until this one had returned? */
static int has_stopped(const struct replay *replay, uint32_t last, const struct replay_step *step)
{
	uint32_t next = replay->next[last];

	return next == REPLAY_NONE || replay->step[next].enter >= step->exit;
}

void replay_learn_handover(struct replay *replay, uint32_t number)
{
	struct replay_step *step = &replay->step[number];
	int64_t from = replay->thread[step->thread].now, latest = from, busy;
	uint32_t by = REPLAY_NONE;

	if (step->gap < BLOCKED_SLACK_NS || from == REPLAY_LONG_AGO)
		return;
	for (size_t i = 0; i < replay->threads.count; i++) {
		const struct replay_thread *other = &replay->thread[i];

		if (i == step->thread || other->last == REPLAY_NONE || other->now <= latest ||
			other->now > step->enter || !has_stopped(replay, other->last, step))
			continue;
		latest = other->now;
		by = (uint32_t)i;
	}
	busy = by == REPLAY_NONE ? 0 : busy_between(replay, step, from);
	if (by == REPLAY_NONE || busy > step->gap / 2)
		return;
	step->handed_by = by;
	step->resumed = step->enter - latest;
	step->gap = busy < step->resumed ? 0 : busy - step->resumed;
}
