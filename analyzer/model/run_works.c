/* SPDX-License-Identifier: Apache-2.0 */
/* Reads device operations: the rows of work.h. */
#include <string.h>

#include "run_internal.h"

/* clang-format off */
enum { ID, CALL, START, END, PROCESS, DEVICE, CONTEXT, STREAM, KIND, COPY_KIND, END_IS_LIMIT };

static const char works_sql[] =
	"SELECT id, call, start, end, process, device, context, stream, kind, copy_kind, "
	"recorded_end NOT NULL FROM work";
/* clang-format on */

const char *const run_work_names[WORK_KINDS] = {
	[WORK_OTHER] = "other",
	[WORK_KERNEL] = "kernel",
	[WORK_MEMCPY] = "memcpy",
	[WORK_MEMSET] = "memset",
	[WORK_PEER] = "peer",
	[WORK_GRAPH] = "graph",
};

static int read_work(struct run_reader *reader)
{
	sqlite3_stmt *row = reader->rows;
	int64_t copy = sqlite3_column_int64(row, COPY_KIND);
	struct run_work_facts facts;

	memset(&facts, 0, sizeof(facts));
	facts.id = run_reader_id(reader, ID);
	facts.call = run_reader_id(reader, CALL);
	facts.start = run_reader_time(reader, START);
	facts.end = run_reader_time(reader, END);
	facts.where.process = run_reader_id(reader, PROCESS);
	facts.where.context = run_reader_id(reader, CONTEXT);
	facts.where.stream = run_reader_id(reader, STREAM);
	facts.where.device = sqlite3_column_int(row, DEVICE);
	facts.where.kind =
		(uint8_t)run_name(run_work_names, WORK_KINDS, sqlite3_column_text(row, KIND));
	facts.where.copy_kind = copy == (uint8_t)copy ? (uint8_t)copy : 0;
	facts.where.end_is_limit = (uint8_t)sqlite3_column_int(row, END_IS_LIMIT);
	if (facts.id)
		return run_add_work(reader->run, &facts);
	reader->wrong = 1;
	return 0;
}

int run_read_works(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "operation", works_sql);

	while (!rc && (rc = run_reader_next(&reader)) > 0)
		rc = read_work(&reader);
	run_reader_close(&reader);
	return rc;
}
