/* SPDX-License-Identifier: Apache-2.0 */
/* Reads table call. */
#include <stdlib.h>
#include <string.h>

#include "run_internal.h"

struct call_kinds {
	uint8_t *kind; /* by call_type.id */
	size_t count;
};

static int read_kinds(struct run *run, struct db *db, struct call_kinds *kinds)
{
	struct run_reader reader;
	int rc = run_reader_open(&reader, run, db, "call_type",
		"SELECT id, kind, runtime FROM call_type");

	kinds->kind = rc ? NULL : run_new_rows(db, "call_type", 1, &kinds->count);
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

/* clang-format off */
enum {
	ID, PROCESS, THREAD, PARENT, TYPE, ENTER, EXIT, RESULT, CONTEXT, STREAM, EVENT, KERNEL,
	SITE, PTR, DST, SRC, BYTES, GRID, BLOCK, DIRECTION, DST_MEMORY, SRC_MEMORY,
};

static const char calls_sql[] =
	"SELECT id, process, thread, parent, type, enter, exit, result, context, stream, event, "
	"kernel, site, ptr, dst, src, bytes, grid, block, direction, dst_memory, src_memory "
	"FROM call";
/* clang-format on */

static int is_null(sqlite3_stmt *row, int column)
{
	return sqlite3_column_type(row, column) == SQLITE_NULL;
}

static void read_payload(struct run_reader *reader, struct run_payload *payload)
{
	sqlite3_stmt *row = reader->rows;

	payload->ptr = sqlite3_column_int64(row, PTR);
	payload->bytes = sqlite3_column_int64(row, BYTES);
	payload->has_bytes = !is_null(row, BYTES);
	payload->grid = (uint64_t)sqlite3_column_int64(row, GRID);
	payload->block = (uint64_t)sqlite3_column_int64(row, BLOCK);
	int64_t result = sqlite3_column_int64(row, RESULT);

	payload->result = result == (int32_t)result ? (int32_t)result : INT32_MAX;
	payload->process = run_reader_id(reader, PROCESS);
	payload->context = run_reader_id(reader, CONTEXT);
	payload->event = run_reader_id(reader, EVENT);
	payload->kernel = run_reader_id(reader, KERNEL);
	payload->src = (uint8_t)memory_of(sqlite3_column_text(row, SRC_MEMORY));
	payload->dst = (uint8_t)memory_of(sqlite3_column_text(row, DST_MEMORY));
	payload->pageable = run_pageable(payload, sqlite3_column_int64(row, DST),
		sqlite3_column_int64(row, SRC));
}

static int read_call(struct run_reader *reader, const struct call_kinds *kinds)
{
	sqlite3_stmt *row = reader->rows;
	int64_t type = sqlite3_column_int64(row, TYPE);
	struct run_call_facts facts;

	/* memcmp() compares padding, too. */
	memset(&facts, 0, sizeof(facts));
	facts.id = run_reader_id(reader, ID);
	facts.parent = run_reader_id(reader, PARENT);
	facts.site = run_reader_id(reader, SITE);
	facts.thread = run_reader_id(reader, THREAD);
	facts.stream = run_reader_id(reader, STREAM);
	facts.type = (uint32_t)type;
	facts.enter = sqlite3_column_int64(row, ENTER);
	facts.exit = run_reader_time(reader, EXIT);
	facts.returned = !is_null(row, RESULT);
	facts.direction =
		is_null(row, DIRECTION) ? COPY_DEFAULT : sqlite3_column_int64(row, DIRECTION);
	read_payload(reader, &facts.payload);
	if (!facts.id || type < 0 || type > UINT16_MAX) {
		reader->wrong = 1;
		return 0;
	}
	facts.kind = (size_t)type < kinds->count ? kinds->kind[type] : KIND_OTHER;
	return run_add_call(reader->run, &facts);
}

int run_read_calls(struct run *run, struct db *db)
{
	struct run_reader reader;
	struct call_kinds kinds = { .kind = NULL };
	int rc = run_reader_open(&reader, run, db, "call", calls_sql) || read_kinds(run, db, &kinds)
		? -1
		: 0;

	while (!rc && (rc = run_reader_next(&reader)) > 0)
		rc = read_call(&reader, &kinds);
	run_reader_close(&reader);
	free(kinds.kind);
	return rc;
}
