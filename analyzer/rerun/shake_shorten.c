/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shortest set of holds and answers that shows a race: parts of those of its first seed are
 * left out, half of them, then a quarter and so on (delta debugging), as long as a run without them
 * shows it.  What the run did not come to is left out without a run.
 */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "print.h"
#include "shake.h"

enum { RUNS_LEAST = 4 }; /* for each race */

/* A run with these actions of a race, without those from "from" up to "to". */
static int shows_without(struct shake *shake, const struct shake_race *race, int from, int to)
{
	struct hold_plan plan = { .magic = HOLD_MAGIC,
		.timeout = shake->run[race->first].plan.timeout,
		.budget = shake->budget };
	struct rerun rerun;
	int shows;

	for (int i = 0; i < race->count; i++)
		if (i < from || i >= to)
			plan.action[plan.actions++] = race->needs[i];
	shows = shake_run(shake, &rerun, &plan, shake->run[race->first].seed)
		? -1
		: shake_shows(&rerun, race->fingerprint);
	rerun_close(&rerun);
	return shows;
}

static void leave_out(struct shake_race *race, int from, int to)
{
	memmove(&race->needs[from], &race->needs[to],
		(size_t)(race->count - to) * sizeof(*race->needs));
	race->count -= to - from;
}

/* runs: how many it may take. */
static int shorten(struct shake *shake, struct shake_race *race, int runs)
{
	const struct hold_plan *plan = &shake->run[race->first].plan;

	race->count = 0;
	for (uint32_t i = 0; i < plan->actions; i++)
		if (plan->action[i].state == HOLD_HELD) {
			race->needs[race->count] = plan->action[i];
			race->needs[race->count++].state = HOLD_WAITING;
		}
	for (int part = race->count; part && runs > 0; part /= 2)
		for (int from = 0; from < race->count && runs > 0;) {
			int to = from + part < race->count ? from + part : race->count;
			int shows = shows_without(shake, race, from, to);

			if (shows < 0)
				return -1;
			if (shows)
				leave_out(race, from, to);
			else
				from = to;
			/* It is known of one that it does not show without. */
			runs = race->count == 1 && part > 1 ? 0 : runs - 1;
		}
	return 0;
}

int shake_shorten(struct shake *shake)
{
	int left = 2 * (int)shake->request->runs, races = 0;

	for (size_t i = 0; i < shake->races; i++)
		races += !shake->race[i].is_plain;
	for (size_t i = 0; i < shake->races; i++) {
		int most = races ? left / races : 0;

		if (!shake->race[i].is_plain &&
			shorten(shake, &shake->race[i], most > RUNS_LEAST ? most : RUNS_LEAST))
			return -1;
	}
	return 0;
}

char *shake_needs_text(const struct shake *shake, const struct shake_race *race)
{
	uint64_t seed = shake->run[race->first].seed;
	char *text =
		xprintf("%u of %zu shaken runs show it, the plain run does not; --seed %llu "
			"does, with %s",
			race->runs, shake->runs, (unsigned long long)seed,
			race->count > 0 ? "" : "no stream held: it is luck alone");

	for (int i = 0; i < race->count; i++) {
		char *action = shake_action_text(&race->needs[i], &shake->calls);
		char *longer = xprintf("%s%s%s", text, i ? "; " : "", action);

		free(action);
		free(text);
		text = longer;
	}
	return text;
}
