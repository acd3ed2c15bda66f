/* SPDX-License-Identifier: Apache-2.0 */
/* Table call, with the shapes of launches, as the columns calls, links and payloads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_parts.h"

struct call_kinds {
	uint8_t *kind; /* by call_type.id */
	size_t count;
};

struct call_reader {
	struct run_reader calls, launches;
	int launch; /* launches stands on a row */
	struct call_kinds kinds;
	struct run_seen seen;
	uint32_t *last; /* by thread, its last call so far */
};

static int read_kinds(struct run *run, struct db *db, struct call_kinds *kinds)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "call_type",
		"SELECT id, kind, runtime FROM call_type");

	kinds->kind =
		rc ? NULL : run_new_rows(db, "call_type", sizeof(*kinds->kind), &kinds->count);
	while (kinds->kind && (rc = run_reader_next(&reader)) > 0) {
		uint32_t id = run_reader_id(&reader, 0);

		if (id <= UINT16_MAX && id < kinds->count)
			kinds->kind[id] = sqlite3_column_int(reader.rows, 2)
				? KIND_RUNTIME
				: call_kind_named(db_text(reader.rows, 1));
		else
			reader.wrong = 1;
	}
	run_reader_close(&reader);
	return kinds->kind && !rc ? 0 : -1;
}

static enum memory_kind memory_of(const unsigned char *name)
{
	static const struct {
		const char *name;
		enum memory_kind kind;
	} names[] = {
		{ "pageable", MEMORY_PAGEABLE },
		{ "pinned", MEMORY_PINNED },
		{ "registered", MEMORY_PINNED },
		{ "device", MEMORY_DEVICE },
		{ "async", MEMORY_DEVICE },
		{ "managed", MEMORY_MANAGED },
	};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, (const char *)name))
			return names[i].kind;
	return MEMORY_UNKNOWN;
}

/* cudaMemcpyDefault and cuMemcpy: what the memory says, as the driver itself decides. */
static enum copy_direction direction_of(enum memory_kind src, enum memory_kind dst,
	int64_t recorded)
{
	int from_host = src == MEMORY_PAGEABLE || src == MEMORY_PINNED;
	int to_host = dst == MEMORY_PAGEABLE || dst == MEMORY_PINNED;

	if (recorded >= COPY_H2H && recorded < COPY_DEFAULT)
		return (enum copy_direction)recorded;
	if (src == MEMORY_UNKNOWN || dst == MEMORY_UNKNOWN || src == MEMORY_MANAGED ||
		dst == MEMORY_MANAGED)
		return COPY_DEFAULT;
	return from_host ? (to_host ? COPY_H2H : COPY_H2D) : (to_host ? COPY_D2H : COPY_D2D);
}

/* clang-format off */
enum {
	ID, PROCESS, THREAD, PARENT, TYPE, ENTER, EXIT, RESULT, CONTEXT, STREAM, EVENT, KERNEL,
	SITE,
	PTR, BYTES, GRID, BLOCK, DIRECTION, DST_MEMORY, SRC_MEMORY,
};

static const char calls_sql[] =
	"SELECT id, process, thread, parent, type, enter, exit, result, context, stream, event, "
	"kernel, site, ptr, bytes, grid, block, direction, dst_memory, src_memory FROM call";
/* clang-format on */

static int64_t or_else(sqlite3_stmt *row, int column, int64_t otherwise)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL ? otherwise
							       : sqlite3_column_int64(row, column);
}

static int32_t result_of(int64_t result)
{
	return result == (int32_t)result ? (int32_t)result : INT32_MAX;
}

/* The shape of a launch; calls are asked for in order. */
static int read_shape(struct call_reader *reader, uint32_t id, uint32_t *shape)
{
	while (reader->launch > 0 && run_reader_id(&reader->launches, 0) < id)
		reader->launch = run_reader_next(&reader->launches);
	*shape = reader->launch > 0 && run_reader_id(&reader->launches, 0) == id
		? run_reader_id(&reader->launches, 1)
		: 0;
	return reader->launch < 0 ? -1 : 0;
}

static int read_payload(struct call_reader *reader, uint32_t id, uint32_t *number)
{
	struct column *payloads = &reader->calls.run->payloads;
	sqlite3_stmt *row = reader->calls.rows;
	uint32_t next = (uint32_t)payloads->count;
	struct run_payload payload;

	/* Padding is compared as well. */
	memset(&payload, 0, sizeof(payload));
	payload.ptr = sqlite3_column_int64(row, PTR);
	payload.bytes = sqlite3_column_int64(row, BYTES);
	payload.grid = (uint64_t)sqlite3_column_int64(row, GRID);
	payload.block = (uint64_t)sqlite3_column_int64(row, BLOCK);
	payload.result = result_of(sqlite3_column_int64(row, RESULT));
	payload.process = run_reader_id(&reader->calls, PROCESS);
	payload.context = run_reader_id(&reader->calls, CONTEXT);
	payload.event = run_reader_id(&reader->calls, EVENT);
	payload.kernel = run_reader_id(&reader->calls, KERNEL);
	payload.src = (uint8_t)memory_of(sqlite3_column_text(row, SRC_MEMORY));
	payload.dst = (uint8_t)memory_of(sqlite3_column_text(row, DST_MEMORY));
	payload.direction = (uint8_t)direction_of(payload.src, payload.dst,
		or_else(row, DIRECTION, COPY_DEFAULT));
	if (read_shape(reader, id, &payload.shape))
		return -1;
	*number = run_seen_need(&reader->seen, payloads->rows, &payload, sizeof(payload), next);
	if (*number == next) {
		struct run_payload *slot = column_need(payloads, next);

		if (!slot)
			return -1;
		*slot = payload;
	}
	return *number ? 0 : -1;
}

/* A duration that the row has room for. */
static int set_exit(struct run *run, struct run_call *call, uint32_t id, int64_t exit)
{
	int64_t duration;

	call->duration = DURATION_NEVER;
	if (exit == RUN_NEVER)
		return 0;
	if (!__builtin_sub_overflow(exit, call->enter, &duration) && duration >= 0 &&
		duration < DURATION_LONG) {
		call->duration = (uint32_t)duration;
		return 0;
	}
	call->duration = DURATION_LONG;
	return map_set(&run->long_calls, id, (uint64_t)exit);
}

static int read_link(struct call_reader *reader, uint32_t id, uint32_t thread)
{
	struct run *run = reader->calls.run;
	struct run_link *links = (struct run_link *)run->links.rows, *link;

	link = column_need(&run->links, id);
	if (!link)
		return -1;
	link->parent = run_reader_id(&reader->calls, PARENT);
	link->site = run_reader_id(&reader->calls, SITE);
	if (thread >= run->thread_count)
		return 0;
	if (reader->last[thread])
		links[reader->last[thread]].next = id;
	else
		run->thread[thread].first = id;
	reader->last[thread] = id;
	return 0;
}

static int read_call(struct call_reader *reader)
{
	struct run *run = reader->calls.run;
	sqlite3_stmt *row = reader->calls.rows;
	uint32_t id = run_reader_id(&reader->calls, ID), payload;
	int64_t type = sqlite3_column_int64(row, TYPE);
	struct run_call *call = id ? column_need(&run->calls, id) : NULL;

	if (!id || type < 0 || type > UINT16_MAX) {
		reader->calls.wrong = 1;
		return 0;
	}
	if (!call || read_payload(reader, id, &payload))
		return -1;
	*call = (struct run_call){
		.enter = sqlite3_column_int64(row, ENTER),
		.type = (uint16_t)type,
		.kind = (size_t)type < reader->kinds.count ? reader->kinds.kind[type] : KIND_OTHER,
		.flags = CALL_IS_THERE,
		.thread = run_reader_id(&reader->calls, THREAD),
		.stream = run_reader_id(&reader->calls, STREAM),
		.payload = payload,
	};
	if (sqlite3_column_type(row, RESULT) != SQLITE_NULL)
		call->flags |= CALL_RETURNED;
	return set_exit(run, call, id, run_reader_time(&reader->calls, EXIT)) ||
			read_link(reader, id, call->thread)
		? -1
		: 0;
}

static int open_columns(struct call_reader *reader, struct run *run, struct db *db)
{
	int64_t last = run_last_id(db, "call");
	uint64_t most = (uint64_t)last + 1;

	reader->last = calloc(run->thread_count, sizeof(*reader->last));
	return last < 0 || !reader->last ||
			column_open(&run->calls, &run->scratch, sizeof(struct run_call), most) ||
			column_open(&run->links, &run->scratch, sizeof(struct run_link), most) ||
			column_open(&run->payloads, &run->scratch, sizeof(struct run_payload),
				most) ||
			!column_need(&run->payloads, 0) || read_kinds(run, db, &reader->kinds)
		? -1
		: 0;
}

int run_read_calls(struct run *run, struct db *db)
{
	struct call_reader reader = { .launch = 0 };
	int rc = run_reader_open(&reader.calls, run, db, "call", calls_sql) ||
		run_reader_open(&reader.launches, run, db, "launch",
			"SELECT call, shape FROM launch ORDER BY call") ||
		open_columns(&reader, run, db);

	if (!rc)
		reader.launch = run_reader_next(&reader.launches);
	rc = rc || reader.launch < 0 ? -1 : 0;
	while (!rc && (rc = run_reader_next(&reader.calls)) > 0)
		rc = read_call(&reader);
	run_reader_close(&reader.calls);
	run_reader_close(&reader.launches);
	run_seen_release(&reader.seen);
	free(reader.kinds.kind);
	free(reader.last);
	return rc;
}
