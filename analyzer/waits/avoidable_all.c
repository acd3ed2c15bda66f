/* SPDX-License-Identifier: Apache-2.0 */
/* Waits of several processes are judged at the same time. */
#include <stdlib.h>

#include "avoidable_internal.h"
#include "memory.h"
#include "pinned_copies.h"
#include "workers.h"

/* The waits of a process, and what is found of them, are its own. */
struct judged {
	struct waits *waits;
	struct map last; /* process -> its last call that submitted an operation */
	struct avoidable *part;
	size_t parts;
};

static int judge_part(void *arg, size_t number)
{
	const struct judged *judged = arg;
	const struct waits *waits = judged->waits;
	int rc = 0;

	for (size_t i = 0; i < waits->count && rc >= 0; i++)
		if ((size_t)waits->wait[i].process % judged->parts == number)
			rc = avoidable_judge(&judged->part[number], &waits->wait[i], &judged->last);
	return rc < 0 ? -1 : 0;
}

static int open_part(struct avoidable *a, struct db *db)
{
	*a = (struct avoidable){ .db = db,
		.run = db->run,
		.walk = walk_thread_open(db),
		.path = order_path_open(db),
		.reader = access_open(db) };
	return !a->walk || !a->path || !a->reader || script_lines_open(&a->lines, db) ||
			stretches_load(&a->stretches, db) || pinned_find(&a->pinned, db)
		? -1
		: 0;
}

static void close_part(struct avoidable *a)
{
	script_lines_close(&a->lines);
	access_close(a->reader);
	order_path_close(a->path);
	walk_thread_close(a->walk);
	id_map_release(&a->pinned, free);
	stretches_release(&a->stretches);
	map_release(&a->written);
}

/* A line has one fix: with a wait if most of its copies are the only one for a result. */
static void agree_on_lone_waits(struct run *run)
{
	struct map votes = { 0 };

	for (size_t i = 1; i < run->evidence.wait_count; i++) {
		const struct run_wait *wait = &run->evidence.wait[i];

		if (wait->alone == LONE_YES || wait->alone == LONE_NO)
			map_add(&votes, run_outer_site(run, wait->call),
				wait->alone == LONE_YES ? 1 : UINT64_MAX);
	}
	for (size_t i = 1; i < run->evidence.wait_count; i++) {
		struct run_wait *wait = &run->evidence.wait[i];

		if (wait->alone == LONE_OTHER_CALL)
			continue;
		wait->alone = (int64_t)map_get(&votes, run_outer_site(run, wait->call), 0) > 0
			? LONE_YES
			: LONE_NO;
	}
	map_release(&votes);
}

int waits_find_avoidable(struct waits *waits)
{
	enum { PARTS_MOST = 8 };
	const struct run *run = waits->db->run;
	struct judged judged = { .waits = waits };
	int rc = 0;

	for (uint32_t id = 1; id < run_work_end(run); id++) {
		const struct run_work *work = run_work(run, id);
		uint64_t process = work ? run_where(run, work)->process : 0;

		if (work && work->call > map_get(&judged.last, process, 0))
			map_set(&judged.last, process, work->call);
	}
	judged.parts = workers_processors(PARTS_MOST);
	if (judged.parts > judged.last.count)
		judged.parts = judged.last.count ? judged.last.count : 1;
	judged.part = xcalloc(judged.parts, sizeof(*judged.part));
	for (size_t i = 0; i < judged.parts && !rc; i++)
		rc = open_part(&judged.part[i], waits->db);
	rc = rc || workers_run(judged.parts, judge_part, &judged) ? -1 : 0;
	for (size_t i = 0; i < judged.parts; i++)
		if (judged.part[i].db)
			close_part(&judged.part[i]);
	if (!rc)
		agree_on_lone_waits(waits->db->run);
	free(judged.part);
	map_release(&judged.last);
	return rc;
}
