/* SPDX-License-Identifier: Apache-2.0 */
#include "run_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "large.h"
#include "memory.h"
#include "rows.h"
#include "sorted.h"

static const char *const kinds[] = {
#define X(kind, name) [WAIT_##kind] = name,
	WAIT_KIND_LIST(X)
#undef X
};

static const char *const reasons[] = {
#define X(reason, name) [HOLD_##reason] = name,
	HOLD_REASON_LIST(X)
#undef X
};

void run_evidence_release(struct run_evidence *evidence)
{
	large_free(evidence->wait);
	large_free(evidence->hold);
	large_free(evidence->known);
	for (size_t i = 0; i < evidence->loop_count; i++) {
		free(evidence->loop[i].begin);
		free(evidence->loop[i].pause);
	}
	free(evidence->loop);
	large_free(evidence->edge);
	free(evidence->trim);
	free(evidence->fence);
	free(evidence->handovers.list);
	free(evidence->handovers.reading);
	map_release(&evidence->trimmed);
	large_free(evidence->wait_of);
	map_release(&evidence->knows);
	map_release(&evidence->hazard_rules);
}

/* The number of the call's first wait, which may be written. */
static uint32_t *first_of(struct run_evidence *evidence, uint32_t call)
{
	size_t known = evidence->wait_calls;

	if (call >= known) {
		evidence->wait_calls = (size_t)call + 1;
		evidence->wait_of = large_need(evidence->wait_of, evidence->wait_calls,
			sizeof(*evidence->wait_of));
		memset(evidence->wait_of + known, 0,
			(evidence->wait_calls - known) * sizeof(*evidence->wait_of));
	}
	return &evidence->wait_of[call];
}

uint32_t run_add_wait(struct run_evidence *evidence, const struct run_wait *wait)
{
	uint32_t number, *link;

	if (!evidence->wait)
		*large_push(evidence->wait, evidence->wait_count) = (struct run_wait){ 0 };
	number = (uint32_t)evidence->wait_count;
	*large_push(evidence->wait, evidence->wait_count) = *wait;
	for (link = first_of(evidence, wait->call); *link;)
		link = &evidence->wait[*link].next;
	*link = number;
	return number;
}

void run_add_hold(struct run_evidence *evidence, const struct run_hold *hold)
{
	*large_push(evidence->hold, evidence->hold_count) = *hold;
}

void run_add_known(struct run_evidence *evidence, const struct run_known *known)
{
	*large_push(evidence->known, evidence->known_count) = *known;
	map_set(&evidence->knows, known->call, 1);
}

void run_evidence_join(struct run_evidence *evidence, const struct run_evidence *later)
{
	for (size_t i = 0; i < later->hold_count; i++)
		run_add_hold(evidence, &later->hold[i]);
	for (size_t i = 0; i < later->known_count; i++)
		run_add_known(evidence, &later->known[i]);
	for (size_t i = 0; i < later->edge_count; i++)
		*large_push(evidence->edge, evidence->edge_count) = later->edge[i];
	for (size_t i = 0; i < later->trim_count; i++)
		*array_push(evidence->trim, evidence->trim_count) = later->trim[i];
}

const struct run_loop *run_loop_of(const struct run_evidence *evidence, int64_t process)
{
	for (size_t i = 0; i < evidence->loop_count; i++)
		if (evidence->loop[i].process == process)
			return &evidence->loop[i];
	return NULL;
}

/* Returns the number of pauses that begin before or at that time. */
static size_t pauses_until(const struct run_loop *loop, int64_t time)
{
	return sorted_after(loop->pause, loop->pauses, sizeof(*loop->pause),
		offsetof(struct loop_pause, from), time);
}

int64_t run_loop_clock(const struct run_loop *loop, int64_t time)
{
	size_t count = pauses_until(loop, time);
	const struct loop_pause *last = count ? &loop->pause[count - 1] : NULL;

	if (!last || time == INT64_MAX)
		return time;
	return time - last->before - (at_most(time, last->until) - last->from);
}

int run_loop_has(const struct run_loop *loop, int64_t time)
{
	size_t count = pauses_until(loop, time);

	return time >= loop->begin[0] && time < loop->begin[loop->turns] &&
		(!count || time >= loop->pause[count - 1].until);
}

int64_t run_loop_length(const struct run_loop *loop)
{
	return run_loop_clock(loop, loop->end) - run_loop_clock(loop, loop->begin[0]);
}

static int finish(struct rows *rows, int rc)
{
	rc = rc || rows_finish(rows) ? -1 : 0;
	rows_free(rows);
	return rc;
}

static int write_waits(const struct run_evidence *evidence, struct db *db)
{
	struct rows *rows = rows_open(db, TABLE_wait);
	int rc = 0;

	if (!rows)
		return -1;
	for (size_t i = 1; i < evidence->wait_count && !rc; i++) {
		const struct run_wait *wait = &evidence->wait[i];

		rc = rows_add(rows,
			ROW(wait, i, wait->call, cell_text(kinds[wait->kind]), cell_id(wait->op),
				wait->waited, wait->avoidable, cell_id(wait->partner),
				cell_id(wait->behind)));
	}
	return finish(rows, rc);
}

static int write_holds(const struct run_evidence *evidence, struct db *db)
{
	struct rows *rows = rows_open(db, TABLE_hold);
	int rc = 0;

	if (!rows)
		return -1;
	for (size_t i = 0; i < evidence->hold_count && !rc; i++) {
		const struct run_hold *hold = &evidence->hold[i];

		rc = rows_add(rows,
			ROW(hold, hold->op, cell_id(hold->behind), cell_id(hold->via),
				cell_text(reasons[hold->reason]), hold->ready, hold->held));
	}
	return finish(rows, rc);
}

static int write_known(const struct run_evidence *evidence, struct db *db)
{
	int rc = 0;

	for (size_t i = 0; i < evidence->known_count && !rc; i++)
		rc = db_add(db, ROW(known_wait, evidence->known[i].call, evidence->known[i].since));
	return rc;
}

int run_evidence_write(const struct run_evidence *evidence, struct db *db)
{
	return write_waits(evidence, db) || write_holds(evidence, db) || write_known(evidence, db)
		? -1
		: 0;
}
