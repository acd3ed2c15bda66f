/* SPDX-License-Identifier: Apache-2.0 */
/* What single calls and operations gain by changes, whether or not the run does. */
#include "replay_parts.h"

int64_t replay_most_gained(struct replay *replay)
{
	struct replay_times *changed;
	int64_t most = 0, gained;

	replay_run(replay, REPLAY_LEAST);
	changed = replay->times;
	replay->times = replay->other_times;
	replay->other_times = changed;
	replay_restore(replay);
	replay_run(replay, REPLAY_LEAST);
	for (size_t i = 0; i < replay->step_count; i++) {
		const struct replay_times *times = &replay->times[i];

		gained = times->end - changed[i].end;
		most = gained > most ? gained : most;
		gained = times->back - changed[i].back;
		most = gained > most ? gained : most;
	}
	return most;
}
