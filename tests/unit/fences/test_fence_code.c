/* SPDX-License-Identifier: Apache-2.0 */
/* The fence to add, in the words of the program's library and with its own variables. */
#include "program_text.h"

#include <unistd.h>

static const char script[] =
	"def turn():\n"
	"    with torch.cuda.stream(copies):\n"
	"        x.copy_(host)\n" /* 3 */
	"    y = x * 2\n"
	"    with torch.cuda.stream(side):\n"
	"        z = x * 3\n"; /* 6 */

static const char compiled[] =
	"store<<<1, 1, 0, copies>>>(x);\n" /* 1 */
	"load<<<1, 1, 0, work>>>(x);\n"
	"load<<<1, 1, 0, copies>>>(x);\n" /* 3 */
	"load<<<1, 1, 0, work>>>(x); store<<<1, 1, 0, copies>>>(x);\n";

/* A site in that line of the file, below which a call is made by the library, ""; none. */
static int64_t place(struct program *p, const char *path, int line, const char *library)
{
	int64_t site = mini_site(&p->m, "turn", line);

	if (*library)
		mini_exec(&p->m,
			"INSERT INTO frame (site, depth, address, file, function, user) VALUES "
			"(%lld, 0, 0, '/env/site-packages/%s/api.py', 'copy', 0)",
			(long long)site, library);
	mini_exec(&p->m,
		"INSERT INTO frame (site, depth, address, file, line, function, user) VALUES "
		"(%lld, 1, %lld, '%s', %d, 'turn', 1)",
		(long long)site, *library ? INT64_MIN : 0LL, path, line);
	return site;
}

struct lines {
	const char *library;
	int earlier, later;
	int legacy; /* the earlier operation is in the legacy default stream */
};

static void expect(const char *text, struct lines lines, const char *wanted)
{
	char path[] = "/tmp/cufence.XXXXXX.py";
	FILE *file = fdopen(mkstemps(path, 3), "w");
	struct program p;

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	program_begin(&p);
	program_do(&p,
		"UPDATE run SET start_unix_ns = 4000000000000000000;"
		"launch %s store =5-105; launch n2 load =5-105",
		lines.legacy ? "L" : "n1");
	program_do(&p,
		"UPDATE call SET site = %lld WHERE id = 1; "
		"UPDATE call SET site = %lld WHERE id = 2",
		(long long)place(&p, path, lines.earlier, lines.library),
		(long long)place(&p, path, lines.later, lines.library));
	assert_int_equal(analyze(&p.m.db), 0);
	program_expect(&p, "SELECT fix FROM finding_place", wanted);
	mini_release(&p.m);
	unlink(path);
}

TEST(pytorch_has_one_call_for_both_streams)
{
	expect(script, (struct lines){ "torch", 3, 6, 0 },
		"call `side.wait_stream(copies)` after `store` (mini.cu:3) and before `load` "
		"(mini.cu:6), and tensor.record_stream() where the memory is used");
}

TEST(a_line_without_a_stream_uses_the_current_one)
{
	expect(script, (struct lines){ "torch", 3, 4, 0 },
		"call `torch.cuda.current_stream().wait_stream(copies)` after `store` (mini.cu:3) "
		"and before `load` (mini.cu:4), and tensor.record_stream() where the memory is "
		"used");
}

TEST(libraries_have_names_for_the_default_stream)
{
	expect(script, (struct lines){ "torch", 4, 6, 1 },
		"call `side.wait_stream(torch.cuda.default_stream())` after `store` (mini.cu:4) "
		"and before `load` (mini.cu:6), and tensor.record_stream() where the memory is "
		"used");
	expect(script, (struct lines){ "cupy", 4, 6, 1 },
		"call `side.wait_event(cupy.cuda.Stream.null.record())` after `store` (mini.cu:4) "
		"and before `load` (mini.cu:6)");
}

/* A role is no code: which stream is meant stays said in words. */
TEST(a_stream_that_no_line_names_is_described)
{
	expect(script, (struct lines){ "torch", 4, 6, 0 },
		"record an event on stream 8 after `store` (mini.cu:4), let `side` wait for it "
		"before `load` (mini.cu:6); in PyTorch with Stream.wait_stream(), and "
		"tensor.record_stream() where the memory is used");
	expect(script, (struct lines){ "jaxlib", 4, 4, 0 },
		"record an event on stream 8 after `store` (mini.cu:4), let stream 9 wait for it "
		"before `load` (mini.cu:4)");
}

TEST(compiled_programs_have_their_variables)
{
	expect(compiled, (struct lines){ "", 1, 2, 0 },
		"record an event on `copies` after `store` (mini.cu:1), let `work` wait for it "
		"before `load` (mini.cu:2)");
}

TEST(another_launch_of_the_line_has_another_stream)
{
	expect(compiled, (struct lines){ "", 4, 2, 0 },
		"record an event on `copies` after `store` (mini.cu:4), let `work` wait for it "
		"before `load` (mini.cu:2)");
}

/* In two functions the same name may be two streams. */
TEST(a_name_for_both_streams_says_nothing)
{
	expect(compiled, (struct lines){ "", 1, 3, 0 },
		"record an event on stream 8 after `store` (mini.cu:1), let stream 9 wait for it "
		"before `load` (mini.cu:3)");
}
