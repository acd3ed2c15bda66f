/* SPDX-License-Identifier: Apache-2.0 */
/* Where a thread was between two calls: the innermost function that their paths share. */
#include "miniature.h"

#include "shared_frame.h"

static int setup(void **state)
{
	mini_setup(state);
	return shared_frame_add_function(&((struct mini *)*state)->db);
}

/*
 * Frames, the outermost first: function:line, "@" and the line of a loop, "p" if it is a package's.
 * The offset into the code of a script is the line here.
 */
static int64_t path(struct mini *m, int is_script, const char *frames)
{
	int64_t site = mini_site(m, "f", 0);
	int depth = 0, length = 0, function, line;

	for (const char *c = frames; *c; c++)
		depth += *c == ' ';
	for (; sscanf(frames, "%d:%d%n", &function, &line, &length) == 2; depth--) {
		int loop = 0, at = 0;

		frames += length;
		if (sscanf(frames, "@%d%n", &loop, &at) == 1)
			frames += at;
		mini_exec(m,
			"INSERT INTO frame (site, depth, address, function, line, user, loop)"
			" VALUES (%lld, %d, (%d << 63) | (%d << 32) | %d, 'f%d', %d, %d, "
			"nullif(%d, 0))",
			(long long)site, depth, is_script, function, line, function, line,
			*frames != 'p', loop);
		frames += *frames == 'p';
	}
	return site;
}

static void expect(struct mini *m, int64_t from, int64_t to, const char *wanted)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
		"SELECT coalesce((SELECT function || ':' || line FROM frame WHERE site = %lld"
		" AND depth = shared_frame(%lld, %lld)), 'none')",
		(long long)to, (long long)from, (long long)to);
	assert_string_equal(mini_text(m, sql), wanted);
}

TEST_OF(a_function_goes_on, struct mini, m, setup, mini_teardown)
{
	int64_t a = path(m, 1, "1:5@4 2:20"), b = path(m, 1, "1:5@4 2:21"),
		c = path(m, 1, "1:5@4 2:22 3:30");

	expect(m, a, b, "f2:21");
	expect(m, b, c, "f2:22");
	expect(m, c, path(m, 1, "1:6@4 4:40"), "f1:6");
}

/* The step begins again: the loop in f1 made it, not f2. */
TEST_OF(a_loop_calls_a_function_again, struct mini, m, setup, mini_teardown)
{
	int64_t first = path(m, 1, "1:5@4 2:20"), last = path(m, 1, "1:5@4 2:25");

	expect(m, last, first, "f1:5");
	expect(m, first, first, "f1:5");
	/* A loop in f2 itself. */
	first = path(m, 1, "1:5@4 2:20@19");
	last = path(m, 1, "1:5@4 2:25@19");
	expect(m, last, first, "f2:20");
	/* No loop is known: the innermost function of the script's own. */
	first = path(m, 1, "1:5 2:20 3:30p");
	expect(m, first, first, "f2:20");
}

/* f10 calls modules: a trace keeps the innermost frames, which begin at different depths. */
TEST_OF(frames_of_packages_may_be_missing, struct mini, m, setup, mini_teardown)
{
	int64_t deep = path(m, 1, "1:5@4 9:90p 10:100p 9:90p 11:110p 12:120p");
	int64_t flat = path(m, 1, "1:5@4 8:80p 7:70p 9:90p 10:103p 13:130p");

	expect(m, deep, flat, "f10:103");
	expect(m, flat, deep, "f1:5");
}

/* Within one call of a library, the script's line makes both. */
TEST_OF(what_a_library_does_is_the_scripts, struct mini, m, setup, mini_teardown)
{
	int64_t a = path(m, 1, "1:5@4 2:20"), b = path(m, 1, "1:5@4 2:20");

	mini_exec(m,
		"UPDATE frame SET depth = depth + 1 WHERE site IN (%lld, %lld) AND depth = 1;"
		"UPDATE frame SET depth = depth + 1 WHERE site IN (%lld, %lld) AND depth = 0;"
		"INSERT INTO frame (site, depth, address, function, user) VALUES"
		" (%lld, 0, 4096, 'impl', 0), (%lld, 0, 4128, 'impl', 0)",
		(long long)a, (long long)b, (long long)a, (long long)b, (long long)a, (long long)b);
	expect(m, a, b, "f2:20");
	expect(m, b, a, "f1:5");
}

TEST_OF(compiled_code_has_no_known_loops, struct mini, m, setup, mini_teardown)
{
	int64_t a = path(m, 0, "1:5 2:20"), b = path(m, 0, "1:5 2:21");

	expect(m, a, b, "f2:21");
	expect(m, b, a, "none");
	expect(m, a, path(m, 0, "3:5 2:21"), "none");
	expect(m, a, 0, "none");
}
