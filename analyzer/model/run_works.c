/* SPDX-License-Identifier: Apache-2.0 */
/* What the device did (work.h), as the column works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_parts.h"

struct work_reader {
	struct run_reader rows;
	struct run_seen seen;
	size_t room; /* of run->where */
};

/* clang-format off */
enum { ID, CALL, START, END, PROCESS, DEVICE, CONTEXT, STREAM, KIND, COPY_KIND };

static const char works_sql[] =
	"SELECT id, call, start, end, process, device, context, stream, kind, copy_kind FROM work";
/* clang-format on */

static const char *const kind_names[] = {
	[WORK_KERNEL] = "kernel",
	[WORK_MEMCPY] = "memcpy",
	[WORK_MEMSET] = "memset",
	[WORK_PEER] = "peer",
	[WORK_GRAPH] = "graph",
};

/* Room for one more. */
static int make_room(struct work_reader *reader)
{
	struct run *run = reader->rows.run;
	size_t room = reader->room ? 2 * reader->room : 64;
	struct run_where *more;

	if (run->where_count < reader->room)
		return 0;
	more = realloc(run->where, room * sizeof(*more));
	if (!more) {
		fputs("cufence: out of memory\n", stderr);
		return -1;
	}
	run->where = more;
	reader->room = room;
	return 0;
}

static int read_where(struct work_reader *reader, uint32_t *number)
{
	struct run *run = reader->rows.run;
	sqlite3_stmt *row = reader->rows.rows;
	int64_t copy = sqlite3_column_int64(row, COPY_KIND);
	struct run_where where = {
		.process = run_reader_id(&reader->rows, PROCESS),
		.context = run_reader_id(&reader->rows, CONTEXT),
		.stream = run_reader_id(&reader->rows, STREAM),
		.device = sqlite3_column_int(row, DEVICE),
		.kind = (uint8_t)run_name(kind_names, sizeof(kind_names) / sizeof(*kind_names),
			sqlite3_column_text(row, KIND)),
		.copy_kind = copy == (uint8_t)copy ? (uint8_t)copy : 0,
	};

	if (make_room(reader))
		return -1;
	*number = run_seen_need(&reader->seen, run->where, &where, sizeof(where),
		(uint32_t)run->where_count);
	if (*number == run->where_count)
		run->where[run->where_count++] = where;
	return *number ? 0 : -1;
}

/* A duration that the row has room for, and that a start without an end needs none of. */
static int set_end(struct run *run, struct run_work *work, uint32_t id, int64_t end)
{
	int64_t duration;

	work->duration = DURATION_NEVER;
	if (end == RUN_NEVER)
		return 0;
	if (work->start != RUN_NEVER && !__builtin_sub_overflow(end, work->start, &duration) &&
		duration >= 0 && duration < DURATION_LONG) {
		work->duration = (uint32_t)duration;
		return 0;
	}
	work->duration = DURATION_LONG;
	return map_set(&run->long_works, id, (uint64_t)end);
}

/* A ring of those of one call, as their ids grow. */
static void chain(struct run *run, struct run_work *work, uint32_t id)
{
	struct run_work *works = (struct run_work *)run->works.rows;
	struct run_call *call = (struct run_call *)(uintptr_t)run_call(run, work->call);

	work->next = id;
	if (!call)
		return;
	if (call->last_work) {
		work->next = works[call->last_work].next;
		works[call->last_work].next = id;
	}
	call->last_work = id;
}

static int read_work(struct work_reader *reader)
{
	struct run *run = reader->rows.run;
	uint32_t id = run_reader_id(&reader->rows, ID);
	struct run_work *work = id ? column_need(&run->works, id) : NULL;

	if (!id) {
		reader->rows.wrong = 1;
		return 0;
	}
	if (!work || read_where(reader, &work->where))
		return -1;
	work->start = run_reader_time(&reader->rows, START);
	work->call = run_reader_id(&reader->rows, CALL);
	chain(run, work, id);
	return set_end(run, work, id, run_reader_time(&reader->rows, END));
}

int run_read_works(struct run *run, struct db *db)
{
	struct work_reader reader = { .room = 0 };
	int64_t last = run_last_id(db, "main.operation");
	int rc = last < 0 || run_reader_open(&reader.rows, run, db, "operation", works_sql) ||
			column_open(&run->works, &run->scratch, sizeof(struct run_work),
				(uint64_t)last + 1) ||
			make_room(&reader)
		? -1
		: 0;

	if (!rc)
		memset(&run->where[run->where_count++], 0, sizeof(*run->where));
	while (!rc && (rc = run_reader_next(&reader.rows)) > 0)
		rc = read_work(&reader);
	run_reader_close(&reader.rows);
	run_seen_release(&reader.seen);
	return rc;
}
