/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of a few calls, written down by a test: one process with one device and one context, whose
 * legacy default stream exists; streams, events and calls are added as needed.
 *
 *	struct mini m;
 *	mini_init(&m);
 *	int64_t s = mini_stream(&m, "blocking");
 *	int64_t k = MINI_CALL(&m, .type = CALL_cuLaunchKernel, .at = 10, .stream = s, .runs = { 20,
 *900 });
 *
 * Times are microseconds here and nanoseconds in the database.  Ids start at 1, so that a call
 * submitted as the third is 3.
 */
#ifndef CUFENCE_TESTS_MINIATURE_H
#define CUFENCE_TESTS_MINIATURE_H

#include "unit.h"

#include "analyze.h"
#include "calls.h"
#include "db.h"

enum { MINI_LEGACY = 1, MINI_MAIN = 1 }; /* ids of the legacy stream and of the first thread */

struct mini {
	struct db db;
	int64_t calls, streams, events, ops, sites, kernels;
};

struct mini_call {
	int type;
	double at, until; /* entry, exit; until 0: 2 us after entry */
	int64_t thread;   /* 0: MINI_MAIN */
	int64_t context;  /* 0: the first */
	int64_t stream, event, parent, site, kernel, ptr, bytes;
	int result, never_returned;
	int direction; /* 1 + enum copy_direction, 0: NULL */
	const char *dst, *src;
	uint64_t grid, block;
	double runs[2]; /* its operation, { 0, 0 }: none */
};

static inline int64_t mini_ns(double us)
{
	return (int64_t)(us * 1000);
}

static inline void mini_exec(struct mini *m, const char *format, ...)
{
	char sql[1024];
	va_list values;

	va_start(values, format);
	vsnprintf(sql, sizeof(sql), format, values);
	va_end(values);
	assert_int_equal(db_exec(&m->db, sql), 0);
}

static inline int64_t mini_int(struct mini *m, const char *sql)
{
	return db_int(&m->db, sql, -1);
}

/* First column of the first row as text, valid until the next use; "" for none. */
static inline const char *mini_text(struct mini *m, const char *sql)
{
	static char text[1024];
	sqlite3_stmt *q = db_prepare(&m->db, sql);

	assert_non_null(q);
	text[0] = '\0';
	if (db_step(q) > 0 && sqlite3_column_text(q, 0))
		snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	return text;
}

static inline int64_t mini_thread(struct mini *m)
{
	mini_exec(m, "INSERT INTO thread (process, tid) VALUES (1, 1)");
	return sqlite3_last_insert_rowid(m->db.handle);
}

static inline int64_t mini_stream_in(struct mini *m, int64_t context, const char *kind)
{
	m->streams++;
	mini_exec(m,
		"INSERT INTO stream (id, process, context, handle, kind, cupti_id) "
		"VALUES (%lld, 1, %lld, %lld, '%s', %lld)",
		(long long)m->streams, (long long)context, 0x1000LL + m->streams, kind,
		6LL + m->streams);
	return m->streams;
}

static inline int64_t mini_stream(struct mini *m, const char *kind)
{
	return mini_stream_in(m, 1, kind);
}

static inline int64_t mini_context(struct mini *m, int device)
{
	mini_exec(m,
		"INSERT OR IGNORE INTO device VALUES (1, %d, 'GPU', 132, 2048, 32, 9, 0, 3, "
		"1 << 30)",
		device);
	mini_exec(m,
		"INSERT INTO context (process, number, handle, cupti_id, device, flags) "
		"VALUES (1, 1, 1, 1, %d, 0)",
		device);
	return sqlite3_last_insert_rowid(m->db.handle);
}

static inline int64_t mini_event(struct mini *m)
{
	m->events++;
	mini_exec(m, "INSERT INTO event (id, process, handle, flags) VALUES (%lld, 1, %lld, 0)",
		(long long)m->events, 0x2000LL + m->events);
	return m->events;
}

static inline int64_t mini_kernel(struct mini *m, const char *name)
{
	mini_exec(m, "INSERT INTO kernel (id, process, mangled, name) VALUES (%lld, 1, '%s', '%s')",
		(long long)++m->kernels, name, name);
	return m->kernels;
}

/* All of them at one address: what lies where plays no part. */
static inline int64_t mini_allocation(struct mini *m, const char *memory)
{
	mini_exec(m,
		"INSERT INTO allocation (process, address, bytes, memory) "
		"VALUES (1, 4096, 4096, '%s')",
		memory);
	return sqlite3_last_insert_rowid(m->db.handle);
}

/* The call is about the allocation: role as in table operand. */
static inline void mini_names(struct mini *m, int64_t call, const char *role, int64_t allocation)
{
	mini_exec(m, "INSERT INTO operand VALUES (%lld, '%s', 8, 4096, %lld)", (long long)call,
		role, (long long)allocation);
}

static inline int64_t mini_site(struct mini *m, const char *function, int line)
{
	m->sites++;
	mini_exec(m,
		"INSERT INTO site (id, process, number, function, file, line, text) "
		"VALUES (%lld, 1, %lld, '%s', 'mini.cu', %d, 'mini.cu:%d')",
		(long long)m->sites, (long long)m->sites, function, line, line);
	return m->sites;
}

static inline void mini_init(struct mini *m)
{
	*m = (struct mini){ 0 };
	assert_int_equal(db_create(&m->db, ":memory:"), 0);
	mini_exec(m, "INSERT INTO run (start_unix_ns, tool_version) VALUES (0, 'test')");
	mini_exec(m,
		"INSERT INTO process VALUES (1, 1, 0, 0, 0, 1, 0, 'tsc', 100, 'on', 0, 26, "
		"13000, 'mini')");
	mini_thread(m);
	mini_context(m, 0);
	mini_stream(m, "legacy");
	for (int i = 0; i < CALL_COUNT; i++)
		mini_exec(m, "INSERT INTO call_type VALUES (%d, '%s', '%s', %d)", i,
			call_types[i].name, call_kind_names[call_types[i].kind],
			call_types[i].runtime);
}

static inline void mini_release(struct mini *m)
{
	db_close(&m->db);
}

static inline int64_t mini_or_null(int64_t id)
{
	return id ? id : DB_NULL;
}

static inline void mini_operation(struct mini *m, const struct mini_call *c)
{
	static const char sql[] =
		"INSERT INTO operation (id, process, call, kind, start, end, "
		"device, context, stream, correlation, kernel, bytes, copy_kind) "
		"VALUES (?, 1, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)";
	sqlite3_stmt *q = db_prepare(&m->db, sql);
	int kind = call_types[c->type].kind;

	assert_non_null(q);
	assert_int_equal(db_run(q, "iisiiiIiIII", ++m->ops, m->calls,
				 kind == KIND_LAUNCH                                  ? "kernel"
					 : kind == KIND_SET || kind == KIND_SET_ASYNC ? "memset"
										      : "memcpy",
				 mini_ns(c->runs[0]), mini_ns(c->runs[1]),
				 c->context ? c->context : (int64_t)1, mini_or_null(c->stream),
				 m->calls, mini_or_null(c->kernel), mini_or_null(c->bytes),
				 c->direction ? (int64_t)c->direction - 1 : DB_NULL),
		0);
	sqlite3_finalize(q);
}

static inline int64_t mini_call(struct mini *m, struct mini_call c)
{
	static const char sql[] =
		"INSERT INTO call (id, process, thread, parent, type, enter, exit, "
		"result, context, stream, event, kernel, site, per_thread, ptr, bytes, direction, "
		"grid, block, dst_memory, src_memory) "
		"VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)";
	sqlite3_stmt *q = db_prepare(&m->db, sql);

	assert_non_null(q);
	assert_int_equal(db_run(q, "iiIiiIIiIIIIIIIiiss", ++m->calls,
				 c.thread ? c.thread : (int64_t)MINI_MAIN, mini_or_null(c.parent),
				 (int64_t)c.type, mini_ns(c.at),
				 c.never_returned ? DB_NULL : mini_ns(c.until ? c.until : c.at + 2),
				 c.never_returned ? DB_NULL : (int64_t)c.result,
				 c.context ? c.context : (int64_t)1, mini_or_null(c.stream),
				 mini_or_null(c.event), mini_or_null(c.kernel),
				 mini_or_null(c.site), mini_or_null(c.ptr), mini_or_null(c.bytes),
				 c.direction ? (int64_t)c.direction - 1 : DB_NULL, (int64_t)c.grid,
				 (int64_t)c.block, c.dst, c.src),
		0);
	sqlite3_finalize(q);
	if (c.runs[1] > 0)
		mini_operation(m, &c);
	return m->calls;
}
#define MINI_CALL(m, ...) mini_call(m, (struct mini_call){ __VA_ARGS__ })

/* A test of a miniature m. */
#define MINI_TEST(name) TEST_OF(name, struct mini, m, mini_setup, mini_teardown)

static inline int mini_setup(void **state)
{
	struct mini *m = malloc(sizeof(*m));

	mini_init(m);
	*state = m;
	return 0;
}

/* After whatever files the test writes. */
static inline int mini_setup_late(void **state)
{
	int rc = mini_setup(state);

	mini_exec(*state, "UPDATE run SET start_unix_ns = 9000000000000000000");
	return rc;
}

static inline int mini_teardown(void **state)
{
	mini_release(*state);
	free(*state);
	return 0;
}

#endif
