/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the analysis of synthetic traces (analyze_cases.c).  A line for each has the processor's
 * seconds by part, calls a second, the most memory, anonymous and all that is resident (with the
 * columns' file and the traces), and nanoseconds per call at half of the calls and at all of them.
 * Exits 1 when a bar is missed.
 *
 *	analyze [--large] [--part N] [--folder FOLDER] [CASE...]
 *
 * --large: the plain ones, of 10 million calls.  --part: an Nth of the calls of each.  A name's
 * beginning chooses.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyze.h"
#include "analyze_cases.h"
#include "db.h"
#include "directions.h"
#include "kernel_names.h"
#include "load.h"
#include "run_build.h"
#include "symbols.h"

enum { BAR = 250000, BAR_LARGE = 150000, LARGE = 10, ANONYMOUS_MOST_MIB = 2048 };
/* One that takes longer has missed its bar, however many calls it has. */
enum { SECONDS_MOST = 300 };

struct result {
	uint64_t calls, operations;
	double load, seconds; /* of the processor */
	struct analysis_times times;
	long anonymous, resident; /* KiB */
};

struct options {
	const char *folder;
	unsigned part;
	int large;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long anonymous_kib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	long kib = 0;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %ld", &kib) == 1)
			break;
	if (status)
		fclose(status);
	return kib;
}

/* The most anonymous memory, looked at every 5 ms. */
static _Atomic long most_anonymous;

static void *watch(void *arg)
{
	for (;;) {
		long kib = anonymous_kib();

		if (kib > most_anonymous)
			most_anonymous = kib;
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return arg;
}

static double processor_seconds(const struct rusage *used)
{
	return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
		1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

static double sum_of(const struct analysis_times *times)
{
	return times->columns + times->order + times->evidence + times->fences + times->rules +
		times->write;
}

/* The parts were taken by the clock: each gets its share of the processor's time. */
static void scale(struct result *result)
{
	double by = result->seconds / (result->load + sum_of(&result->times));
	struct analysis_times *times = &result->times;

	result->load = (result->load + times->columns) * by;
	times->order *= by;
	times->evidence *= by;
	times->fences *= by;
	times->rules *= by;
	times->write *= by;
}

static int analyze_trace(char *trace, const char *database, struct result *result)
{
	struct stat stat_of;
	struct run_room room;
	struct rusage used;
	pthread_t watcher;
	struct db db;
	double start = now();
	int rc;

	if (stat(trace, &stat_of) || pthread_create(&watcher, NULL, watch, NULL) ||
		db_create(&db, database))
		return -1;
	room = run_room_of((uint64_t)stat_of.st_size);
	db.run = run_new(&room);
	rc = !db.run || load_traces(&db, &trace, 1, NULL, 0) || symbols_resolve(&db) ||
		kernel_names_resolve(&db) || directions_resolve(&db);
	result->load = now() - start;
	rc = rc || analyze_timed(&db, &result->times);
	getrusage(RUSAGE_SELF, &used);
	result->seconds = processor_seconds(&used);
	result->resident = used.ru_maxrss;
	result->anonymous = most_anonymous;
	result->calls = (uint64_t)db_int(&db, "SELECT max(id) FROM call", 0);
	result->operations = (uint64_t)db_int(&db, "SELECT max(id) FROM operation", 0);
	run_close(db.run);
	db_close(&db);
	scale(result);
	return rc;
}

/* In a process of its own, whose memory is its own; 0, or -1: it failed or took too long. */
static int measure(const struct bench_case *bench, uint64_t calls, unsigned things,
	const struct options *options, struct result *result)
{
	char folder[256], trace[300], database[300];
	int ends[2], status, rc = -1;
	pid_t child;

	snprintf(folder, sizeof(folder), "%s/cufence-analyze.XXXXXX", options->folder);
	if (!mkdtemp(folder) || pipe(ends))
		return -1;
	snprintf(trace, sizeof(trace), "%s/trace.cft", folder);
	snprintf(database, sizeof(database), "%s/run.db", folder);
	fflush(stdout);
	child = fork();
	if (!child) {
		pid_t maker = fork();

		if (!maker) {
			bench->make(trace, calls, things);
			_exit(0);
		}
		if (maker < 0 || waitpid(maker, &status, 0) < 0 || status)
			_exit(2);
		alarm(SECONDS_MOST);
		if (!analyze_trace(trace, database, result) &&
			write(ends[1], result, sizeof(*result)) == sizeof(*result))
			_exit(0);
		_exit(2);
	}
	close(ends[1]);
	if (child > 0 && waitpid(child, &status, 0) > 0 && !status &&
		read(ends[0], result, sizeof(*result)) == sizeof(*result))
		rc = 0;
	close(ends[0]);
	unlink(trace);
	unlink(database);
	rmdir(folder);
	return rc;
}

static double ns_per_call(const struct result *result)
{
	return 1e9 * result->seconds / (double)result->calls;
}

static void print_line(const struct bench_case *bench, const struct result *half,
	const struct result *whole)
{
	const struct analysis_times *times = &whole->times;

	printf("%-34s %9llu %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f "
	       "%7.2f %8.0f %6ld %6ld %7.0f %7.0f\n",
		bench->name, (unsigned long long)whole->calls, whole->load, times->order,
		times->evidence, times->fences, times->rules, times->write, whole->seconds,
		(double)whole->calls / whole->seconds, whole->anonymous / 1024,
		whole->resident / 1024, half->seconds ? ns_per_call(half) : 0, ns_per_call(whole));
}

/* 1 after a message: a bar is missed. */
static int judge(const struct bench_case *bench, const struct result *whole, double bar)
{
	double rate = (double)whole->calls / whole->seconds;
	double detected = (double)whole->operations / whole->times.fences;
	int missed = 0;

	if (rate < bar / bench->slower)
		missed = printf("  missed: %s: %.0f calls a second, %.0f wanted\n", bench->name,
			rate, bar / bench->slower);
	if (bench->detector && detected < bench->detector)
		missed = printf("  missed: %s: %.0f operations a second in fences, %.0f wanted\n",
			bench->name, detected, bench->detector);
	if (whole->anonymous / 1024 > ANONYMOUS_MOST_MIB)
		missed = printf("  missed: %s: %ld MiB of anonymous memory, %d wanted\n",
			bench->name, whole->anonymous / 1024, ANONYMOUS_MOST_MIB);
	return missed > 0;
}

static int run_case(const struct bench_case *bench, const struct options *options)
{
	uint64_t calls = bench->calls / options->part * (options->large ? LARGE : 1);
	unsigned things = bench->slower > 1 ? bench->things / options->part : bench->things;
	struct result half = { 0 }, whole = { 0 };

	if (bench->slower > 1 ? measure(bench, calls / 2, things / 2, options, &half)
			      : measure(bench, calls / 2, things, options, &half))
		half = (struct result){ 0 };
	if (!measure(bench, calls, things, options, &whole)) {
		print_line(bench, &half, &whole);
		return judge(bench, &whole, options->large ? BAR_LARGE : BAR);
	}
	printf("%-34s %9llu failed, or took more than %d s; half of it: %.2f s\n", bench->name,
		(unsigned long long)calls, SECONDS_MOST, half.seconds);
	return 1;
}

static int is_wanted(const struct bench_case *bench, char *const *name, int names)
{
	for (int i = 0; i < names; i++)
		if (!strncmp(bench->name, name[i], strlen(name[i])))
			return 1;
	return !names;
}

int main(int argc, char **argv)
{
	static const struct option known[] = { { "large", no_argument, NULL, 'l' },
		{ "part", required_argument, NULL, 'p' },
		{ "folder", required_argument, NULL, 'f' }, { 0 } };
	struct options options = { "/var/tmp", 1, 0 };
	int option, missed = 0;

	while ((option = getopt_long(argc, argv, "", known, NULL)) >= 0)
		if (option == 'l')
			options.large = 1;
		else if (option == 'f')
			options.folder = optarg;
		else if (option != 'p' || !(options.part = (unsigned)strtoul(optarg, NULL, 10)))
			return 2;
	printf("%-34s %9s %6s %6s %6s %6s %6s %6s %7s %8s %6s %6s %7s %7s\n", "", "calls", "load",
		"order", "evid.", "fences", "rules", "write", "s", "calls/s", "anon", "resid.",
		"ns n/2", "ns n");
	for (unsigned i = 0; i < bench_case_count; i++)
		if (is_wanted(&bench_cases[i], argv + optind, argc - optind) &&
			(!options.large || bench_cases[i].slower <= 1))
			missed |= run_case(&bench_cases[i], &options);
	return missed;
}
