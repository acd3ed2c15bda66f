/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a run, and that they hold what the tables do. */
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>

#include <unistd.h>

#include "load.h"
#include "miniature.h"
#include "run_build.h"
#include "text.h"
#include "work.h"

/* Half of them in memory, half in the file. */
MINI_TEST(rows_of_all_chunks_are_one_array)
{
	uint64_t most = 4 * COLUMN_CHUNK + 10;
	struct scratch scratch;
	struct column column;
	uint32_t *rows;

	assert_int_equal(scratch_open(&scratch), 0);
	scratch.memory = SCRATCH_MEMORY_BYTES - 2 * COLUMN_CHUNK * sizeof(*rows);
	assert_int_equal(column_open(&column, &scratch, sizeof(*rows), most), 0);
	rows = (uint32_t *)column.rows;
	for (uint32_t i = 0; i < most; i += 1000) {
		assert_ptr_equal(column_need(&column, i), &rows[i]);
		rows[i] = i + 1;
	}
	assert_non_null(column_need(&column, most - 1));
	assert_int_equal(column.count, most);
	assert_true(scratch.size >= (off_t)(2 * COLUMN_CHUNK * sizeof(*rows)));
	for (uint32_t i = 0; i < most; i++)
		assert_int_equal(rows[i], i % 1000 ? 0 : i + 1);
	column_close(&column);
	scratch_close(&scratch);
}

MINI_TEST(a_column_ends_where_it_was_to_end)
{
	struct scratch scratch;
	struct column column;

	assert_int_equal(scratch_open(&scratch), 0);
	assert_int_equal(column_open(&column, &scratch, 8, 10), 0);
	assert_non_null(column_need(&column, 9));
	assert_null(column_need(&column, 10));
	column_close(&column);
	scratch_close(&scratch);
}

struct pair {
	uint32_t key, was;
};

static int by_key(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

MINI_TEST(equal_rows_stay_as_they_were)
{
	struct scratch scratch;
	struct column column;
	struct pair *rows;

	assert_int_equal(scratch_open(&scratch), 0);
	assert_int_equal(column_open(&column, &scratch, sizeof(*rows), 1000), 0);
	rows = (struct pair *)column.rows;
	for (uint32_t i = 0; i < 1000; i++) {
		assert_non_null(column_need(&column, i));
		rows[i] = (struct pair){ i * 7919 % 31, i };
	}
	column_sort(&column, by_key);
	for (uint32_t i = 1; i < 1000; i++)
		assert_true(rows[i - 1].key < rows[i].key ||
			(rows[i - 1].key == rows[i].key && rows[i - 1].was < rows[i].was));
	column_close(&column);
	scratch_close(&scratch);
}

MINI_TEST(without_a_scratch_folder_there_is_no_run)
{
	char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1);
	setenv("TMPDIR", "/does/not/exist", 1);
	assert_null(run_open(&m->db));
	assert_int_equal(analyze(&m->db), -1);
	if (before)
		setenv("TMPDIR", before, 1);
	else
		unsetenv("TMPDIR");
	free(before);
	assert_int_equal(analyze(&m->db), 0);
}

/* A limit on files stands for a full disk, calls that are missing for those of a large run. */
MINI_TEST(without_scratch_space_there_is_no_run)
{
	struct rlimit before, little;

	m->calls = SCRATCH_MEMORY_BYTES / sizeof(struct run_call);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	little = (struct rlimit){ 4096, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
	assert_null(run_open(&m->db));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(analyze(&m->db), 0);
}

MINI_TEST(ids_may_have_holes)
{
	int64_t far = (int64_t)COLUMN_CHUNK + 5;
	struct run *run;

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .runs = { 10, 20 });
	m->calls = 4;
	m->ops = 6;
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 2, .runs = { 20, 30 });
	m->calls = far - 1;
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 3);
	run = run_open(&m->db);
	assert_non_null(run);
	assert_int_equal(run_call_end(run), far + 1);
	assert_non_null(run_call(run, 1));
	for (int64_t id = 2; id < 5; id++)
		assert_null(run_call(run, id));
	assert_int_equal(run_call(run, 5)->enter, 2000);
	assert_int_equal(run_call(run, 5)->last_work, 7);
	assert_null(run_call(run, 6));
	assert_int_equal(run_call(run, far)->kind, KIND_CONTEXT_SYNC);
	assert_null(run_call(run, far + 1));
	assert_null(run_call(run, 0));
	assert_null(run_call(run, -1));
	assert_null(run_work(run, 2));
	assert_int_equal(run_work(run, 7)->call, 5);
	/* A thread's calls follow each other. */
	assert_int_equal(run->thread[MINI_MAIN].first, 1);
	assert_int_equal(run_link(run, 1)->next, 5);
	assert_int_equal(run_link(run, 5)->next, far);
	assert_int_equal(run_link(run, far)->next, 0);
	run_close(run);
}

MINI_TEST(null_is_told_from_nothing)
{
	struct run *run;

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .never_returned = 1);
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 2, .until = 2);
	mini_exec(m,
		"INSERT INTO operation (id, process, call, kind, start, end, device, correlation) "
		"VALUES (1, 1, 1, 'kernel', NULL, NULL, 0, 1), (2, 1, 1, 'kernel', 5, NULL, 0, 1), "
		"(3, 1, NULL, 'kernel', NULL, 7, 0, 1)");
	run = run_open(&m->db);
	assert_non_null(run);
	assert_int_equal(run_exit(run, run_call(run, 1), 1), RUN_NEVER);
	assert_false(run_call(run, 1)->flags & CALL_RETURNED);
	assert_int_equal(run_exit(run, run_call(run, 2), 2), 2000);
	assert_true(run_call(run, 2)->flags & CALL_RETURNED);
	assert_int_equal(run_call(run, 2)->stream, 0);
	assert_int_equal(run_payload(run, run_call(run, 2))->direction, COPY_DEFAULT);
	assert_int_equal(run_work(run, 1)->start, RUN_NEVER);
	assert_int_equal(run_end(run, run_work(run, 1), 1), RUN_NEVER);
	assert_int_equal(run_work(run, 2)->start, 5);
	assert_int_equal(run_end(run, run_work(run, 2), 2), RUN_NEVER);
	assert_int_equal(run_end(run, run_work(run, 3), 3), 7);
	assert_int_equal(run_work(run, 3)->call, 0);
	/* The operations of a call are a ring. */
	assert_int_equal(run_call(run, 1)->last_work, 2);
	assert_int_equal(run_work(run, 2)->next, 1);
	assert_int_equal(run_work(run, 1)->next, 2);
	run_close(run);
}

/* Longer than 32 bits have room for, and just as long. */
MINI_TEST(calls_and_operations_may_last)
{
	static const int64_t lengths[] = { DURATION_LONG - 1, DURATION_LONG, DURATION_NEVER,
		(int64_t)1 << 40 };
	struct run *run;

	for (int i = 0; i < 4; i++) {
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1, .runs = { 1, 2 });
		mini_exec(m, "UPDATE call SET exit = enter + %lld WHERE id = %d",
			(long long)lengths[i], i + 1);
		mini_exec(m, "UPDATE operation SET end = start + %lld WHERE id = %d",
			(long long)lengths[i], i + 1);
	}
	run = run_open(&m->db);
	assert_non_null(run);
	for (int i = 1; i <= 4; i++) {
		assert_int_equal(run_exit(run, run_call(run, i), i),
			run_call(run, i)->enter + lengths[i - 1]);
		assert_int_equal(run_end(run, run_work(run, i), i),
			run_work(run, i)->start + lengths[i - 1]);
	}
	run_close(run);
}

MINI_TEST(equal_calls_share_a_payload)
{
	int64_t kernel = mini_kernel(m, "k"), other = mini_kernel(m, "l");
	struct run *run;

	for (int i = 0; i < 1000; i++)
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = i, .kernel = i % 2 ? kernel : other,
			.grid = 7);
	run = run_open(&m->db);
	assert_non_null(run);
	assert_int_equal(run->payloads.count, 3);
	for (int i = 1; i <= 1000; i++) {
		const struct run_payload *payload = run_payload(run, run_call(run, i));

		assert_int_equal(payload->kernel, i % 2 ? other : kernel);
		assert_int_equal(payload->grid, 7);
		assert_int_equal(payload->process, 1);
	}
	run_close(run);
}

/* Rows of a table that has no order by itself. */
MINI_TEST(tables_are_in_order_of_call)
{
	int64_t memory = mini_allocation(m, "managed"), other = mini_allocation(m, "async");
	const struct run_operand *operand;
	struct run_cursor cursor;
	struct run *run;

	for (int i = 0; i < 5; i++)
		MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = i);
	mini_names(m, 4, "word", memory);
	mini_names(m, 2, "dst", other);
	mini_names(m, 4, "node", other);
	mini_exec(m, "UPDATE allocation SET created = 3, freed = 5 WHERE id = %lld",
		(long long)other);
	run = run_open(&m->db);
	assert_non_null(run);
	assert_null(run_find(&run->operands, 3));
	operand = run_find(&run->operands, 4);
	assert_int_equal(operand[0].role, OPERAND_WORD);
	assert_int_equal(operand[0].allocation, memory);
	assert_int_equal(operand[1].role, OPERAND_NODE);
	assert_ptr_equal(operand + 2, run_rows_end(&run->operands));
	cursor = (struct run_cursor){ &run->operands, 0 };
	assert_null(run_cursor_at(&cursor, 1));
	assert_int_equal(((const struct run_operand *)run_cursor_at(&cursor, 2))->role,
		OPERAND_DST);
	assert_null(run_cursor_at(&cursor, 3));
	assert_ptr_equal(run_cursor_at(&cursor, 4), operand);
	assert_null(run_cursor_at(&cursor, 5));
	assert_int_equal(run_allocation(run, memory)->kind, ALLOCATION_MANAGED);
	assert_int_equal(((const struct run_ended *)run_find(&run->freed, 5))->what, other);
	assert_int_equal(((const struct run_ended *)run_find(&run->allocated, 3))->what, other);
	run_close(run);
}

MINI_TEST(an_impossible_id_is_refused)
{
	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 1);
	mini_exec(m, "UPDATE call SET stream = -3");
	assert_null(run_open(&m->db));
	mini_exec(m, "UPDATE call SET stream = 1 << 32");
	assert_null(run_open(&m->db));
	mini_exec(m, "UPDATE call SET stream = 1, id = 1 << 40");
	assert_null(run_open(&m->db));
}

/* Appends a golden file; the table of calls, which all share, comes after its first chunk. */
static void copy_golden(const char *name, FILE *out)
{
	char path[512], *line = NULL;
	size_t room = 0;
	int chunks = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/../golden/%s", getenv("TEST_DATA"), name);
	in = fopen(path, "r");
	assert_non_null(in);
	while (getline(&line, &room, in) > 0) {
		fputs(line, out);
		if (!strncmp(line, "chunk ", 6) && !chunks++)
			copy_golden("calls.table", out);
	}
	free(line);
	fclose(in);
}

/* A golden trace as a file of its own, to be unlinked. */
static void undump(const char *name, char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *both = open_memstream(&text, &size), *in;

	copy_golden(name, both);
	fclose(both);
	in = fmemopen(text, size, "r");
	close(mkstemp(path));
	assert_int_equal(text_undump(in, name, path), 0);
	fclose(in);
	free(text);
}

static void expect_same(const struct column *a, const struct column *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->row_size, b->row_size);
	assert_memory_equal(a->rows, b->rows, a->count * a->row_size);
}

static void load_with_columns(struct db *db, char *path, uint64_t bytes)
{
	struct run_room room = run_room_of(bytes, 1);

	assert_int_equal(db_create(db, DB_MEMORY), 0);
	db->run = run_new(&room);
	assert_non_null(db->run);
	assert_int_equal(load_traces(db, &path, 1, NULL, 0), 0);
}

TEST(load_fills_what_the_database_says)
{
	static const char *const names[] = { "copy_in_pipeline.txt", "graph_pipeline.txt",
		"pool_reuse.txt", "pageable_async_upload.txt", "peer_copy_per_step.txt",
		"polling_query.txt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		char path[] = "/tmp/cufence-model.XXXXXX";
		struct run *run;
		struct db db;

		undump(names[i], path);
		load_with_columns(&db, path, 16 << 20);
		assert_int_equal(work_make(&db), 0);
		assert_int_equal(run_complete(db.run, &db), 0);
		run = run_open(&db);
		assert_non_null(run);
		assert_true(run->calls.count > 10 && run->works.count > 1);
		expect_same(&run->calls, &db.run->calls);
		expect_same(&run->links, &db.run->links);
		expect_same(&run->payloads, &db.run->payloads);
		expect_same(&run->works, &db.run->works);
		expect_same(&run->operands, &db.run->operands);
		expect_same(&run->launches, &db.run->launches);
		expect_same(&run->overheads, &db.run->overheads);
		assert_int_equal(run->where_count, db.run->where_count);
		assert_memory_equal(run->where, db.run->where,
			run->where_count * sizeof(*run->where));
		run_close(run);
		run_close(db.run);
		db_close(&db);
		unlink(path);
	}
}

/* Launches of graphs may name more than a trace has bytes for. */
TEST(what_has_no_room_is_read_back)
{
	char path[] = "/tmp/cufence-model.XXXXXX";
	struct db db;

	undump("copy_in_pipeline.txt", path);
	load_with_columns(&db, path, 64);
	assert_int_equal(run_complete(db.run, &db), 1);
	assert_int_equal(analyze(&db), 0);
	assert_true(db_int(&db, "SELECT count(*) FROM dependency", 0) > 0);
	db_close(&db);
	unlink(path);
}
