/* SPDX-License-Identifier: Apache-2.0 */
/* Begins with the first CUDA call of a process; watches what fails; says what was done. */
#include "alone.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "join.h"
#include "resolve.h"
#include "shim.h"
#include "system.h"

_Atomic int alone_stage;
__thread uintptr_t alone_frame;

static struct {
	struct fix_file file;
	_Atomic int captures;
	pid_t process;      /* that the counts are of */
	struct stat errors; /* stderr at the start; st_nlink 0: none */
	char log[4096];     /* CUFENCE_FIX_LOG: where it is said instead, or "" */
} alone;

/* --- messages --- */

/* To the log if there is one, else to stderr, if it is still the one of the start. */
static void say(const struct joined *text)
{
	int saved = errno, fd = -1;
	struct stat now;

	if (*alone.log)
		fd = system_open(alone.log, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd >= 0) {
		system_write(fd, text->array, strlen(text->array));
		system_close(fd);
	} else if (alone.errors.st_nlink && !system_stat(STDERR_FILENO, &now) &&
		now.st_dev == alone.errors.st_dev && now.st_ino == alone.errors.st_ino) {
		system_write(STDERR_FILENO, text->array, strlen(text->array));
	}
	errno = saved;
}

static void join_fix(struct joined *text, const struct fix_finding *finding)
{
	join(text, "cufence fix: #");
	join_number(text, finding->number);
	join(text, " ");
	join(text, fix_treatment_names[finding->treatment]);
}

static void say_off(const struct fix_finding *finding, enum call_id call, int result)
{
	char line[512];
	struct joined text = { line, sizeof(line), 0 };

	join_fix(&text, finding);
	join(&text, ": turned off: ");
	join(&text, fix_surprise_words[finding->off]);
	if (call < CALL_COUNT) {
		join(&text, ": ");
		join(&text, call_types[call].name);
	}
	if (result) {
		join(&text, " returned ");
		join_number(&text, (uint64_t)result);
	}
	join(&text, "\n");
	say(&text);
}

/* One line for all fixes: programs may start many processes. */
static void say_counts(void)
{
	char line[64 * FIX_FINDINGS + 128];
	struct joined text = { line, sizeof(line), 0 };
	const struct fix_plan *plan = &alone.file.plan;

	if (alone.process != getpid())
		return;
	join(&text, "cufence fix: process ");
	join_number(&text, (uint64_t)alone.process);
	join(&text, ": applied");
	for (unsigned i = 0; i < plan->findings_count; i++) {
		const struct fix_finding *finding = &plan->findings[i];

		join(&text, i ? ", #" : " #");
		join_number(&text, finding->number);
		join(&text, " ");
		join(&text, fix_treatment_names[finding->treatment]);
		if (finding->treatment != FIX_EAGER) {
			join(&text, " ");
			join_number(&text, finding->applied);
			join(&text, finding->applied == 1 ? " time" : " times");
		}
		if (finding->off)
			join(&text, " (turned off)");
	}
	join(&text, "\n");
	say(&text);
}

static void refuse(const char *path, const char *wrong, unsigned line)
{
	char message[1024];
	struct joined text = { message, sizeof(message), 0 };

	join(&text, "cufence fix: the program runs as it is: '");
	join(&text, path);
	join(&text, "'");
	if (line) {
		join(&text, " line ");
		join_number(&text, line);
	}
	join(&text, ": ");
	join(&text, wrong);
	join(&text, "\n");
	say(&text);
}

/* --- surprises --- */

void alone_failed(enum call_id call, int result)
{
	struct fix_plan *plan = &alone.file.plan;

	if (result == RESULT_NOT_READY)
		return;
	for (unsigned i = 0; i < alone.file.errors_count; i++)
		if (alone.file.error[i].call == call && alone.file.error[i].result == result)
			return;
	/* Which of those that have been applied is to blame is unknown. */
	for (unsigned i = 0; i < plan->findings_count; i++)
		if (plan->findings[i].applied)
			fix_turn_off(&plan->findings[i], FIX_SURPRISE_ERROR, call, result);
}

void alone_other_build(const struct fix_module *module)
{
	struct fix_plan *plan = &alone.file.plan;

	for (unsigned i = 0; i < plan->findings_count; i++)
		if (module->findings >> i & 1)
			fix_turn_off(&plan->findings[i], FIX_SURPRISE_OTHER_BUILD, CALL_COUNT, 0);
}

void alone_capture(int step)
{
	if (atomic_fetch_add(&alone.captures, step) + step < 0)
		alone.captures = 0;
}

/* --- what the fix asks of a recorder --- */

static int captures(void)
{
	return alone.captures;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Its calls do not come here: it has the driver's own functions. */
static void own(void)
{
}

static const struct hold_recorder recorder = { driver_symbol, site_of_call, site_place_add,
	captures, now, own, own };

/* --- start --- */

/* Reads the file into memory of its own, which stays: NULL, or what is wrong. */
static const char *read_file(const char *path, unsigned *line)
{
	int fd = system_open(path, O_RDONLY, 0);
	size_t size = 0;
	ssize_t n = 0;
	char *text;

	*line = 0;
	if (fd < 0)
		return strerror(errno);
	text = system_map(FIX_FILE_BYTES, 0, -1, 0);
	if (text == MAP_FAILED) {
		system_close(fd);
		return "no memory";
	}
	while (size < FIX_FILE_BYTES - 1 &&
		(n = system_read(fd, text + size, FIX_FILE_BYTES - 1 - size)) > 0)
		size += (size_t)n;
	system_close(fd);
	if (n < 0 || size == FIX_FILE_BYTES - 1)
		return n < 0 ? "it cannot be read" : "it is too large";
	return fix_file_read(&alone.file, text, line);
}

/* CUDA reads the variable when it is initialized. */
static void load_code_ahead(void)
{
	for (unsigned i = 0; i < alone.file.plan.findings_count; i++)
		if (alone.file.plan.findings[i].treatment == FIX_EAGER)
			setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

__attribute__((constructor)) static void read_fixes(void)
{
	const char *path = getenv("CUFENCE_FIX"), *log = getenv("CUFENCE_FIX_LOG"), *wrong;
	int saved = errno;
	unsigned line;

	/* The program may change its environment. */
	if (log && strlen(log) < sizeof(alone.log))
		strcpy(alone.log, log);
	if (system_stat(STDERR_FILENO, &alone.errors))
		alone.errors.st_nlink = 0;
	wrong = path && *path ? read_file(path, &line) : NULL;
	if (wrong) {
		refuse(path, wrong, line);
	} else if (path && *path) {
		load_code_ahead();
		alone_stage = ALONE_IDLE;
	}
	errno = saved;
}

static int start(void)
{
	const char *obstacle;

	if (!driver_library() || site_begin(&alone.file))
		return ALONE_OFF;
	fix.say_off = say_off;
	obstacle = fix_start(&recorder, &alone.file.plan);
	if (obstacle) {
		refuse("CUFENCE_FIX", obstacle, 0);
		return ALONE_OFF;
	}
	driver_look_up();
	alone.process = getpid();
	atexit(say_counts);
	return ALONE_ON;
}

/* Other threads' calls are made as they are until it has begun. */
int alone_begin(void)
{
	int idle = ALONE_IDLE, saved = errno;

	if (!atomic_compare_exchange_strong(&alone_stage, &idle, ALONE_STARTING))
		return idle == ALONE_ON;
	atomic_store_explicit(&alone_stage, start(), memory_order_release);
	errno = saved;
	return alone_stage == ALONE_ON;
}

/* A forked child is left alone: what is kept is its parent's. */
static void become_child(void)
{
	if (alone_stage != ALONE_ON)
		return;
	cufence_fix.child();
	alone_stage = ALONE_OFF;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, become_child);
}
