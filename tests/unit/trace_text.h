/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that a test writes down, loaded: any call of calls.def by name, in the text of
 * doc/FORMAT.md. Times are ns of CLOCK_MONOTONIC.
 */
#ifndef CUFENCE_TESTS_TRACE_TEXT_H
#define CUFENCE_TESTS_TRACE_TEXT_H

#include "unit.h"

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

static inline const struct call_type *trace_text_call(const char *name)
{
	for (unsigned i = 0; i < CALL_COUNT; i++)
		if (!strcmp(call_types[i].name, name))
			return &call_types[i];
	return NULL;
}

/* The value of a field in NAME=VALUE words, else 0; takes the word away. */
static inline const char *trace_text_value(char **word, int count, const char *name)
{
	size_t length = strlen(name);

	for (int i = 0; i < count; i++) {
		if (!word[i] || strncmp(word[i], name, length) || word[i][length] != '=')
			continue;
		name = word[i] + length + 1;
		word[i] = NULL;
		return name;
	}
	return "0x0";
}

/*
 * A line of doc/FORMAT.md, or a call in short: its name and words in any order, which are its
 * columns and fields (else 0), in:CONTEXT (else 1), and @ENTER[+DURATION], else 10 ns after the one
 * before it, for 1 ns.  now: of the last call.
 */
static inline void trace_text_statement(FILE *out, char *text, long *now)
{
	static const char *const columns[] = { "record_flags", "result", "correlation", "site" };
	char name[64], *word[64], *rest = NULL, *first, *all = strdup(text + strspn(text, " "));
	const struct call_type *type;
	int count = 0, context = 1;
	long duration = 1;

	first = strtok_r(text, " ", &rest);
	type = first ? trace_text_call(first) : NULL;
	if (!type) {
		unsigned id = 0;

		/* enter NAME: by its number */
		if (sscanf(all, "enter %63s", name) == 1 && (type = trace_text_call(name)))
			id = (unsigned)(type - call_types);
		if (type)
			fprintf(out, "enter call=%u%s\n", id,
				all + strlen("enter ") + strlen(name));
		else if (first)
			fprintf(out, "%s\n", all);
		free(all);
		return;
	}
	*now += 10;
	for (char *at = strtok_r(NULL, " ", &rest); at; at = strtok_r(NULL, " ", &rest)) {
		assert_true(count < 64);
		if (*at == '@')
			sscanf(at, "@%ld+%ld", now, &duration);
		else if (!strncmp(at, "in:", 3))
			context = atoi(at + 3);
		else
			word[count++] = at;
	}
	fprintf(out, "call %s enter=%ld duration=%ld context=%d", first, *now, duration, context);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		fprintf(out, " %s=%s", columns[i], trace_text_value(word, count, columns[i]));
	fputs(" |", out);
	for (unsigned i = 0; i < type->field_count; i++)
		fprintf(out, " %s=%s", field_names[type->field[i]],
			trace_text_value(word, count, field_names[type->field[i]]));
	for (int i = 0; i < count; i++)
		if (word[i])
			fprintf(out, " %s", word[i]);
	fputc('\n', out);
	free(all);
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
	assert_int_equal(load_traces(&db, paths, 1, NULL, 0), 0);
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
