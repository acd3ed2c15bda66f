/* SPDX-License-Identifier: Apache-2.0 */
/* Waits after which a clock was read: by whom. */
#include "miniature.h"

#include "timers.h"

/* A frame of a reader, innermost first: of compiled code, or of a script. */
struct frame {
	const char *function, *path; /* NULL: not known */
	const char *script;          /* file; NULL: compiled */
	int offset;                  /* in the script */
};

#define CODE(name, file) \
	{ \
		.function = name, .path = file \
	}
#define SCRIPT(path, at) \
	{ \
		.script = path, .offset = at \
	}

/* Modules are told apart by their paths. */
static int64_t module(struct mini *m, const char *path)
{
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT id FROM module WHERE path = '%s'", path);
	if (mini_int(m, sql) < 0)
		mini_exec(m,
			"INSERT INTO module (process, start, end, file_offset, path)"
			" VALUES (1, 0, 1, 0, '%s')",
			path);
	return mini_int(m, sql);
}

#define INTO_FRAME "INSERT INTO frame (site, depth, address, module, function, file, line, user)"

static int64_t reader(struct mini *m, const struct frame *frame)
{
	int64_t site = mini_site(m, "reader", (int)m->sites);

	for (int i = 0; frame[i].function || frame[i].path || frame[i].script; i++) {
		if (frame[i].script)
			mini_exec(m,
				INTO_FRAME
				" VALUES (%lld, %d, -9223372032559808512 + %d, NULL, 'f', '%s',"
				" 1, 1)",
				(long long)site, i, frame[i].offset, frame[i].script);
		else
			mini_exec(m, INTO_FRAME " VALUES (%lld, %d, 1, %lld, '%s', NULL, NULL, 0)",
				(long long)site, i, (long long)module(m, frame[i].path),
				frame[i].function ? frame[i].function : "");
	}
	return site;
}

/* A wait, and the reads after it, us later each. */
static void wait_and_read(struct mini *m, double at, int64_t first, int64_t second)
{
	MINI_CALL(m, .type = CALL_cuStreamSynchronize, .at = at, .until = at + 10, .stream = 1);
	mini_exec(m, "INSERT INTO clock_read VALUES (1, %lld, %lld)", (long long)((at + 11) * 1000),
		(long long)first);
	if (second)
		mini_exec(m, "INSERT INTO clock_read VALUES (1, %lld, %lld)",
			(long long)((at + 12) * 1000), (long long)second);
}

static const struct frame program[] = { CODE("now", "/app"), CODE("main", "/app"), { 0 } };
static const struct frame script[] = { CODE("time_time", "/usr/bin/python3.11"),
	CODE("_PyEval_EvalFrameDefault", "/usr/bin/python3.11"), SCRIPT("/app.py", 20), { 0 } };

/* "wait reader" of each wait that has one. */
static void expect(struct mini *m, const char *wanted)
{
	assert_int_equal(timers_find(&m->db), 0);
	assert_string_equal(mini_text(m,
				    "SELECT coalesce(group_concat(call || ' ' || site, ', '), '')"
				    " FROM (SELECT * FROM wait_clock ORDER BY call)"),
		wanted);
	mini_release(m);
}

static void a_program_reads_for_a_timer(void **state)
{
	struct mini m;

	mini_init(&m);
	wait_and_read(&m, 0, reader(&m, program), 0);
	MINI_CALL(&m, .type = CALL_cuStreamSynchronize, .at = 50, .until = 60, .stream = 1);
	wait_and_read(&m, 100, reader(&m, script), 1);
	expect(&m, "1 1, 3 2");
}

static void cuda_reads_for_itself(void **state)
{
	static const struct frame cuda[] = { CODE("", "/lib/libcuda.so.580"), CODE("main", "/app"),
		{ 0 } };
	struct mini m;

	mini_init(&m);
	wait_and_read(&m, 0, reader(&m, cuda), 0);
	wait_and_read(&m, 100, 1, reader(&m, program));
	expect(&m, "2 2");
}

static void locks_read_clocks_for_themselves(void **state)
{
	static const struct frame lock[] = { CODE("wait_until", "/app"), CODE("main", "/app"),
		{ 0 } };
	static const struct frame gil[] = { CODE("take_gil", "/lib/libpython3.11.so"),
		CODE("PyEval_RestoreThread", "/lib/libpython3.11.so"), CODE("f", "/torch.so"),
		SCRIPT("/app.py", 10), { 0 } };
	/* The names of a stripped interpreter: it was called by an extension. */
	static const struct frame unnamed[] = { CODE("", "/usr/bin/python3.11"),
		CODE("", "/usr/bin/python3.11"), CODE("f", "/torch.so"), SCRIPT("/app.py", 10),
		{ 0 } };
	static const struct frame queue[] = { CODE("time_monotonic", "/usr/bin/python3.11"),
		CODE("_PyEval_EvalFrameDefault", "/usr/bin/python3.11"),
		SCRIPT("/usr/lib/python3.11/queue.py", 30), { 0 } };
	struct mini m;

	mini_init(&m);
	wait_and_read(&m, 0, reader(&m, lock), 0);
	wait_and_read(&m, 100, reader(&m, gil), 0);
	wait_and_read(&m, 200, reader(&m, unnamed), 0);
	wait_and_read(&m, 300, reader(&m, queue), 0);
	/* The program may follow. */
	wait_and_read(&m, 400, 2, reader(&m, script));
	expect(&m, "5 5");
}

/* lock.acquire(timeout=...) of a stripped interpreter: only the first of its reads has a name. */
static void after_a_lock_its_place_is_the_locks(void **state)
{
	static const struct frame first[] = { CODE("_PyDeadline_Init", "/usr/bin/python3.11"),
		CODE("_PyEval_EvalFrameDefault", "/usr/bin/python3.11"), SCRIPT("/app.py", 20),
		{ 0 } };
	static const struct frame second[] = { CODE("", "/usr/bin/python3.11"),
		CODE("_PyEval_EvalFrameDefault", "/usr/bin/python3.11"), SCRIPT("/app.py", 20),
		{ 0 } };
	struct mini m;

	mini_init(&m);
	reader(&m, first);
	reader(&m, second);
	wait_and_read(&m, 0, 1, 2);
	wait_and_read(&m, 100, 2, 0);
	expect(&m, "2 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_reads_for_a_timer),
		cmocka_unit_test(cuda_reads_for_itself),
		cmocka_unit_test(locks_read_clocks_for_themselves),
		cmocka_unit_test(after_a_lock_its_place_is_the_locks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
