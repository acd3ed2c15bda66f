/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of sources, and the expressions of streams in them. */
#include "miniature.h"

#include <unistd.h>

#include "stream_expression.h"

static void write_file(char path[64], const char *end, const char *text)
{
	FILE *file;
	int fd;

	snprintf(path, 64, "/tmp/cufence.XXXXXX.%s", end);
	fd = mkstemps(path, (int)strlen(end) + 1);
	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* The expression in a line of a text, "" for none. */
static const char *named(struct mini *m, const char *end, const char *text, int64_t line)
{
	static char found[STREAM_EXPRESSION_SIZE];
	struct sources *sources = sources_new(&m->db);
	const struct source *source;
	char path[64];

	write_file(path, end, text);
	*found = 0;
	source = sources_find(sources, path, NULL);
	assert_non_null(source);
	assert_string_equal(source->path, path);
	if (!(strcmp(end, "py") ? stream_expression_compiled(source, line, found)
				: stream_expression_script(source, line, found)))
		*found = 0;
	sources_free(sources);
	unlink(path);
	return found;
}

TEST_OF(launches_and_async_calls_name_a_stream, struct mini, m, mini_setup_late, mini_teardown)
{
	assert_string_equal(named(m, "cu", "scale<<<8, n(2, 3), 0, s[i]>>>(a, b);\n", 1), "s[i]");
	assert_string_equal(named(m, "cu", "f<<<8, 256>>>(a, b, c, d);\n", 1), "");
	assert_string_equal(named(m, "cu",
				    "CHECK(cudaMemcpyAsync(to, from, n * sizeof(*to),\n"
				    "\tcudaMemcpyHostToDevice, this->copies));\n",
				    1),
		"this->copies");
	assert_string_equal(named(m, "cu", "cudaGraphLaunch(step, work);\n", 1), "work");
	assert_string_equal(named(m, "cu", "cudaMemsetAsync(p, 0, n, 0);\n", 1), "");
	assert_string_equal(named(m, "cu", "x();\nf<<<1, 2, 3, s>>>();\n", 1), "");
	assert_string_equal(named(m, "cu", "f<<<1, 2, 3, s", 1), "");
	assert_string_equal(named(m, "cu", "f<<<1, 2, 3, \"`rm`\">>>();", 1), "");
}

static const char script[] =
	"with torch.no_grad(), torch.cuda.stream(outer):\n" /* 1 */
	"    def step(self):\n"
	"        y = x\n" /* 3 */
	"        with torch.cuda.stream(self.copies[i]):\n"
	"            for k in range(3):\n" /* 5 */
	"# no block ends here\n"
	"                z = y.to(device)\n" /* 7 */
	"        return z\n"
	"    use(x)\n" /* 9 */
	"with self.stream:\n"
	"    a = cp.sum(b)\n" /* 11 */
	"with open(stream):\n"
	"    b = c\n" /* 13 */
	"kernel[8, 256, s](a)\n"
	"a.copy_to_host(h, stream=s2)\n" /* 15 */
	"if x:\n"
	"    with torch.cuda.stream(ds): s = b.sort()\n" /* 17 */
	"    x.stream = torch.cuda.stream(ds)\n";

TEST_OF(blocks_and_arguments_of_scripts_name_a_stream, struct mini, m, mini_setup_late,
	mini_teardown)
{
	assert_string_equal(named(m, "py", script, 3), "");
	assert_string_equal(named(m, "py", script, 7), "self.copies[i]");
	assert_string_equal(named(m, "py", script, 8), "");
	assert_string_equal(named(m, "py", script, 9), "outer");
	assert_string_equal(named(m, "py", script, 11), "self.stream");
	assert_string_equal(named(m, "py", script, 13), "");
	assert_string_equal(named(m, "py", script, 14), "s");
	assert_string_equal(named(m, "py", script, 15), "s2");
	assert_string_equal(named(m, "py", script, 17), "ds");
	assert_string_equal(named(m, "py", script, 18), "");
	assert_string_equal(named(m, "py", script, 99), "");
}

static const char *line_of(struct mini *m, const char *path, int line)
{
	static char sql[200];

	snprintf(sql, sizeof(sql), "SELECT coalesce(source_line('%s', %d, NULL), 'none')", path,
		line);
	return mini_text(m, sql);
}

TEST_OF(lines_of_sources_older_than_the_run_are_read, struct mini, m, mini_setup_late,
	mini_teardown)
{
	char path[64], other[64];

	write_file(path, "py", "\tloss =\tf(x) \r\n\nlast");
	write_file(other, "conf", "password\n");
	assert_int_equal(sources_add_function(&m->db, 0), 0);
	assert_string_equal(line_of(m, path, 1), "loss = f(x)");
	assert_string_equal(line_of(m, path, 2), "none");
	assert_string_equal(line_of(m, path, 3), "last");
	assert_string_equal(line_of(m, path, 4), "none");
	assert_string_equal(line_of(m, path, 0), "none");
	assert_string_equal(line_of(m, other, 1), "none");
	assert_int_equal(sources_add_function(&m->db, 1), 0);
	assert_string_equal(line_of(m, path, 1), "none");
	mini_exec(m, "UPDATE run SET start_unix_ns = 1000000000");
	assert_int_equal(sources_add_function(&m->db, 0), 0);
	assert_string_equal(line_of(m, path, 1), "none");
	mini_exec(m, "UPDATE process SET simulated = 1");
	assert_int_equal(sources_add_function(&m->db, 0), 0);
	assert_string_equal(line_of(m, path, 1), "loss = f(x)");
	unlink(path);
	unlink(other);
}
