/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cufence fix: runs a program with the fixes of a file, which "cufence try --keep" wrote.  It
 * becomes the program: signals, output and exit status are the program's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "fix_file.h"
#include "memory.h"
#include "print.h"
#include "run.h"

/* Reads it as the library will, which would let the program run as it is. */
static int check_file(const char *path)
{
	struct fix_file *file = xcalloc(1, sizeof(*file));
	char *text = xcalloc(1, FIX_FILE_BYTES);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, FIX_FILE_BYTES);
	const char *wrong = n < 0     ? strerror(errno)
		: n == FIX_FILE_BYTES ? "it is too large"
				      : NULL;
	unsigned line = 0;

	if (!wrong)
		wrong = fix_file_read(file, text, &line);
	if (wrong && line)
		print(stderr, "cufence fix: '%s' line %u: %s\n", path, line, wrong);
	else if (wrong)
		print(stderr, "cufence fix: cannot read '%s': %s\n", path, wrong);
	if (fd >= 0)
		close(fd);
	free(text);
	free(file);
	return wrong ? -1 : 0;
}

/* An absolute name for the log: the program may change its folder before its end. */
static char *absolute(const char *path)
{
	char folder[PATH_MAX];

	if (!path || *path == '/' || !getcwd(folder, sizeof(folder)))
		return path ? xstrdup(path) : NULL;
	return xprintf("%s/%s", folder, path);
}

int cmd_fix(const struct arguments *arguments)
{
	const char *path = arguments->operand[0];
	char **command = arguments->operand + 1;
	char *log = absolute(option(arguments, "--log")), *file = realpath(path, NULL);
	struct run_setting settings[] = { { "CUFENCE_FIX", file }, { "CUFENCE_FIX_LOG", log },
		{ 0 } };
	struct run_environment environment;
	struct program program;
	int status = RUN_FAILED;

	if (!*command) {
		print(stderr, "cufence fix: the command to run is missing: add -- CMD...\n");
	} else if (!check_file(path) &&
		!run_environment_alone(&environment, "libcufence-fix.so",
			option(arguments, "--sim") != NULL)) {
		program_inspect(&program, command[0]);
		environment.sanitizer = program.sanitizer;
		environment.setting = settings;
		if (program.obstacle)
			print(stderr, "cufence fix: %s\n", program.obstacle);
		else
			status = run_become(command, &environment);
		program_release(&program);
		run_environment_release(&environment);
	}
	free(file);
	free(log);
	return status;
}
