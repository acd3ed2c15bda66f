/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze_head.h"
#include "annotations.h"
#include "command.h"
#include "early.h"
#include "interrupt.h"
#include "memory.h"
#include "output_name.h"
#include "print.h"
#include "rank.h"
#include "report_request.h"
#include "ring.h"
#include "run.h"
#include "run_folder.h"
#include "run_settings.h"
#include "sampler.h"
#include "store.h"

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

/* A process that could not write its trace has already said so itself. */
static const char *why_nothing(const struct program *program, int simulated)
{
	if (run_is_disabled())
		return "CUFENCE_DISABLE is set";
	if (program->is_static)
		return "it is linked statically, and nothing that it started called CUDA; link it "
		       "dynamically (without -static)";
	if (!simulated && !run_finds_driver())
		return "there is no CUDA driver (libcuda.so.1 was not found), so every CUDA call "
		       "fails; \"cufence run --sim\" has a simulated device";
	return "it never called CUDA, called it only in processes that cleared LD_PRELOAD, or "
	       "could not be traced (see the messages above)";
}

/* With --quiet only the file of --report is written. */
static int show_report(const struct arguments *arguments, const char *database,
	struct report_request *request)
{
	int quiet = option(arguments, "--quiet") != NULL;

	if (!quiet)
		print(stderr, "cufence: wrote %s\n", database);
	if (quiet && !request->path)
		return 0;
	if (report_request_write(request, database, DB_OWN, stderr))
		return -1;
	if (request->path && !quiet)
		print(stderr, "cufence: wrote %s\n", request->path);
	return 0;
}

static void say_nothing_traced(const struct program *program, int simulated, int status)
{
	print(stderr, "cufence: nothing was traced: %s\n", why_nothing(program, simulated));
	if (status)
		print(stderr, "cufence: '%s' exited with status %d: see its own messages\n",
			program->path, status);
}

/* What becomes of a run. */
struct result {
	const struct arguments *arguments;
	const char *database;
	struct run_folder *folder;
	const struct program *program;
	int status; /* of the program; 0 while it runs */
	struct watch *watch;
	const struct annotations *annotations;
	struct report_request *request;
};

static int finish(struct result *result)
{
	const struct arguments *arguments = result->arguments;
	struct run_folder *folder = result->folder;
	struct analyze_input input = { .watch = result->watch, .annotations = result->annotations };
	char *line;
	int rc;

	if (run_folder_list(folder))
		return -1;
	if (!folder->count && folder->running)
		print(stderr, "cufence: nothing was traced so far; load the traces later\n");
	else if (!folder->count)
		say_nothing_traced(result->program, option(arguments, "--sim") != NULL,
			result->status);
	line = command_line(arguments->operand);
	/* Also without traces: an older database must not be mistaken for this run's. */
	interrupt_note(folder->count ? folder->note : NULL);
	if (result->watch)
		watch_finish(result->watch);
	input.trace = folder->trace;
	input.count = folder->count;
	input.command = line;
	input.keeps_traces = !option(arguments, "--without-trace");
	rc = store_build(result->database, &input);
	free(line);
	if (!rc)
		rc = folder->count ? show_report(arguments, result->database, result->request)
				   : store_name_previous(result->database);
	interrupt_note(NULL);
	return rc;
}

/* In a process of its own, while the program goes on. */
static int report_early(void *argument)
{
	struct result *result = argument;

	result->watch = NULL;
	if (!option(result->arguments, "--quiet"))
		fputs("cufence: the program goes on; this is what was recorded so far\n", stderr);
	return finish(result);
}

/* Whether the windows of this run end by themselves. */
static int has_end(const struct run_setting *settings)
{
	for (; settings->name; settings++) {
		const char *value = settings->value ? settings->value : getenv(settings->name);

		if (value && *value &&
			(!strcmp(settings->name, "CUFENCE_DURATION") ||
				!strcmp(settings->name, "CUFENCE_TURNS")))
			return 1;
	}
	return 0;
}

/* What happens while the program runs. */
struct looks {
	struct early early;
	struct sampler sampler;
	struct ring ring;
};

static void look(void *argument, int interrupts)
{
	struct looks *looks = argument;

	sampler_look(&looks->sampler);
	/* A report is of what is there when it begins. */
	if (!looks->early.reporter)
		ring_look(&looks->ring);
	early_look(&looks->early, interrupts);
}

/* Sets the value of a variable unless it has one. */
static void set_default(struct run_setting *setting, const char *name, const char *value)
{
	for (; setting->name; setting++)
		if (!strcmp(setting->name, name) && !setting->value && !getenv(name))
			setting->value = value;
}

/* A sampled process is paused, but for its samples. */
static void set_samples(const struct arguments *arguments, struct run_setting *setting)
{
	if (!option(arguments, "--sample"))
		return;
	set_default(setting, "CUFENCE_PAUSED", "sample");
	if (option(arguments, "--nvtx"))
		set_default(setting, "CUFENCE_TURNS", "1");
}

static int check_looks(const struct arguments *arguments, struct looks *looks)
{
	const char *period = option(arguments, "--sample"), *ring = option(arguments, "--ring");

	if (ring && period) {
		fputs("cufence run: --ring keeps the last part only, --sample some of all parts: "
		      "choose one\n",
			stderr);
		return -1;
	}
	if (ring && !ring_read_size(ring, &looks->ring)) {
		print(stderr,
			"cufence run: --ring is a time or a size, such as 30s or 64M, not '%s'\n",
			ring);
		return -1;
	}
	if (period && option(arguments, "--paused")) {
		fputs("cufence run: --sample starts and stops the recording: leave out --paused\n",
			stderr);
		return -1;
	}
	if (!period || sampler_read_period(period, &looks->sampler.period))
		return 0;
	print(stderr, "cufence run: --sample is a number of seconds, 0.2 or more, not '%s'\n",
		period);
	return -1;
}

/* Checks that the report can be written, before the program runs for long. */
static int check_report(const struct arguments *arguments)
{
	const char *path = option(arguments, "--report"), *format = option(arguments, "--format");
	char *folder;
	int rc;

	if (!path && format && strcmp(format, "text") != 0) {
		print(stderr, "cufence run: --format %s needs a file: add --report FILE\n", format);
		return -1;
	}
	if (!path || !access(path, W_OK))
		return 0;
	folder = errno == ENOENT ? strdup(path) : NULL;
	rc = folder ? access(dirname(folder), W_OK) : -1;
	if (rc)
		print(stderr,
			"cufence run: cannot write '%s': %s; name another file with --report\n",
			path, strerror(errno));
	free(folder);
	return rc;
}

static int check_options(const struct arguments *arguments, const struct program *program)
{
	if (run_check_settings(arguments) || check_report(arguments))
		return -1;
	if (program->obstacle) {
		print(stderr, "cufence: '%s' cannot be traced: %s: %s\n", program->path,
			program->obstacle, program->hint);
		return -1;
	}
	if (program->is_static)
		print(stderr,
			"cufence: '%s' is linked statically: only programs that it starts can be "
			"traced\n",
			program->path);
	if (option(arguments, "--sim") && program->has_static_cudart) {
		print(stderr,
			"cufence: '%s' has NVIDIA's cudart linked in, which runs on a real "
			"device only; for --sim build it with -cudart shared\n",
			program->path);
		return -1;
	}
	return 0;
}

/* The database to write, for the caller to free; NULL after a message. */
static char *database_name(const struct arguments *arguments)
{
	const char *name = option(arguments, "-o");
	struct rank rank = rank_find(rank_of_environment, NULL);

	if (!name && rank.world > 1)
		print(stderr,
			"cufence: rank %lld of %lld writes cufence.db, as others may: "
			"-o cufence-%%r.db gives each its own\n",
			(long long)rank.rank, (long long)rank.world);
	return output_name(name ? name : "cufence.db", "cufence run");
}

static int wants_guard(const struct arguments *arguments)
{
	const char *set = getenv("CUFENCE_GUARD_HOST");

	return option(arguments, "--guard-host") || (set && *set && strcmp(set, "0"));
}

int cmd_run(const struct arguments *arguments)
{
	char *database = database_name(arguments);
	struct run_environment environment = { 0 };
	struct run_setting settings[RUN_SETTINGS + 1];
	struct run_folder folder = { 0 };
	struct watch watch = { .line = -1 };
	struct annotations *annotations = NULL;
	struct report_request request;
	struct program program;
	struct result result = { .arguments = arguments,
		.database = database,
		.folder = &folder,
		.program = &program,
		.watch = &watch,
		.request = &request };
	struct looks looks = { .early = { .report = report_early, .argument = &result } };
	int status = RUN_FAILED, started = 0, keep = option(arguments, "--keep-trace") != NULL;

	if (!database)
		return RUN_FAILED;
	run_warn_environment();
	program_inspect(&program, arguments->operand[0]);
	if (check_options(arguments, &program) || check_looks(arguments, &looks) ||
		report_request_read(arguments, "--report", &request) ||
		read_annotations(arguments, &annotations) || store_check(database) ||
		run_environment_init(&environment, option(arguments, "--sim") != NULL) ||
		(wants_guard(arguments) && run_environment_guard(&environment)) ||
		run_folder_create(&folder, database))
		goto out;
	environment.out = folder.path;
	environment.sanitizer = program.sanitizer;
	run_settings(arguments, settings);
	set_samples(arguments, settings);
	environment.setting = settings;
	/* Nobody else uses a simulated device. */
	environment.watch = environment.simulator ? NULL : &watch;
	result.annotations = annotations;
	looks.early.folder = looks.sampler.folder = looks.ring.folder = folder.path;
	/* Turns of a range are counted by the recorder itself. */
	looks.sampler.find_head = option(arguments, "--nvtx") ? NULL : analyze_find_head;
	/* Turns of samples end no recording. */
	looks.early.ends = !looks.sampler.period && has_end(settings);
	environment.look = look;
	environment.argument = &looks;
	status = run_program(arguments->operand, &environment, &started);
	/* Nothing is sampled any more: the analysis of a window ends. */
	sampler_release(&looks.sampler);
	/* A closed stderr must not keep the database from being written. */
	signal(SIGPIPE, SIG_IGN);
	memory_exit_status = status ? status : RUN_FAILED;
	result.status = status;
	if (early_end(&looks.early)) {
		/* The folder is removed with what is in it. */
		if (run_folder_list(&folder))
			keep = 1;
	} else if (started && finish(&result)) {
		keep = 1;
		/* The program's own failure takes precedence. */
		status = status ? status : RUN_FAILED;
	}
out:
	watch_release(&watch);
	sampler_release(&looks.sampler);
	ring_release(&looks.ring);
	run_folder_release(&folder, keep);
	run_environment_release(&environment);
	program_release(&program);
	annotations_free(annotations);
	free(database);
	return status;
}
