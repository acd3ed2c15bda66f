/* SPDX-License-Identifier: Apache-2.0 */
#include "host_runs.h"

#include "run_parts.h"

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

static int read_rows(struct run *run, struct db *db)
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
	return rc ? -1 : column_sort(&run->host_runs, by_exit);
}

int host_runs_read(struct run *run, struct db *db)
{
	uint64_t count;

	if (read_rows(run, db))
		return -1;
	count = host_run_count(run);
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
	return column_sort(&run->host_run_calls, by_call);
}
