/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of long runs.  A run with more than REPLAY_MAX_STEPS steps is not replayed as a whole:
 * the replay has a number of samples of its loop, each of consecutive turns.  Between two samples
 * threads go on after the same time as in the run, and the device has nothing left to do.  What
 * the turns of all samples save, divided by their length, stands for the loop.
 */
#include <math.h>
#include <stdlib.h>

#include "bounds.h"
#include "constants.h"
#include "memory.h"
#include "ratio.h"
#include "replay.h"
#include "sorted.h"

int64_t replay_limit(const char *variable, int64_t usual)
{
	const char *set = getenv(variable);

	return set && *set ? strtoll(set, NULL, 10) : usual;
}

static int64_t length_of(const struct run_loop *loop, int64_t from, int64_t until)
{
	return run_loop_clock(loop, until) - run_loop_clock(loop, from);
}

int replay_choose_samples(struct replay *replay)
{
	const struct run_loop *loop = replay->run_loop;
	size_t count = REPLAY_SAMPLES, turns, each;
	int64_t most = replay_limit("CUFENCE_TEST_REPLAY_STEPS", REPLAY_MAX_STEPS);

	if (!loop || !replay->loop_steps)
		return 0;
	turns = (size_t)((double)loop->turns * (double)(most / REPLAY_SAMPLED_PART) /
		(double)replay->loop_steps);
	if (turns >= loop->turns)
		turns = loop->turns, count = 1;
	if (turns < LOOP_TURNS_LEAST)
		return 0;
	count = at_most((int64_t)count, (int64_t)turns);
	each = turns / count;
	replay->sample = xcalloc(count, sizeof(*replay->sample));
	replay->samples = count;
	replay->sampled_turns = (int64_t)(count * each);
	replay->loop = length_of(loop, loop->begin[0], loop->begin[loop->turns]);
	for (size_t i = 0; i < count; i++) {
		struct replay_sample *sample = &replay->sample[i];
		size_t first = count > 1 ? (loop->turns - each) * i / (count - 1) : 0;

		sample->from = loop->begin[first];
		sample->until = loop->begin[first + each];
		sample->length = length_of(loop, sample->from, sample->until);
		replay->sampled += sample->length;
		if (i)
			replay->skipped += sample->from - sample[-1].until;
	}
	/* The steps are read once more. */
	for (size_t i = 0; i < REPLAY_NUMBERS; i++)
		map_release(&replay->numbers[i]);
	replay->window = 0;
	replay->first = INT64_MAX;
	replay->last = INT64_MIN;
	return replay->sampled > 0;
}

/* Returns the last sample that began by a time, NULL: none. */
static struct replay_sample *sample_at(const struct replay *replay, int64_t enter)
{
	size_t count = sorted_after(replay->sample, replay->samples, sizeof(*replay->sample),
		offsetof(struct replay_sample, from), enter);

	return count ? &replay->sample[count - 1] : NULL;
}

int replay_is_skipped(const struct replay *replay, int64_t enter)
{
	const struct replay_sample *sample = sample_at(replay, enter);

	return replay->samples && (!sample || enter >= sample->until);
}

void replay_note_sample(struct replay *replay, uint32_t number, int64_t last)
{
	struct replay_sample *sample =
		sample_at(replay, run_call(replay->run, replay->step[number].call)->enter);

	if (sample)
		sample->ended = last;
	if (sample && !replay->changes)
		sample->ended_unchanged = last;
}

int64_t replay_extrapolated(const struct replay *replay, int64_t time)
{
	return replay->samples
		? llround((double)time * ((double)replay->loop / (double)replay->sampled))
		: time;
}

int64_t replay_spread(const struct replay *replay)
{
	struct ratio_part *part = xcalloc(replay->samples, sizeof(*part));
	int64_t saved = 0;
	struct ratio ratio;

	for (size_t i = 0; i < replay->samples; i++) {
		const struct replay_sample *sample = &replay->sample[i];
		int64_t so_far = sample->ended ? sample->ended_unchanged - sample->ended : saved;

		part[i].length = (double)sample->length;
		part[i].amount = (double)(so_far - saved);
		saved = so_far;
	}
	ratio = ratio_estimate(part, replay->samples, (double)replay->sampled,
		(double)replay->loop);
	free(part);
	return isnan(ratio.error) ? 0 : llround(ratio.error);
}
