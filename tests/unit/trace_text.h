/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that a test writes down, loaded: any call of calls.def by name, in the text of
 * doc/FORMAT.md. Times are ns of CLOCK_MONOTONIC.
 */
#ifndef CUFENCE_TESTS_TRACE_TEXT_H
#define CUFENCE_TESTS_TRACE_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "load.h"
#include "text.h"

static const char trace_text_header[] =
	"cufence-trace version=1.0 chunk_size=65536 clock=2 features=0x3 pid=100 parent_pid=1 "
	"start_ns=5000 closed=1 cupti_state=1\n"
	"chunk thread=0\n";

static const char trace_text_start[] =
	"chunk thread=7\n"
	"thread thread=7 text=\"main\"\n"
	"context id=1 cupti_id=3 handle=0xc0 device=0 flags=0\n"
	"calibration ticks=0 realtime_ns=5000 cupti_ns=5000 gap_ticks=0\n";

/* The rows of calls.def as text. */
static inline void trace_text_types(FILE *out)
{
	for (unsigned i = 0; i < CALL_COUNT; i++) {
		const struct call_type *type = &call_types[i];
		fprintf(out, "calltype call=%u kind=%u traits=%u runtime=%u fields=", i, type->kind,
			type->traits, type->runtime);
		for (unsigned j = 0; j < type->field_count; j++)
			fprintf(out, "%s%s", j ? "," : "", field_names[type->field[j]]);
		fprintf(out, " name=\"%s\"\n", type->name);
	}
}

static inline void trace_text_make(const char *body, const char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size), *in;

	fputs(trace_text_header, out);
	trace_text_types(out);
	fputs(trace_text_start, out);
	fputs(body, out);
	fclose(out);
	in = fmemopen(text, size, "r");
	assert_int_equal(text_undump(in, "test", path), 0);
	fclose(in);
	free(text);
}

/* name: of the files, which nobody else may use. */
static inline struct db trace_text_load(const char *name, const char *body)
{
	char trace[64], database[64], *paths[] = { trace };
	struct db db;

	snprintf(trace, sizeof(trace), "%s.cft", name);
	snprintf(database, sizeof(database), "%s.db", name);
	trace_text_make(body, trace);
	unlink(database);
	assert_int_equal(db_create(&db, database), 0);
	assert_int_equal(load_traces(&db, paths, 1, NULL), 0);
	return db;
}

static inline void trace_text_finish(struct db *db, const char *name)
{
	char path[64];

	db_close(db);
	snprintf(path, sizeof(path), "%s.cft", name);
	unlink(path);
	snprintf(path, sizeof(path), "%s.db", name);
	unlink(path);
}

/* The first column of all rows, joined by blanks. */
static inline void trace_text_expect(struct db *db, const char *sql, const char *wanted)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	char got[1024] = "";
	size_t used = 0;

	assert_non_null(q);
	while (db_step(q) > 0) {
		const char *value = (const char *)sqlite3_column_text(q, 0);
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%s", used ? " " : "",
			value ? value : "NULL");
	}
	sqlite3_finalize(q);
	assert_string_equal(got, wanted);
}

#endif
