/* SPDX-License-Identifier: Apache-2.0 */
#include "host_runs.h"

#include <stdlib.h>

#include "constants.h"
#include "memory.h"
#include "run_internal.h"
#include "sorted.h"
#include "unnamed_memory.h"

uint64_t host_runs_find(const struct run *run, int64_t at)
{
	uint64_t low = 0, high = host_run_count(run);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (host_run_at(run, middle)->exit < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct run_ended *host_runs_of(const struct run *run, int64_t call,
	const struct run_ended **end)
{
	const struct run_ended *first = run_find(&run->host_run_calls, call);
	const struct run_ended *rows_end = run_rows_end(&run->host_run_calls);

	*end = first;
	while (first && *end < rows_end && (*end)->call == first->call)
		++*end;
	return first;
}

static int by_exit(const void *a, const void *b)
{
	const struct host_run *x = a, *y = b;

	if (x->exit != y->exit)
		return x->exit < y->exit ? -1 : 1;
	return (x->enter > y->enter) - (x->enter < y->enter);
}

static int by_call(const void *a, const void *b)
{
	const struct run_ended *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

/* --- nodes of graphs --- */

/* A launch of a graph that calls the host. */
struct host_launch {
	int64_t start, end; /* ns, of its operations */
	uint32_t call, process, stream;
};

static void add_launch(const struct run *run, uint32_t id, struct host_launch **all, size_t *count)
{
	const struct run_call *call = run_call(run, id);
	struct host_launch launch = { RUN_NEVER, INT64_MIN, id, 0, 0 };

	if (!call || kind_family(call->kind) != FAMILY_graph_launch)
		return;
	for (uint32_t work = 0; (work = run_next_work(run, call, work));) {
		const struct run_work *part = run_work(run, work);
		int64_t end = run_end(run, part, work);

		launch.start = part->start < launch.start ? part->start : launch.start;
		launch.end = end > launch.end ? end : launch.end;
	}
	if (launch.start == RUN_NEVER)
		return;
	launch.process = run_payload(run, call)->process;
	launch.stream = call->stream;
	*array_push(*all, *count) = launch;
}

static int by_start(const void *a, const void *b)
{
	const struct host_launch *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/*
 * A node runs while its graph does.  Returns the launch, 0 if several streams have one at that
 * time.  Launches of a stream take turns: the last one to begin counts.
 */
static uint32_t launch_at(const struct host_launch *launch, size_t count,
	const struct host_run *run)
{
	enum { STEPS = 256 };
	const struct host_launch *found = NULL;
	size_t low = sorted_after(launch, count, sizeof(*launch),
		offsetof(struct host_launch, start), run->enter + CLOCK_APART_NS);

	for (size_t i = low, step = 0; i-- > 0 && step < STEPS; step++) {
		const struct host_launch *at = &launch[i];

		if (at->process != run->process ||
			(at->end != RUN_NEVER && at->end + CLOCK_APART_NS < run->enter))
			continue;
		if (found && found->stream != at->stream)
			return 0;
		/* Of two that are nearer than the clocks are known, the one that had begun. */
		if (!found || found->start > run->enter)
			found = at;
	}
	return found ? found->call : 0;
}

/* --- by call --- */

static int list_calls(struct run *run)
{
	uint64_t count = host_run_count(run);

	if (column_open(&run->host_run_calls, &run->scratch, sizeof(struct run_ended), count + 1))
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		struct host_run *row = (struct host_run *)run->host_runs.rows + i;
		const struct run_call *call = run_call(run, row->call);
		struct run_ended *of;

		if (row->thread >= run->thread_count)
			row->thread = 0;
		if (!call)
			continue;
		row->stream = call->stream;
		of = column_need(&run->host_run_calls, run->host_run_calls.count);
		if (!of)
			return -1;
		*of = (struct run_ended){ row->call, (uint32_t)i };
	}
	column_sort(&run->host_run_calls, by_call);
	return 0;
}

int host_runs_read(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "host_run",
			 "SELECT process, thread, call, enter, exit FROM host_run") ||
		run_open_list(&run->host_runs, run, db, "SELECT max(rowid) FROM host_run",
			sizeof(struct host_run));

	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		struct host_run *row = column_need(&run->host_runs, host_run_count(run));

		rc = row ? 0 : -1;
		if (row)
			*row = (struct host_run){ .process = run_reader_id(&reader, 0),
				.thread = run_reader_id(&reader, 1),
				.call = run_reader_id(&reader, 2),
				.enter = sqlite3_column_int64(reader.rows, 3),
				.exit = run_reader_time(&reader, 4) };
	}
	run_reader_close(&reader);
	if (rc)
		return -1;
	column_sort(&run->host_runs, by_exit);
	struct host_launch *launches = NULL;
	size_t count = 0;
	const struct run_object *object = (const struct run_object *)run->objects.rows;

	for (uint64_t i = 0; i < run->objects.count; i++, object++)
		if (object->role == OBJECT_CONTENT && object->object & CONTENT_HOST)
			add_launch(run, object->call, &launches, &count);
	if (count)
		qsort(launches, count, sizeof(*launches), by_start);
	for (uint64_t i = 0; count && i < host_run_count(run); i++) {
		struct host_run *row = (struct host_run *)run->host_runs.rows + i;

		if (!row->call)
			row->call = launch_at(launches, count, row);
	}
	free(launches);
	if (list_calls(run))
		return -1;
	return 0;
}
