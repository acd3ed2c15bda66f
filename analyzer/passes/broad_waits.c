/* SPDX-License-Identifier: Apache-2.0 */
#include "broad_waits.h"

#include <stdlib.h>

#include "broad_credit.h"
#include "constants.h"
#include "run_columns.h"

/* For a stream or the device, until the end of a known call's operation. */
static int is_broad(const struct run *run, const struct run_wait *wait)
{
	const struct run_call *call = run_call(run, wait->call);
	const struct run_work *behind = run_work(run, wait->op);

	return wait->kind == WAIT_EXPLICIT && wait->waited >= BLOCKED_MIN_NS && call && behind &&
		behind->call && call_is_wait(call->kind) && kind_waits(call->kind) != WAITS_EVENT;
}

int broad_waits_find(struct broad_waits *waits, const struct run *run, struct broad_places *places,
	struct findings *findings)
{
	for (size_t i = 1; i < run->evidence.wait_count; i++) {
		const struct run_wait *row = &run->evidence.wait[i];
		const struct run_work *behind = run_work(run, row->op);
		struct broad_place *place;
		struct broad_wait *wait;

		if (!is_broad(run, row))
			continue;
		place = broad_place_need(places, findings, row->call);
		if (!place) /* nobody could change a call of which it is not known where it is */
			continue;
		wait = idmap_need(&waits->map, row->call, sizeof(*wait));
		if (!wait)
			return -1;
		place->waits++;
		*wait = (struct broad_wait){ row->call, run_where(run, behind)->process,
			behind->call, run_end(run, behind, row->op) };
		if (!idmap_need(&waits->behind, wait->behind_call, sizeof(struct broad_behind)))
			return -1;
	}
	return 0;
}

void broad_waits_release(struct broad_waits *waits)
{
	idmap_release(&waits->map, free);
	idmap_release(&waits->behind, free);
}
