/* SPDX-License-Identifier: Apache-2.0 */
/*
 * database [-s SECONDS] [-n COUNT] [-f FIRST] [-1 NUMBER] TRACE.txt...: damaged databases, made of
 * those that the traces give, go through every command that reads one, each within 5 s of processor
 * time and 512 MiB.  A command may refuse a database, in one line; if SQLite's own checks see the
 * damage it must.  The report and the queries also run on rows that were not checked, as those of
 * a large database may be.
 *
 * The same number makes the same database.  One that stops a command is left as
 * crash-database-N.db.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyze.h"
#include "command.h"
#include "database_damage.h"
#include "db_check.h"
#include "db_file.h"
#include "fuzz.h"
#include "html.h"
#include "load.h"
#include "merge.h"
#include "queries.h"
#include "report.h"
#include "text.h"

enum { COMMAND_SECONDS = 5, MOST_MIB = 512, EXIT_OVERLOOKED = 10, EXIT_LINES };

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
void __sanitizer_cov_trace_pc(void);

const char *__asan_default_options(void)
{
	/* Stacks of allocations seldom matter, and take a fifth of the time. */
	return "abort_on_error=1:quarantine_size_mb=4:hard_rss_limit_mb=512:detect_leaks=0:"
	       "malloc_context_size=1";
}

const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

/* Compiled in for the other targets; nothing here is guided by it. */
__attribute__((no_sanitize("address", "undefined"))) void __sanitizer_cov_trace_pc(void)
{
}

static int make_base(const char *text, struct damage_base *base)
{
	char name[32], *path = name;
	FILE *in = fopen(text, "r");
	int fd = fuzz_memory_file(name), rc = -1;
	struct db db;

	if (in && !text_undump(in, text, name) && !db_create(&db, DB_MEMORY)) {
		if (!load_traces(&db, &path, 1, NULL, 0) && !analyze(&db))
			rc = damage_base_init(base, db.handle);
		db_close(&db);
	}
	if (in)
		fclose(in);
	close(fd);
	return rc;
}

/* Lines on stderr since the file was emptied. */
static int count_lines(int fd)
{
	char text[4096];
	ssize_t length;
	int lines = 0;

	lseek(fd, 0, SEEK_SET);
	while ((length = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < length; i++)
			lines += text[i] == '\n';
	return lines;
}

static void limit_time(void)
{
	struct itimerval limit = { .it_value = { .tv_sec = COMMAND_SECONDS } };

	setitimer(ITIMER_PROF, &limit, NULL);
}

/* The command's status; it is reported once. */
static int run_command(const char *line, int errors)
{
	char copy[128], *argv[8], *rest = NULL;
	int argc = 0, status;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	if (ftruncate(errors, 0) || lseek(errors, 0, SEEK_SET))
		_exit(EXIT_FAILURE);
	limit_time();
	status = command_run(argc, argv);
	fflush(stdout);
	fflush(stderr);
	if (status == EXIT_TROUBLE && count_lines(errors) != 1 && strncmp(line, "check", 5)) {
		dprintf(STDERR_FILENO, "%s: %d lines\n", line, count_lines(errors));
		_exit(EXIT_LINES);
	}
	return status;
}

/* As rows of a large database are printed: whatever they hold. */
static void print_unchecked(const char *path, FILE *nowhere)
{
	struct report_options options = { .level = REPORT_POSSIBLE };
	struct db db = { 0 };
	sqlite3_stmt *q;

	limit_time();
	if (db_file_open(&db, path, SQLITE_OPEN_READONLY))
		return;
	if (!db_check_schema(&db)) {
		merge_begin(&db);
		merge_findings(&db, 0);
		report_text(&db, &options, nowhere);
		report_json(&db, &options, nowhere);
		limit_time();
		report_html(&db, &options, nowhere);
		for (const struct query *query = queries; query->name; query++) {
			limit_time();
			q = db_prepare(&db, query->sql);
			while (q && db_step(q) > 0)
				(void)sqlite3_column_text(q, 0);
			sqlite3_finalize(q);
		}
	}
	db_close(&db);
}

/* In a process of its own: the exit status. */
static void run_all(const struct damage *damage, const char *path)
{
	static const char *const lines[] = { "report --format json d.db", "query d.db sites",
		"query d.db gaps", "why d.db 1 2", "why d.db 3 5", "why d.db 2 9", "check d.db",
		"analyze d.db", "report --level possible d.db", "report --finding 1 d.db" };
	int errors = open("errors", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *nowhere = fopen("/dev/null", "w");
	int status;

	if (errors < 0 || !nowhere || !freopen("/dev/null", "w", stdout))
		_exit(EXIT_FAILURE);
	setvbuf(stderr, NULL, _IONBF, 0);
	stderr = fdopen(errors, "w");
	status = run_command("report --level possible d.db", errors);
	if (damage->is_certain && status != EXIT_TROUBLE)
		_exit(EXIT_OVERLOOKED);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		/* If one refuses the file, all do; one check saves two thirds of the time. */
		if ((status != EXIT_TROUBLE || i == damage->number % 8) &&
			run_command(lines[i], errors) != EXIT_TROUBLE && status == EXIT_TROUBLE)
			_exit(EXIT_OVERLOOKED);
	print_unchecked(path, nowhere);
	_exit(status == EXIT_TROUBLE ? EXIT_TROUBLE : 0);
}

/* 0: it went well, and refused says whether it was refused; 1 after a message. */
static int try_one(const struct damage *damage, int *refused)
{
	struct rusage usage;
	char kept[64];
	int status;
	pid_t child = fork();

	if (!child)
		run_all(damage, "d.db");
	if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
		perror("database");
		return 1;
	}
	*refused = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_TROUBLE;
	if (WIFEXITED(status) && (!WEXITSTATUS(status) || *refused) &&
		usage.ru_maxrss <= MOST_MIB * 1024)
		return 0;
	snprintf(kept, sizeof(kept), "crash-database-%llu.db", (unsigned long long)damage->number);
	damage_write(damage, kept);
	printf("number %llu (%s): %s%d, %ld MiB: %s\n", (unsigned long long)damage->number,
		damage->what, WIFSIGNALED(status) ? "signal " : "exit ",
		WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		usage.ru_maxrss / 1024, kept);
	fflush(stdout);
	return 1;
}

static uint64_t run(const struct damage_base *base, size_t bases, uint64_t first, uint64_t count,
	double seconds)
{
	uint64_t failed = 0, all_refused = 0, number;
	struct timespec start, now;
	int refused = 0;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (number = first; number - first < count; number++) {
		struct damage damage;

		clock_gettime(CLOCK_MONOTONIC, &now);
		if (seconds > 0 && (double)(now.tv_sec - start.tv_sec) > seconds)
			break;
		if (damage_init(&damage, &base[number % bases], number) ||
			damage_write(&damage, "d.db")) {
			failed++;
			continue;
		}
		failed += (uint64_t)try_one(&damage, &refused);
		all_refused += (uint64_t)refused;
		damage_release(&damage);
	}
	printf("database: %llu databases, %llu refused, %llu stopped a command\n",
		(unsigned long long)(number - first), (unsigned long long)all_refused,
		(unsigned long long)failed);
	return failed;
}

int main(int argc, char **argv)
{
	struct damage_base base[64] = { 0 };
	uint64_t first = 0, count = UINT64_MAX;
	double seconds = 0;
	size_t bases = 0;
	int option;

	while ((option = getopt(argc, argv, "n:f:1:s:")) != -1) {
		if (option == 'n')
			count = strtoull(optarg, NULL, 0);
		else if (option == 's')
			seconds = atof(optarg);
		else if (option == 'f' || option == '1')
			first = strtoull(optarg, NULL, 0);
		else
			return 2;
		if (option == '1')
			count = 1;
	}
	for (; optind < argc && bases < sizeof(base) / sizeof(*base); optind++)
		if (!make_base(argv[optind], &base[bases]))
			bases++;
	if (!bases) {
		fputs("database: name traces in their text form\n", stderr);
		return 2;
	}
	return run(base, bases, first, count, seconds) ? 1 : 0;
}
