/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "print.h"
#include "probe_result.h"
#include "run.h"

/* Seconds.  The simulator's time is virtual, so a busy machine may need long for a short probe. */
#define SIMULATED_LIMIT "600"

/* Reads to the end and adds a terminating zero; NULL on failure. */
static char *read_all(FILE *in)
{
	char *text = NULL, block[65536];
	size_t size = 0, got;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	while ((got = fread(block, 1, sizeof(block), in)) > 0)
		fwrite(block, 1, got, out);
	if (fclose(out) || ferror(in)) {
		free(text);
		return NULL;
	}
	return text;
}

static char *read_file(const char *path)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "r") : stdin;
	char *text = in ? read_all(in) : NULL;

	if (!text)
		print(stderr, "cufence: cannot read '%s': %s (\"probe --json\" prints a result)\n",
			path, strerror(errno));
	if (in && in != stdin)
		fclose(in);
	return text;
}

__attribute__((noreturn)) static void become_probe(const char *path, int simulated, int out)
{
	char *folder = simulated ? strdup(path) : NULL;

	if (folder)
		*strrchr(folder, '/') = 0;
	if (dup2(out, STDOUT_FILENO) >= 0 && (!folder || !run_use_simulator(folder)))
		execl(path, path, simulated ? "--limit" : (char *)NULL, SIMULATED_LIMIT,
			(char *)NULL);
	print(stderr, "cufence: cannot run '%s': %s\n", path, strerror(errno));
	_exit(RUN_CANNOT_EXECUTE);
}

/* Returns the probe's output; NULL after a message from it or from here. */
static char *run_probe(const char *path, int simulated)
{
	char *text = NULL;
	int ends[2], status = 0;
	FILE *in;
	pid_t child;

	if (pipe(ends)) {
		print(stderr, "cufence: cannot run '%s': %s\n", path, strerror(errno));
		return NULL;
	}
	fflush(NULL);
	child = fork();
	if (!child)
		become_probe(path, simulated, ends[1]);
	close(ends[1]);
	in = fdopen(ends[0], "r");
	if (in && child > 0)
		text = read_all(in);
	if (in)
		fclose(in);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return text;
	if (child < 0 || WIFSIGNALED(status))
		print(stderr, "cufence: '%s' %s\n", path,
			child < 0 ? strerror(errno) : strsignal(WTERMSIG(status)));
	free(text);
	return NULL;
}

static char *measure(int simulated)
{
	char *path = simulated ? run_find_relative("sim/cufence-probe", "lib/cufence/cufence-probe")
			       : run_find_relative("bin/cufence-probe", NULL);
	char *text;

	if (!path) {
		print(stderr,
			"cufence: there is no cufence-probe next to this program%s: \"make "
			"%sprobe\" builds %s, with the CUDA toolkit (CUDA_HOME)\n",
			simulated ? ", nor a simulated device" : "", simulated ? "simulator " : "",
			simulated ? "both" : "it");
		return NULL;
	}
	text = run_probe(path, simulated);
	free(path);
	return text;
}

static int show(const char *json, const char *other, const char *subject)
{
	struct db db;
	int rc = probe_result_open(&db);

	if (!rc)
		rc = probe_result_add(&db, other, 1, subject);
	if (!rc)
		rc = probe_result_add(&db, json, 0, "what was measured");
	if (!rc)
		rc = probe_result_print(&db, stdout);
	db_close(&db);
	return rc;
}

int cmd_probe(const struct arguments *arguments)
{
	const char *compare = option(arguments, "--compare");
	char *other = compare ? read_file(compare) : strdup(probe_result_h200);
	char *json = NULL;
	int rc = -1;

	if (other)
		json = arguments->count ? read_file(arguments->operand[0])
					: measure(option(arguments, "--sim") != NULL);
	if (json && option(arguments, "--json"))
		rc = fputs(json, stdout) < 0 ? -1 : 0;
	else if (json)
		rc = show(json, other, compare ? compare : "the stored result");
	free(json);
	free(other);
	return rc ? EXIT_TROUBLE : 0;
}
