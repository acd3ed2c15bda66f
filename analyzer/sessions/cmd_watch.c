/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch: running processes on one screen.  Their traces are analyzed by a process of its own, again
 * and again, but for at most a fifth of the time; the list of processes is read each second.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "memory.h"
#include "print.h"
#include "settings.h"
#include "snapshot.h"
#include "store.h"
#include "targets.h"
#include "watched.h"

#define SECOND INT64_C(1000000000)
#define INTERVAL_S "5"
#define SHARE 4 /* times as long as an analysis took, none is made */
#define WAIT_MS 2000
#define LOOKS 50 /* times as long as looking for processes took, nobody looks again */

struct watch {
	const struct arguments *arguments;
	const char *metrics; /* file, or NULL */
	int64_t interval;    /* ns */
	struct watched watched;
	char *folder, *database; /* of the analysis */
	pid_t analyst;           /* the process that makes it; 0: none */
	int64_t begun, next;     /* its begin, and of the next one at the earliest */
	int64_t look;            /* for processes, next */
	struct screen screen;
	char message[160];
	struct termios before; /* of the terminal */
	int on_screen;
};

static volatile sig_atomic_t ended;

static void note_end(int signal)
{
	ended = signal;
}

/* The analysis is over: poll() ends. */
static void note_child(int signal)
{
	(void)signal;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

static void release_watched(struct watched *watched)
{
	for (size_t i = 0; i < watched->list.count; i++)
		status_release(&watched->status[i]);
	free(watched->status);
	traced_release(&watched->list);
	watched->status = NULL;
}

/* Reads the list of processes anew.  What was known of one that is still there stays. */
static int find(struct watch *watch)
{
	struct watched *watched = &watch->watched, next = *watched;

	if (targets_find(watch->arguments, &next.list))
		return -1;
	next.status = xcalloc(next.list.count, sizeof(*next.status));
	for (size_t i = 0; i < next.list.count; i++)
		for (size_t k = 0; k < watched->list.count; k++)
			if (!strcmp(watched->list.item[k].trace, next.list.item[i].trace)) {
				next.status[i] = watched->status[k];
				watched->status[k] = (struct status){ 0 };
			}
	release_watched(watched);
	*watched = next;
	if (watch->screen.chosen >= next.list.count)
		watch->screen.chosen = next.list.count ? next.list.count - 1 : 0;
	return 0;
}

static int read_analysis(struct watch *watch)
{
	struct watched *watched = &watch->watched;
	struct db db;
	int rc = 0;

	if (db_open(&db, watch->database, DB_OWN))
		return -1;
	for (size_t i = 0; i < watched->list.count && rc >= 0; i++) {
		struct status status;

		rc = status_read(&status, &db, watched->list.item[i].trace);
		if (rc > 0) {
			status_release(&watched->status[i]);
			watched->status[i] = status;
		} else {
			status_release(&status);
		}
	}
	db_close(&db);
	return rc < 0 ? -1 : 0;
}

/* After an analysis that began at begun; failed ones leave what was known. */
static int take_analysis(struct watch *watch, int failed)
{
	struct watched *watched = &watch->watched;
	int64_t took = now_ns(CLOCK_MONOTONIC) - watch->begun, pause = took * SHARE;

	watch->next = watch->begun + took + (pause > watch->interval ? pause : watch->interval);
	if (!failed && !read_analysis(watch)) {
		watched->analyzed = now_ns(CLOCK_REALTIME) - took;
		watched->took = took;
	}
	return watch->metrics ? watched_write_metrics(watched, watch->metrics) : 0;
}

/* Those that have recorded something. */
static int has_window(const struct traced *traced, const void *unused)
{
	(void)unused;
	return traced->header->control.windows > 0;
}

static int analyze_now(struct watch *watch)
{
	struct traced_list list;
	int rc = targets_find(watch->arguments, &list);

	if (rc)
		return -1;
	traced_keep(&list, has_window, NULL);
	rc = list.count ? snapshot_build(&list, watch->database, NULL) : 1;
	traced_release(&list);
	return rc;
}

static void begin_analysis(struct watch *watch)
{
	watch->begun = now_ns(CLOCK_MONOTONIC);
	fflush(NULL);
	watch->analyst = fork();
	if (watch->analyst < 0)
		watch->analyst = 0;
	if (watch->analyst)
		return;
	signal(SIGINT, SIG_IGN);
	/* Its messages are about processes that end meanwhile, and would break the screen. */
	if (!freopen("/dev/null", "w", stderr))
		_exit(1);
	_exit(analyze_now(watch) ? 1 : 0);
}

/* Returns -1 if the metrics cannot be written. */
static int look_at_analysis(struct watch *watch)
{
	int status = 0;

	if (!watch->analyst) {
		if (now_ns(CLOCK_MONOTONIC) >= watch->next)
			begin_analysis(watch);
		return 0;
	}
	if (waitpid(watch->analyst, &status, WNOHANG) <= 0)
		return 0;
	watch->analyst = 0;
	return take_analysis(watch, !WIFEXITED(status) || WEXITSTATUS(status));
}

/* --- the screen --- */

static void end_screen(struct watch *watch)
{
	if (!watch->on_screen)
		return;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &watch->before);
	watch->on_screen = 0;
}

static int begin_screen(struct watch *watch)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
		tcgetattr(STDIN_FILENO, &watch->before))
		return -1;
	raw = watch->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs("\033[?1049h\033[?25l", stdout);
	watch->on_screen = 1;
	return 0;
}

/* The bytes of a line's first characters; each of print()'s is valid UTF-8, of one column. */
static size_t cut(const char *line, size_t length, unsigned columns)
{
	size_t at = 0;

	for (unsigned i = 0; at < length && i < columns; i++)
		for (at++; at < length && (line[at] & 0xc0) == 0x80; at++)
			;
	return at;
}

/* Writes over what is there, at once: nothing is cleared that is written again. */
static void draw(struct watch *watch)
{
	struct winsize size = { 0 };
	char *text = NULL, *at, *frame = NULL;
	size_t length = 0, frame_length = 0;
	FILE *plain = open_memstream(&text, &length), *out = open_memstream(&frame, &frame_length);
	unsigned row = 0;

	if (!plain || !out)
		memory_lacks();
	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	watch->screen.columns = size.ws_col ? size.ws_col : 80;
	watch->screen.rows = size.ws_row ? size.ws_row : 24;
	watched_print(&watch->watched, &watch->screen, plain);
	fclose(plain);
	fputs("\033[H", out);
	for (at = text; *at && row < watch->screen.rows; row++) {
		size_t line = strcspn(at, "\n");

		if (row)
			fputs("\r\n", out);
		fwrite(at, 1, cut(at, line, watch->screen.columns), out);
		fputs("\033[K", out);
		at += line + (at[line] == '\n');
	}
	fputs("\033[J", out);
	fclose(out);
	fwrite(frame, 1, frame_length, stdout);
	fflush(stdout);
	free(frame);
	free(text);
}

/* --- keys --- */

static void say(struct watch *watch, const char *what, long pid)
{
	snprintf(watch->message, sizeof(watch->message), "process %ld: %s", pid, what);
	watch->screen.message = watch->message;
}

static void ask(struct watch *watch, const struct traced *traced, enum traced_wish wish)
{
	enum traced_answer answer = traced_wait(traced, traced_ask(traced, wish), WAIT_MS);

	say(watch,
		answer == ANSWERED        ? traced_state_name(traced_state(traced))
			: answer == ENDED ? "has ended"
					  : "answers at its next CUDA call",
		traced->pid);
}

/* What it prints while the screen is away. */
static void snapshot(struct watch *watch, const struct traced *traced)
{
	struct traced_list one = { (struct traced *)(uintptr_t)traced, 1 };
	char *database = xprintf("cufence-%ld.db", traced->pid);
	char *what = xprintf("wrote %s", database);
	int rc = store_check(database) || snapshot_build(&one, database, NULL);

	say(watch, rc ? "no snapshot could be made" : what, traced->pid);
	free(database);
	free(what);
}

/* The report of the last analysis, by the user's pager. */
static void open_report(const struct watch *watch)
{
	char *report[] = { "report", watch->database, NULL };
	const char *pager = getenv("PAGER");
	FILE *out = watch->watched.analyzed ? popen(pager && *pager ? pager : "less", "w") : NULL;
	pid_t writer;

	if (!out)
		return;
	writer = fork();
	if (!writer) {
		dup2(fileno(out), STDOUT_FILENO);
		_exit(command_run(2, report) || fflush(stdout));
	}
	if (writer > 0)
		waitpid(writer, NULL, 0);
	pclose(out);
}

/* Returns 1 if the command ends. */
static int press(struct watch *watch, const char *keys, size_t count)
{
	const struct traced *chosen =
		watch->watched.list.count ? &watch->watched.list.item[watch->screen.chosen] : NULL;
	char key = count == 3 && keys[0] == '\033' ? keys[2] : keys[0];

	watch->screen.message = NULL;
	if (key == 'q' || (key == '\033' && count == 1))
		return 1;
	if (!chosen)
		return 0;
	if ((key == 'A' || key == 'k') && watch->screen.chosen)
		watch->screen.chosen--;
	else if ((key == 'B' || key == 'j') && watch->screen.chosen + 1 < watch->watched.list.count)
		watch->screen.chosen++;
	else if (key == 's')
		ask(watch, chosen, WISH_RECORD);
	else if (key == 't')
		ask(watch, chosen, WISH_PAUSE);
	else if (key == 'n' || key == 'o') {
		end_screen(watch);
		if (key == 'n')
			snapshot(watch, chosen);
		else
			open_report(watch);
		begin_screen(watch);
	}
	return 0;
}

/* All of /proc is read for that: for at most a few percent of the time. */
static int look_for_processes(struct watch *watch)
{
	int64_t begin = now_ns(CLOCK_MONOTONIC), took;

	if (begin < watch->look)
		return 0;
	if (find(watch))
		return -1;
	took = now_ns(CLOCK_MONOTONIC) - begin;
	watch->look = begin + (took * LOOKS > SECOND * 9 / 10 ? took * LOOKS : SECOND * 9 / 10);
	return 0;
}

/* Looks at processes each second, at keys at once. */
static int run(struct watch *watch)
{
	struct pollfd terminal = { .fd = watch->on_screen ? STDIN_FILENO : -1, .events = POLLIN };
	char keys[8];
	ssize_t count;

	while (!ended) {
		if (look_for_processes(watch) || look_at_analysis(watch))
			return -1;
		if (watch->on_screen)
			draw(watch);
		if (poll(&terminal, 1, 1000) <= 0 || !(terminal.revents & POLLIN))
			continue;
		count = read(STDIN_FILENO, keys, sizeof(keys));
		if (count <= 0 || press(watch, keys, (size_t)count))
			return 0;
	}
	return 0;
}

static int watch_once(struct watch *watch)
{
	int rc;

	watch->begun = now_ns(CLOCK_MONOTONIC);
	if (find(watch))
		return -1;
	rc = analyze_now(watch);
	if (rc < 0 || take_analysis(watch, rc))
		return -1;
	watched_print(&watch->watched, &watch->screen, stdout);
	return 0;
}

static int watch_on(struct watch *watch)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = note_end }, child = { .sa_handler = note_child };
	int rc;

	if (begin_screen(watch) && !watch->metrics) {
		fputs("cufence watch: no terminal: use --once, or --metrics\n", stderr);
		return -1;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
	sigaction(SIGCHLD, &child, NULL);
	rc = run(watch);
	end_screen(watch);
	if (watch->analyst) {
		kill(watch->analyst, SIGTERM);
		waitpid(watch->analyst, NULL, 0);
	}
	return rc;
}

static void remove_folder(const struct watch *watch)
{
	char *old = xprintf("%s.old", watch->database);

	unlink(old);
	unlink(watch->database);
	rmdir(watch->folder);
	free(old);
}

int cmd_watch(const struct arguments *arguments)
{
	const char *seconds = option(arguments, "--interval"), *folder = getenv("TMPDIR");
	struct watch watch = { .arguments = arguments, .metrics = option(arguments, "--metrics") };
	uint64_t interval;
	int rc = -1;

	if (!setting_seconds(seconds ? seconds : INTERVAL_S, &interval)) {
		print(stderr, "cufence watch: '%s' is no number of seconds\n", seconds);
		return EXIT_TROUBLE;
	}
	watch.interval = (int64_t)interval;
	watch.folder = xprintf("%s/cufence-XXXXXX", folder && *folder ? folder : "/tmp");
	if (!mkdtemp(watch.folder)) {
		print(stderr, "cufence: cannot create a folder like '%s'\n", watch.folder);
		free(watch.folder);
		return EXIT_TROUBLE;
	}
	watch.database = xprintf("%s/watch.db", watch.folder);
	rc = option(arguments, "--once") ? watch_once(&watch) : watch_on(&watch);
	release_watched(&watch.watched);
	remove_folder(&watch);
	free(watch.database);
	free(watch.folder);
	return rc ? EXIT_TROUBLE : 0;
}
