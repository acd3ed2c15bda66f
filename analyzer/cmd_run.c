/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "command.h"
#include "report.h"
#include "run.h"
#include "run_settings.h"
#include "store.h"

/* The private folder the program's processes leave their traces in. */
struct trace_folder {
	char *path;                /* absolute */
	char **trace;
	size_t count;
};

static int folder_create(struct trace_folder *folder, const char *database)
{
	char *template = NULL;

	*folder = (struct trace_folder){ 0 };
	if (asprintf(&template, "%s.traces-XXXXXX", database) < 0)
		return -1;
	if (!mkdtemp(template))
		fprintf(stderr, "cufence: cannot create '%s': %s\n", template, strerror(errno));
	else
		folder->path = realpath(template, NULL);
	free(template);
	return folder->path ? 0 : -1;
}

static int is_trace(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && !strcmp(entry->d_name + length - 4, ".cft");
}

static int folder_list(struct trace_folder *folder)
{
	struct dirent **entries;
	int count = scandir(folder->path, &entries, is_trace, alphasort), rc = 0;

	for (int i = 0; i < count; i++) {
		char **more = array_room(folder->trace, folder->count, sizeof(*more));
		if (more)
			folder->trace = more;
		if (!more || asprintf(&more[folder->count], "%s/%s", folder->path,
				     entries[i]->d_name) < 0)
			rc = -1;
		else
			folder->count++;
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return count < 0 ? -1 : rc;
}

/* What processes leave that were killed while they made their trace; nothing was in it yet. */
static void remove_unfinished(const struct trace_folder *folder)
{
	static const char suffix[] = ".cft.new";
	DIR *entries = opendir(folder->path);
	const struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		size_t length = strlen(entry->d_name);
		if (length >= sizeof(suffix) &&
			!strcmp(entry->d_name + length + 1 - sizeof(suffix), suffix))
			unlinkat(dirfd(entries), entry->d_name, 0);
	}
	if (entries)
		closedir(entries);
}

static void folder_release(struct trace_folder *folder, int keep)
{
	for (size_t i = 0; i < folder->count; i++) {
		if (!keep)
			unlink(folder->trace[i]);
		free(folder->trace[i]);
	}
	if (folder->path)
		remove_unfinished(folder);
	if (keep && folder->count)
		fprintf(stderr, "cufence: the traces are in %s\n", folder->path);
	else if (folder->path)
		rmdir(folder->path);
	free(folder->trace);
	free(folder->path);
}

static char *command_line(char **argv)
{
	char *line = NULL, *longer;

	for (; *argv; argv++) {
		if (asprintf(&longer, "%s%s%s", line ? line : "", line ? " " : "", *argv) < 0)
			longer = NULL;
		free(line);
		line = longer;
		if (!line)
			return NULL;
	}
	return line;
}

static void explain_nothing(const struct program *program)
{
	const char *why = "it never called CUDA, or did so only in processes that cleared "
			  "LD_PRELOAD";

	if (program->is_static)
		why = "it is linked statically, and nothing that it started called CUDA";
	fprintf(stderr, "cufence: nothing was traced: %s\n", why);
}

static int show_report(const char *database)
{
	struct report_options options = { .top = 10, .color = report_color(stderr),
		.width = report_width(stderr) };
	struct db db;
	int rc = db_open(&db, database, 1);

	if (rc)
		return rc;
	rc = report_text(&db, &options, stderr);
	db_close(&db);
	return rc;
}

static int finish(const struct arguments *arguments, const char *database,
	struct trace_folder *folder, const struct program *program)
{
	char *line;
	int rc;

	if (folder_list(folder))
		return -1;
	if (!folder->count)
		explain_nothing(program);
	line = command_line(arguments->operand);
	/* Without traces too: an older database must not pass for this run's. */
	rc = store_build(database, folder->trace, folder->count, line);
	free(line);
	if (rc || !folder->count)
		return rc;
	fprintf(stderr, "cufence: wrote %s\n", database);
	return show_report(database);
}

static int check_options(const struct arguments *arguments, const struct program *program)
{
	if (run_check_settings(arguments))
		return -1;
	if (program->obstacle) {
		fprintf(stderr, "cufence: '%s' cannot be traced: %s: %s\n", program->path,
			program->obstacle, program->hint);
		return -1;
	}
	if (program->is_static)
		fprintf(stderr, "cufence: '%s' is linked statically: only what it starts can be "
			"traced\n", program->path);
	if (option(arguments, "--sim") && program->has_static_cudart) {
		fprintf(stderr, "cufence: '%s' has NVIDIA's cudart linked in, which runs on a real "
			"device only: build it with -cudart shared for --sim\n", program->path);
		return -1;
	}
	return 0;
}

int cmd_run(const struct arguments *arguments)
{
	const char *database = option(arguments, "-o") ? option(arguments, "-o") : "cufence.db";
	struct run_environment environment = { 0 };
	struct run_setting settings[RUN_SETTINGS + 1];
	struct trace_folder folder = { 0 };
	struct program program;
	int status = RUN_FAILED, started = 0, keep = option(arguments, "--keep-trace") != NULL;

	run_warn_environment();
	program_inspect(&program, arguments->operand[0]);
	if (check_options(arguments, &program) || store_check(database) ||
		run_environment_init(&environment, option(arguments, "--sim") != NULL) ||
		folder_create(&folder, database))
		goto out;
	environment.out = folder.path;
	environment.sanitizer = program.sanitizer;
	run_settings(arguments, settings);
	environment.setting = settings;
	status = run_program(arguments->operand, &environment, &started);
	if (started && finish(arguments, database, &folder, &program)) {
		keep = 1;
		/* The program's own failure says more than ours. */
		status = status ? status : RUN_FAILED;
	}
out:
	folder_release(&folder, keep);
	run_environment_release(&environment);
	program_release(&program);
	return status;
}
