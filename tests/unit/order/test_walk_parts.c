/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include "walk.h"

struct visited {
	int64_t call[8];
	size_t count;
};

static int note(void *arg, const struct walk_call *call)
{
	struct visited *visited = arg;

	visited->call[visited->count++] = call->id;
	return 0;
}

/* The parts of a run whose calls are of these processes, as "1-2 3-4": first and last calls. */
static void expect_parts(const char *processes, const char *expected)
{
	struct visited all = { { 0 }, 0 }, apart = { { 0 }, 0 };
	struct walk_part *part;
	struct walk_run *walk_run;
	struct mini m;
	char text[64] = "";
	size_t count;

	mini_init(&m);
	for (int id = 2; id <= 3; id++)
		mini_exec(&m,
			"INSERT INTO process SELECT %d, %d, parent_pid, start, end, closed,"
			" simulated, clock, clock_error, cupti, cupti_error, cupti_version,"
			" driver_version, trace_path FROM process WHERE id = 1",
			id, 100 + id);
	for (size_t i = 0; processes[i]; i++) {
		int64_t call = MINI_CALL(&m, .type = CALL_cuEventCreate, .at = 10.0 * (double)i);

		mini_exec(&m, "UPDATE call SET process = %c WHERE id = %lld", processes[i],
			(long long)call);
	}
	walk_run = walk_open(&m.db);
	assert_non_null(walk_run);
	count = walk_parts(walk_run, &part);
	for (size_t i = 0; i < count; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u-%u", i ? " " : "",
			part[i].first, part[i].end - 1);
		assert_int_equal(walk_part(walk_run, &part[i], note, &apart), 0);
	}
	assert_string_equal(text, expected);
	assert_int_equal(walk(&m.db, note, &all), 0);
	assert_int_equal(all.count, strlen(processes));
	assert_memory_equal(&all, &apart, sizeof(all));
	free(part);
	walk_close(walk_run);
	mini_release(&m);
}

TEST(a_part_has_the_calls_of_a_process)
{
	expect_parts("", "");
	expect_parts("1", "1-1");
	expect_parts("11", "1-2");
	expect_parts("11223", "1-2 3-4 5-5");
}

TEST(processes_among_each_other_are_one_part)
{
	expect_parts("1213", "1-3 4-4");
	expect_parts("1232", "1-1 2-4");
	expect_parts("12312", "1-5");
	expect_parts("123321", "1-6");
}
