/* SPDX-License-Identifier: Apache-2.0 */
/* The process that touches no CUDA: runs the groups, watches them and writes the JSON object. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct probe_group *const groups[] = { &probe_memory_group, &probe_copy_group,
	&probe_call_group, &probe_own_group, &probe_first_group, &probe_order_group,
	&probe_queue_group, &probe_hazard_group, &probe_wake_group, &probe_cost_group,
	&probe_peer_group };
#define GROUPS (sizeof(groups) / sizeof(*groups))

/* How long a process may be silent, or a sixth of the limit: the first item makes the context. */
#define SILENCE_SECONDS 10
#define LIMIT_SECONDS 60

static const char *entry_name(const struct probe_group *group, size_t index)
{
	return group->rows ? group->rows[index].name : group->items[index].name;
}

/* --- a group's process ---------------------------------------------------------------------- */

static void measure_entry(const struct probe_group *group, struct bench *bench, size_t index)
{
	if (group->rows)
		probe_matrix(bench, &group->rows[index]);
	else
		group->items[index].measure(group->bare ? NULL : bench, &group->items[index]);
}

/* Measures from the entry on, until the end or until the context is broken. */
__attribute__((noreturn)) static void measure_group(const struct probe_group *group, size_t from,
	bool first)
{
	size_t last = group->single ? from + 1 : group->count;
	struct bench bench;
	cudaError_t error;

	probe_begin(from);
	if (!group->bare) {
		error = bench_open(&bench, group->memory);
		if (error != cudaSuccess) {
			probe_fatal(cudaGetErrorString(error));
			_exit(1);
		}
	}
	if (first)
		probe_system();
	for (size_t i = from; i < last; i++) {
		probe_begin(i);
		measure_entry(group, &bench, i);
		if (!group->bare && !probe_alive())
			_exit(1);
	}
	/* Without destructors: whatever is pending is given up with the process. */
	_exit(0);
}

/* --- the parent ------------------------------------------------------------------------------ */

struct report {
	FILE *lines[3]; /* rows, measured, errors: JSON objects with commas between */
	char *text[3];
	size_t size[3];
	char *system; /* JSON object; NULL: none yet */
	char *fatal;  /* why the first process could not begin */
	struct timespec deadline;
	long silence; /* seconds */
};

/* The state of a running group. */
struct progress {
	size_t entry; /* being measured */
	bool fatal;
};

static void add(struct report *report, int which, const char *object)
{
	fprintf(report->lines[which], "%s\n  %s", ftell(report->lines[which]) ? "," : "", object);
}

static void add_error(struct report *report, const char *name, const char *why)
{
	char *name_text = probe_quote(name), *why_text = probe_quote(why), *object;

	if (asprintf(&object, "{\"name\":%s,\"error\":%s}", name_text, why_text) < 0)
		abort();
	add(report, 2, object);
	free(object);
	free(name_text);
	free(why_text);
}

static void take_line(struct report *report, struct progress *progress, const char *line)
{
	switch (line[0]) {
	case '@':
		progress->entry = strtoul(line + 1, NULL, 10);
		break;
	case 'S':
		free(report->system);
		report->system = strdup(line + 1);
		break;
	case 'F':
		progress->fatal = true;
		free(report->fatal);
		report->fatal = strdup(line + 1);
		break;
	case 'R':
		add(report, 0, line + 1);
		break;
	case 'M':
		add(report, 1, line + 1);
		break;
	case 'E':
		add(report, 2, line + 1);
		break;
	}
}

/* ms until the process has been silent for too long, or all time is used up. */
static int patience(const struct report *report)
{
	struct timespec now;
	long left;

	clock_gettime(CLOCK_MONOTONIC, &now);
	left = (report->deadline.tv_sec - now.tv_sec) * 1000;
	if (left > report->silence * 1000)
		return (int)report->silence * 1000;
	return left > 0 ? (int)left : 0;
}

/* Reads until the process closes its end: whether it did in time. */
static bool follow(struct report *report, struct progress *progress, int fd)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };
	FILE *in = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	bool ended = false;

	if (!in)
		abort();
	/* Lines are written at once, but stdio may hold several: poll only when it has none. */
	setvbuf(in, NULL, _IONBF, 0);
	while (!ended && poll(&event, 1, patience(report)) > 0) {
		ssize_t length = getline(&line, &room, in);
		ended = length <= 0;
		if (ended)
			break;
		line[strcspn(line, "\n")] = 0;
		take_line(report, progress, line);
	}
	free(line);
	fclose(in);
	return ended;
}

/* Runs one process from an entry on; returns the entry to go on with, or SIZE_MAX: give up. */
static size_t run_from(struct report *report, const struct probe_group *group, size_t from)
{
	struct progress progress = { .entry = from };
	int ends[2], status = 0, null;
	char why[64] = "it broke its context";
	bool ended;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		abort();
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(null, STDOUT_FILENO); /* kernels that print */
		probe_output(ends[1]);
		measure_group(group, from, !report->system && !group->bare);
	}
	close(ends[1]);
	ended = child > 0 && follow(report, &progress, ends[0]);
	if (!ended && child > 0)
		kill(child, SIGKILL);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (progress.fatal)
		return SIZE_MAX;
	if (ended && WIFEXITED(status) && !WEXITSTATUS(status))
		return group->single ? from + 1 : group->count;
	if (!ended)
		snprintf(why, sizeof(why), patience(report) ? "it hung" : "out of time");
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "ended by signal %d", WTERMSIG(status));
	add_error(report, entry_name(group, progress.entry), why);
	return progress.entry + 1;
}

static void run_group(struct report *report, const struct probe_group *group)
{
	size_t next = 0;

	while (next < group->count) {
		size_t done = patience(report) ? run_from(report, group, next) : SIZE_MAX;
		if (done != SIZE_MAX) {
			next = done;
			continue;
		}
		for (; next < group->count; next++)
			add_error(report, entry_name(group, next),
				patience(report) && report->fatal ? report->fatal : "out of time");
	}
}

static void open_report(struct report *report, long seconds)
{
	*report = (struct report){ 0 };
	clock_gettime(CLOCK_MONOTONIC, &report->deadline);
	report->deadline.tv_sec += seconds;
	report->silence = seconds / 6 > SILENCE_SECONDS ? seconds / 6 : SILENCE_SECONDS;
	for (int i = 0; i < 3; i++) {
		report->lines[i] = open_memstream(&report->text[i], &report->size[i]);
		if (!report->lines[i])
			abort();
	}
}

static void print_report(struct report *report)
{
	static const char *const members[] = { "rows", "measured", "errors" };

	printf("{\"cufence_probe\":1,\n \"system\":%s", report->system);
	for (int i = 0; i < 3; i++) {
		fflush(report->lines[i]);
		printf(",\n \"%s\":[%s]", members[i], report->text[i]);
	}
	puts("}");
}

static void close_report(struct report *report)
{
	for (int i = 0; i < 3; i++) {
		fclose(report->lines[i]);
		free(report->text[i]);
	}
	free(report->system);
	free(report->fatal);
}

static int run_all(const char *only, long seconds)
{
	struct report report;
	int rc = 0;

	open_report(&report, seconds);
	for (size_t i = 0; i < GROUPS; i++) {
		if (only && strcmp(only, groups[i]->name))
			continue;
		run_group(&report, groups[i]);
		if (!report.system && !groups[i]->bare) {
			fprintf(stderr, "cufence-probe: nothing can be measured: %s\n",
				report.fatal ? report.fatal : "no process could begin");
			rc = 2;
			break;
		}
	}
	if (!rc && !report.system)
		report.system = strdup("null");
	if (!rc)
		print_report(&report);
	close_report(&report);
	return rc;
}

static int usage(void)
{
	fputs("usage: cufence-probe [--limit SECONDS] [--group NAME]\n"
	      "Measures how CUDA synchronizes here; prints a JSON object: see \"cufence probe\".\n"
	      "groups:",
		stderr);
	for (size_t i = 0; i < GROUPS; i++)
		fprintf(stderr, "%s '%s'", i ? "," : "", groups[i]->name);
	fputc('\n', stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	long seconds = LIMIT_SECONDS;

	for (int i = 1; i < argc; i++) {
		if (i + 1 < argc && !strcmp(argv[i], "--group"))
			only = argv[++i];
		else if (i + 1 < argc && !strcmp(argv[i], "--limit"))
			seconds = atol(argv[++i]);
		else
			return usage();
	}
	return run_all(only, seconds);
}
