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

/* The expression in a line of a text for what is called there, NULL: in a script.  "": none. */
static const char *find(struct mini *m, const struct code_called *called, const char *text,
	int64_t line)
{
	static char found[STREAM_EXPRESSION_SIZE];
	struct sources *sources = sources_new(&m->db);
	const struct source *source;
	char path[64];

	write_file(path, called ? "cu" : "py", text);
	*found = 0;
	source = sources_find(sources, path, NULL);
	assert_non_null(source);
	assert_string_equal(source->path, path);
	if (!(called ? stream_expression_compiled(source, line, called, found)
		     : stream_expression_script(source, line, found)))
		*found = 0;
	sources_free(sources);
	unlink(path);
	return found;
}

static const char *launched(struct mini *m, const char *kernel, const char *text)
{
	struct code_called called = { .call = "cudaLaunchKernel" };

	strcpy(called.kernel, kernel);
	return find(m, &called, text, 1);
}

static const char *called(struct mini *m, const char *call, const char *text)
{
	struct code_called called = { .call = "" };

	strcpy(called.call, call);
	return find(m, &called, text, 1);
}

TEST_OF(launches_and_async_calls_name_a_stream, struct mini, m, mini_setup_late, mini_teardown)
{
	assert_string_equal(launched(m, "scale", "scale<<<8, n(2, 3), 0, s[i]>>>(a, b);\n"),
		"s[i]");
	assert_string_equal(launched(m, "f", "f<<<8, 256>>>(a, b, c, d);\n"), "");
	assert_string_equal(launched(m, "f", "n::f<float, g<3>> <<<8, 256, 0, s>>>(a);\n"), "s");
	assert_string_equal(launched(m, "f", "cudaLaunchKernel(f, 1, 32, a, 0, s);\n"), "s");
	assert_string_equal(called(m, "cudaMemcpyAsync",
				    "CHECK(cudaMemcpyAsync(to, from, n * sizeof(*to),\n"
				    "\tcudaMemcpyHostToDevice, this->copies));\n"),
		"this->copies");
	assert_string_equal(called(m, "cudaGraphLaunch", "cudaGraphLaunch(step, work);\n"), "work");
	assert_string_equal(called(m, "cudaMemsetAsync", "cudaMemsetAsync(p, 0, n, 0);\n"), "");
	assert_string_equal(called(m, "cudaMemset", "cudaMemset(p, 0, n);\n"), "");
	assert_string_equal(launched(m, "f", "x();\nf<<<1, 2, 3, s>>>();\n"), "");
	assert_string_equal(launched(m, "f", "f<<<1, 2, 3, s"), "");
	assert_string_equal(launched(m, "f", "f<<<1, 2, 3, \"`rm`\">>>();"), "");
}

/* Another launch or call in the line has another stream. */
TEST_OF(the_name_before_the_arguments_decides, struct mini, m, mini_setup_late, mini_teardown)
{
	static const char line[] =
		"\tr<<<1, 32, 0, a>>>(z); w<<<1, 32, 0, b>>>(x); // w<<<1, 32, 0, "
		"d>>>\n\tw<<<1, 32, 0, c>>>(x);\n";
	static const char copy[] =
		"w<<<1, 32, 0, a>>>(x); cudaMemcpyAsync(y, x, n, kind, b); }\n"
		"cudaMemcpyAsync(z, x, n, kind, c);\n";

	assert_string_equal(launched(m, "w", line), "b");
	assert_string_equal(launched(m, "r", line), "a");
	assert_string_equal(launched(m, "x", line), "");
	assert_string_equal(launched(m, "w", copy), "a");
	assert_string_equal(called(m, "cudaMemcpyAsync", copy), "b");
	assert_string_equal(called(m, "cudaMemsetAsync", copy), "");
	assert_string_equal(launched(m, "w", "for (i = 0; i < n; i++)\n\tw<<<1, 2, 0, s>>>();"),
		"s");
	assert_string_equal(launched(m, "w", "w<<<1, 2, 0, s>>>(); w<<<1, 2, 0, s>>>();"), "s");
	assert_string_equal(launched(m, "w", "w<<<1, 2, 0, s>>>(); w<<<1, 2, 0, t>>>();"), "");
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
	assert_string_equal(find(m, NULL, script, 3), "");
	assert_string_equal(find(m, NULL, script, 7), "self.copies[i]");
	assert_string_equal(find(m, NULL, script, 8), "");
	assert_string_equal(find(m, NULL, script, 9), "outer");
	assert_string_equal(find(m, NULL, script, 11), "self.stream");
	assert_string_equal(find(m, NULL, script, 13), "");
	assert_string_equal(find(m, NULL, script, 14), "s");
	assert_string_equal(find(m, NULL, script, 15), "s2");
	assert_string_equal(find(m, NULL, script, 17), "ds");
	assert_string_equal(find(m, NULL, script, 18), "");
	assert_string_equal(find(m, NULL, script, 99), "");
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
