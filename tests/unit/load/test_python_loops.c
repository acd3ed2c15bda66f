/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines of a Python source are in a loop. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "python_loops.h"

static const char text[] =
	"import cuda\n"
	"def step(x):\n" /* 2 */
	"    y = x\n"
	"    return [\n"
	"        f(y)\n" /* 5 */
	"        for _ in x]\n"
	"\n"
	"async def main():\n" /* 8 */
	"    start()\n"
	"    for epoch in range(3):\n" /* 10 */
	"        for x in load(epoch):  # for\n"
	"            if x:\n" /* 12 */
	"# out of line\n"
	"                step(x,\n" /* 14 */
	"                     2)\n"
	"        stop()\n" /* 16 */
	"        def later():\n"
	"            step(1)\n" /* 18 */
	"    async for x in load():\n"
	"\tstep(x)\n" /* 20: a tab is eight columns */
	"    forward(x)\n"
	"while(True):\n" /* 22 */
	"  main()\n"
	"main()\n"; /* 24 */

static void expect(int first_line, int line, int wanted)
{
	assert_int_equal(python_loop_in(text, first_line, line), wanted);
}

TEST(a_line_is_in_the_innermost_statement_of_its_function)
{
	expect(2, 3, 0);
	expect(2, 6, 6);
	expect(8, 9, 0);
	expect(8, 10, 10);
	expect(8, 11, 11);
	expect(8, 14, 11);
	expect(8, 15, 11);
	expect(8, 16, 10);
	/* Of a function made in a loop, lines are not in that. */
	expect(17, 18, 0);
	expect(8, 20, 19);
	expect(8, 21, 0);
	expect(1, 23, 22);
	expect(1, 24, 0);
	expect(1, 25, 0);
}

TEST(a_file_that_changed_later_is_not_believed)
{
	char path[] = "/tmp/cufence_loops_XXXXXX";
	int fd = mkstemp(path);
	struct script_sources sources = { 0 };
	struct stat about;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fstat(fd, &about), 0);
	close(fd);
	assert_int_equal(python_loop(&sources, path, 0, 1, 23), 22);
	assert_int_equal(python_loop(&sources, path, (about.st_mtim.tv_sec + 1) * 1000000000ll, 1,
				 23),
		22);
	assert_int_equal(python_loop(&sources, path, (about.st_mtim.tv_sec - 1) * 1000000000ll, 1,
				 23),
		0);
	unlink(path);
	assert_int_equal(python_loop(&sources, "/nonexistent.py", 0, 1, 23), 0);
	assert_int_equal(python_loop(&sources, "<stdin>", 0, 1, 23), 0);
	script_sources_release(&sources);
}
