/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables other than call and operation: those by id, and those in order of call. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "run_internal.h"

#define COUNT(names) ((unsigned)(sizeof(names) / sizeof(*(names))))

/* --- by id --- */

static int read_streams(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "stream",
		"SELECT id, context, kind, created FROM stream");

	if (!rc)
		run->stream = run_new_rows(db, "stream", sizeof(*run->stream), &run->stream_count);
	while (run->stream && (rc = run_reader_next(&reader)) > 0) {
		uint32_t id = run_reader_id(&reader, 0);

		run->stream[id] = (struct run_stream){
			.context = run_reader_id(&reader, 1),
			.kind = stream_kind_of((const char *)sqlite3_column_text(reader.rows, 2)),
			.created = run_reader_id(&reader, 3),
		};
	}
	run_reader_close(&reader);
	return run->stream && !rc ? 0 : -1;
}

static int read_contexts(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "context",
		"SELECT id, device, green FROM context");

	if (!rc)
		run->context =
			run_new_rows(db, "context", sizeof(*run->context), &run->context_count);
	for (size_t i = 0; i < run->context_count; i++)
		run->context[i].device = -1;
	while (run->context && (rc = run_reader_next(&reader)) > 0)
		run->context[run_reader_id(&reader, 0)] =
			(struct run_context){ sqlite3_column_int(reader.rows, 1),
				sqlite3_column_int(reader.rows, 2) };
	run_reader_close(&reader);
	return run->context && !rc ? 0 : -1;
}

/* Threads of one process need not be adjacent. */
static int read_threads(struct run *run, struct db *db)
{
	struct map processes = { 0 };
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "thread", "SELECT id, process FROM thread");

	if (!rc)
		run->thread = run_new_rows(db, "thread", sizeof(*run->thread), &run->thread_count);
	while (run->thread && (rc = run_reader_next(&reader)) > 0) {
		uint32_t process = run_reader_id(&reader, 1);

		run->thread[run_reader_id(&reader, 0)].process = process;
		run->threads_share |= (int)map_get(&processes, process, 0);
		map_set(&processes, process, 1);
	}
	map_release(&processes);
	run_reader_close(&reader);
	return run->thread && !rc ? 0 : -1;
}

/* Values of a trace are untrusted: parts outside of the whole are ignored. */
static int is_within(const struct run_allocation *whole, const struct run_allocation *part,
	int64_t *end)
{
	return !whole->same && part->shift >= 0 &&
		!__builtin_add_overflow(part->shift, part->bytes, end) &&
		!__builtin_add_overflow(whole->address, *end, &(int64_t){ 0 });
}

static void join_parts(struct run *run)
{
	struct run_allocation *all = (struct run_allocation *)run->allocations.rows;

	for (uint64_t id = 1; id < run->allocations.count; id++) {
		struct run_allocation *part = &all[id];
		struct run_allocation *whole = part->same ? &all[part->same] : NULL;
		int64_t end;

		if (!whole)
			continue;
		if (!is_within(whole, part, &end)) {
			part->same = 0;
			continue;
		}
		whole->has_parts = 1;
		whole->span = end > whole->span ? end : whole->span;
	}
}

static int read_allocations(struct run *run, struct db *db)
{
	static const char *const kinds[] = {
		[ALLOCATION_DEVICE] = "device",
		[ALLOCATION_PINNED] = "pinned",
		[ALLOCATION_REGISTERED] = "registered",
		[ALLOCATION_MANAGED] = "managed",
		[ALLOCATION_ASYNC] = "async",
		[ALLOCATION_VARIABLE] = "variable",
		[ALLOCATION_ARRAY] = "array",
		[ALLOCATION_GRAPH] = "graph",
	};
	int64_t last = run_last_id(db, "allocation");
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "allocation",
		"SELECT id, address, bytes, created, freed, memory, same, shift FROM allocation "
		"LEFT JOIN alias ON alias.allocation = id");

	rc = rc || last < 0 ||
		column_open(&run->allocations, &run->scratch, sizeof(struct run_allocation),
			(uint64_t)last + 1) ||
		!column_need(&run->allocations, 0);
	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		struct run_allocation *row =
			column_need(&run->allocations, run_reader_id(&reader, 0));

		rc = row ? 0 : -1;
		if (!row)
			break;
		row->address = sqlite3_column_int64(reader.rows, 1);
		row->bytes = sqlite3_column_int64(reader.rows, 2);
		row->created = run_reader_id(&reader, 3);
		row->freed = run_reader_id(&reader, 4);
		row->kind = (uint16_t)run_name(kinds, COUNT(kinds),
			sqlite3_column_text(reader.rows, 5));
		row->same = run_reader_id(&reader, 6);
		row->same = row->same <= last ? row->same : 0;
		row->shift = row->same ? sqlite3_column_int64(reader.rows, 7) : 0;
		row->span = row->bytes;
	}
	run_reader_close(&reader);
	if (!rc)
		join_parts(run);
	return rc ? -1 : 0;
}

static int read_twins(struct run *run, struct db *db)
{
	struct run_allocation *all = (struct run_allocation *)run->allocations.rows;
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "twin",
		"SELECT allocation, other, shift FROM twin ORDER BY allocation");

	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		uint32_t id = run_reader_id(&reader, 0), other = run_reader_id(&reader, 1);

		rc = 0;
		if (id >= run->allocations.count || other >= run->allocations.count)
			continue;
		all[id].has_twins = 1;
		*array_push(run->twin, run->twin_count) = (struct run_twin){ .allocation = id,
			.other = other,
			.shift = sqlite3_column_int64(reader.rows, 2),
			.is_known = sqlite3_column_type(reader.rows, 2) != SQLITE_NULL };
	}
	run_reader_close(&reader);
	return rc;
}

static int read_devices(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "device",
		"SELECT process, ordinal, sm_count, threads_per_sm, blocks_per_sm FROM device");

	while (rc >= 0 && (rc = run_reader_next(&reader)) > 0) {
		*array_push(run->device, run->device_count) = (struct run_device){
			.process = run_reader_id(&reader, 0),
			.ordinal = sqlite3_column_int(reader.rows, 1),
			.sms = sqlite3_column_int64(reader.rows, 2),
			.threads = sqlite3_column_int64(reader.rows, 3),
			.blocks = sqlite3_column_int64(reader.rows, 4),
		};
	}
	run_reader_close(&reader);
	return rc;
}

int run_read_tables(struct run *run, struct db *db)
{
	return read_streams(run, db) || read_contexts(run, db) || read_threads(run, db) ||
			run_read_code(run, db) || read_allocations(run, db) ||
			read_twins(run, db) || read_devices(run, db)
		? -1
		: 0;
}

/* --- in order of call --- */

static int by_call(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int by_start(const void *a, const void *b)
{
	const struct run_overhead *x = a, *y = b;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

int run_open_list(struct column *list, struct run *run, struct db *db, const char *count_sql,
	size_t row_size)
{
	int64_t count = db_int(db, count_sql, 0);

	return db->failed ? -1 : column_open(list, &run->scratch, row_size, (uint64_t)count + 1);
}

static int read_objects(struct run *run, struct db *db)
{
	static const char *const roles[] = {
		[OBJECT_EXEC] = "exec",
		[OBJECT_EVENT] = "event",
		[OBJECT_DST_CONTEXT] = "dst_context",
		[OBJECT_SRC_CONTEXT] = "src_context",
		[OBJECT_LAUNCH_EVENT] = "launch_event",
		[OBJECT_COMPLETION_EVENT] = "completion_event",
		[OBJECT_CAPTURED] = "captured",
		[OBJECT_ATTRIBUTES] = "attributes",
		[OBJECT_CONTENT] = "content",
		[OBJECT_FILL] = "fill",
	};
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "call_object",
			 "SELECT call, role, object FROM call_object") ||
		run_open_list(&run->objects, run, db, "SELECT count(*) FROM call_object",
			sizeof(struct run_object));

	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		struct run_object *row = column_need(&run->objects, run->objects.count);

		rc = row ? 0 : -1;
		if (row)
			*row = (struct run_object){ run_reader_id(&reader, 0),
				run_name(roles, COUNT(roles), sqlite3_column_text(reader.rows, 1)),
				sqlite3_column_int64(reader.rows, 2) };
	}
	run_reader_close(&reader);
	if (rc)
		return -1;
	column_sort(&run->objects, by_call);
	return 0;
}

const char *const operand_roles[OPERAND_ROLES] = {
	[OPERAND_DST] = "dst",
	[OPERAND_SRC] = "src",
	[OPERAND_SRC_ANY] = "src_any",
	[OPERAND_WORD] = "word",
	[OPERAND_NODE] = "node",
};

int run_read_operands(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "operand",
		"SELECT call, allocation, address, role, offset FROM operand");

	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		struct run_operand row = {
			.call = run_reader_id(&reader, 0),
			.allocation = run_reader_id(&reader, 1),
			.address = sqlite3_column_int64(reader.rows, 2),
			.role = run_name(operand_roles, OPERAND_ROLES,
				sqlite3_column_text(reader.rows, 3)),
			.offset = sqlite3_column_type(reader.rows, 4) == SQLITE_NULL
				? UINT32_MAX
				: (uint32_t)sqlite3_column_int64(reader.rows, 4),
		};

		rc = run_add_operand(run, &row);
	}
	run_reader_close(&reader);
	return rc;
}

int run_read_launches(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "launch", "SELECT call, shape FROM launch");

	while (!rc && (rc = run_reader_next(&reader)) > 0)
		rc = run_add_launch(run, run_reader_id(&reader, 0), run_reader_id(&reader, 1));
	run_reader_close(&reader);
	return rc;
}

static int read_extents(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "extent",
			 "SELECT call, allocation, role, item, address, bytes, pitch, rows, slice, "
			 "slices, span FROM extent") ||
		run_open_list(&run->extents, run, db, "SELECT count(*) FROM extent",
			sizeof(struct run_extent));

	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		struct run_extent *row = column_need(&run->extents, run->extents.count);
		sqlite3_stmt *q = reader.rows;

		rc = row ? 0 : -1;
		if (row)
			*row = (struct run_extent){ run_reader_id(&reader, 0),
				run_reader_id(&reader, 1),
				run_name(operand_roles, OPERAND_ROLES, sqlite3_column_text(q, 2)),
				(uint32_t)sqlite3_column_int64(q, 3), sqlite3_column_int64(q, 4),
				sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6),
				sqlite3_column_int64(q, 7), sqlite3_column_int64(q, 8),
				sqlite3_column_int64(q, 9), sqlite3_column_int64(q, 10) };
	}
	run_reader_close(&reader);
	if (rc)
		return -1;
	column_sort(&run->extents, by_call);
	return 0;
}

static int read_overheads(struct run *run, struct db *db)
{
	static const char *const kinds[] = {
		[OVERHEAD_LAZY_LOADING] = "lazy_loading",
		[OVERHEAD_QUEUE_FULL] = "queue_full",
	};
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "overhead",
			 "SELECT call, kind, start, end FROM overhead WHERE call NOT NULL") ||
		run_open_list(&run->overheads, run, db, "SELECT max(rowid) FROM overhead",
			sizeof(struct run_overhead));

	while (!rc && (rc = run_reader_next(&reader)) > 0) {
		struct run_overhead *row = column_need(&run->overheads, run->overheads.count);

		rc = row ? 0 : -1;
		if (row)
			*row = (struct run_overhead){ run_reader_id(&reader, 0),
				run_name(kinds, COUNT(kinds), sqlite3_column_text(reader.rows, 1)),
				sqlite3_column_int64(reader.rows, 2),
				sqlite3_column_int64(reader.rows, 3) };
	}
	run_reader_close(&reader);
	if (rc)
		return -1;
	column_sort(&run->overheads, by_start);
	return 0;
}

static int add(struct column *list, uint32_t call, uint32_t what)
{
	struct run_ended *row = call ? column_need(list, list->count) : NULL;

	if (row)
		*row = (struct run_ended){ call, what };
	return call && !row ? -1 : 0;
}

static int list_allocations(struct run *run)
{
	uint64_t count = run->allocations.count;

	if (column_open(&run->freed, &run->scratch, sizeof(struct run_ended), count) ||
		column_open(&run->allocated, &run->scratch, sizeof(struct run_ended), count))
		return -1;
	for (uint32_t id = 1; id < count; id++)
		if (add(&run->freed, run_allocation(run, id)->freed, id) ||
			add(&run->allocated, run_allocation(run, id)->created, id))
			return -1;
	column_sort(&run->freed, by_call);
	column_sort(&run->allocated, by_call);
	return 0;
}

/* Threads created come before those joined by the same call. */
static int list_threads(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "thread",
			 "SELECT made_by, id FROM thread WHERE made_by NOT NULL UNION ALL "
			 "SELECT joined_by, id FROM thread WHERE joined_by NOT NULL") ||
		column_open(&run->threads_made, &run->scratch, sizeof(struct run_ended),
			2 * run->thread_count);

	while (!rc && (rc = run_reader_next(&reader)) > 0)
		rc = add(&run->threads_made, run_reader_id(&reader, 0), run_reader_id(&reader, 1));
	run_reader_close(&reader);
	if (rc)
		return -1;
	column_sort(&run->threads_made, by_call);
	return 0;
}

/* Losses that mean missing calls. */
static int read_gaps(struct run *run, struct db *db)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "loss",
		"SELECT process FROM loss WHERE reason IN ("
#define LOSS(reason, effect, calls, work, numbers, found, text) LOSS_IF_##calls(reason)
#include "losses.def"
		LOSS_NONE ")");

	while (rc >= 0 && (rc = run_reader_next(&reader)) > 0)
		map_set(&run->gaps, run_reader_id(&reader, 0), 1);
	run_reader_close(&reader);
	return rc;
}

int run_read_lists(struct run *run, struct db *db)
{
	column_sort(&run->operands, by_call);
	column_sort(&run->launches, by_call);
	return read_objects(run, db) || read_extents(run, db) || read_overheads(run, db) ||
			list_allocations(run) || list_threads(run, db) || read_gaps(run, db)
		? -1
		: 0;
}
