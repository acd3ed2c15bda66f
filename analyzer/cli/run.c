/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "print.h"

char *run_find_relative(const char *first, const char *second)
{
	const char *const places[] = { first, second };
	char self[PATH_MAX], *path, *found = NULL, *slash;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return NULL;
	self[length] = 0;
	slash = strrchr(self, '/');
	if (slash)
		*slash = 0;
	for (int i = 0; i < 2 && places[i] && !found; i++) {
		if (asprintf(&path, "%s/../%s", self, places[i]) < 0)
			return NULL;
		found = realpath(path, NULL);
		free(path);
	}
	return found;
}

int run_environment_init(struct run_environment *environment, int simulated)
{
	const char *chosen = getenv("CUFENCE_LIB");

	*environment = (struct run_environment){ 0 };
	environment->library = chosen && *chosen
		? realpath(chosen, NULL)
		: run_find_relative("lib/libcufence.so", "lib/cufence/libcufence.so");
	if (!environment->library) {
		print(stderr,
			"cufence: cannot find the recorder%s%s%s (set CUFENCE_LIB to the "
			"path of libcufence.so)\n",
			chosen ? " '" : "", chosen ? chosen : "", chosen ? "'" : "");
		return -1;
	}
	if (strpbrk(environment->library, ": ")) {
		print(stderr,
			"cufence: '%s' cannot be preloaded: LD_PRELOAD does not allow "
			"spaces and colons in a path; install cufence in another folder\n",
			environment->library);
		return -1;
	}
	if (!simulated)
		return 0;
	environment->simulator = run_find_relative("sim/libcuda.so.1", "lib/cufence/libcuda.so.1");
	if (!environment->simulator) {
		fputs("cufence: cannot find the simulated device: install cufence again\n", stderr);
		return -1;
	}
	*strrchr(environment->simulator, '/') = 0;
	return 0;
}

/* The path of a library in the recorder's folder. */
static char *find_beside(const struct run_environment *environment, const char *name,
	const char *needs)
{
	char *path, *found;

	if (asprintf(&path, "%.*s%s",
		    (int)(strrchr(environment->library, '/') + 1 - environment->library),
		    environment->library, name) < 0)
		return NULL;
	found = realpath(path, NULL);
	if (!found)
		print(stderr, "cufence: cannot find '%s', which %s needs: install cufence again\n",
			path, needs);
	free(path);
	return found;
}

int run_environment_guard(struct run_environment *environment)
{
	environment->guard = find_beside(environment, "libcufence-guard.so", "--guard-host");
	return environment->guard ? 0 : -1;
}

int run_environment_below(struct run_environment *environment, const char *name, const char *needs)
{
	environment->below = find_beside(environment, name, needs);
	return environment->below ? 0 : -1;
}

int run_environment_alone(struct run_environment *environment, const char *name, int simulated)
{
	char *found;

	if (run_environment_init(environment, simulated))
		return -1;
	found = find_beside(environment, name, "\"fix\"");
	if (!found) {
		run_environment_release(environment);
		return -1;
	}
	free(environment->library);
	environment->library = found;
	return 0;
}

void run_environment_release(struct run_environment *environment)
{
	free(environment->guard);
	free(environment->below);
	free(environment->library);
	free(environment->simulator);
}

/* Prepends value to the variable. */
static int prepend(const char *name, const char *value)
{
	const char *old = getenv(name);
	char *both;
	int rc;

	if (!old || !*old)
		return setenv(name, value, 1);
	if (asprintf(&both, "%s:%s", value, old) < 0)
		return -1;
	rc = setenv(name, both, 1);
	free(both);
	return rc;
}

/*
 * The recorder comes after the user's preloads: a preload that wraps CUDA calls passes them to the
 * next library, and after a library that calls CUDA directly it would be skipped.  A sanitizer's
 * runtime must be the first.  LD_PRELOAD separates its entries by colons or spaces.
 */
static int set_preload(const struct run_environment *environment)
{
	const char *old = getenv("LD_PRELOAD");
	size_t first = old ? strcspn(old, ": ") : 0;
	const char *slash = first ? memrchr(old, '/', first) : NULL;
	int has_sanitizer = first && run_is_sanitizer(slash ? slash + 1 : old);
	const char *sanitizer = has_sanitizer ? NULL : environment->sanitizer;
	char *list;
	int rc;

	rc = asprintf(&list, "%s%s%s%s%s%s%s%s%s", sanitizer ? sanitizer : "", sanitizer ? ":" : "",
		old ? old : "", old && *old ? ":" : "", environment->library,
		environment->guard ? ":" : "", environment->guard ? environment->guard : "",
		environment->below ? ":" : "", environment->below ? environment->below : "");
	if (rc < 0)
		return -1;
	rc = setenv("LD_PRELOAD", list, 1);
	free(list);
	return rc;
}

/* The toolkit's CUPTI would be found first, but it needs a device. */
int run_use_simulator(const char *folder)
{
	char *cupti;
	int rc;

	if (asprintf(&cupti, "%s/libcupti.so.13", folder) < 0)
		return -1;
	rc = setenv("CUFENCE_CUPTI", cupti, 0);
	free(cupti);
	return rc ? rc : prepend("LD_LIBRARY_PATH", folder);
}

static int set_environment(const struct run_environment *environment)
{
	if (set_preload(environment) ||
		(environment->out && setenv("CUFENCE_OUT", environment->out, 1)))
		return -1;
	for (const struct run_setting *setting = environment->setting; setting && setting->name;
		setting++)
		if (setting->value && setenv(setting->name, setting->value, 1))
			return -1;
	return environment->simulator ? run_use_simulator(environment->simulator) : 0;
}

static volatile sig_atomic_t running; /* the program's process, for pass_on() */
static volatile sig_atomic_t interrupts;

static void count_interrupt(int signal)
{
	interrupts++;
}

static void pass_on(int signal)
{
	if (running > 0)
		kill((pid_t)running, signal);
}

static const int handled[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
#define HANDLED_COUNT (sizeof(handled) / sizeof(*handled))

/* The terminal sends Ctrl-C to the program too, so passing it on would deliver it twice. */
static void catch_signals(struct sigaction old[HANDLED_COUNT])
{
	for (size_t i = 0; i < HANDLED_COUNT; i++) {
		struct sigaction action = { .sa_flags = SA_RESTART };
		int passed = handled[i] == SIGTERM || handled[i] == SIGHUP;
		action.sa_handler = passed     ? pass_on
			: handled[i] == SIGINT ? count_interrupt
					       : SIG_IGN;
		sigemptyset(&action.sa_mask);
		sigaction(handled[i], &action, &old[i]);
	}
}

/* Signals are blocked until the program's process id is known. */
static void hold_signals(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < HANDLED_COUNT; i++)
		sigaddset(&set, handled[i]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, before);
}

/* The others may come from here on. */
static void hold_child_signal(const sigset_t *before)
{
	sigset_t set = *before;

	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
}

static void restore_signals(const struct sigaction old[HANDLED_COUNT])
{
	for (size_t i = 0; i < HANDLED_COUNT; i++)
		sigaction(handled[i], &old[i], NULL);
}

__attribute__((noreturn)) static void become(char **argv, const struct run_environment *environment,
	int report)
{
	int error;

	if (!set_environment(environment) &&
		(!environment->output || dup2(environment->output, STDOUT_FILENO) >= 0))
		execvp(argv[0], argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(RUN_FAILED);
	_exit(RUN_NOT_FOUND);
}

/* SIGCHLD is blocked: it wakes this thread, also if the child ended before. */
static int wait_for(pid_t child, const struct run_environment *environment)
{
	struct timespec tenth = { 0, 100000000 };
	int awake = environment->look || environment->most;
	time_t end = time(NULL) + (time_t)environment->most;
	sigset_t ended;
	pid_t got;
	int status;

	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	while (!(got = waitpid(child, &status, awake ? WNOHANG : 0)) ||
		(got < 0 && errno == EINTR)) {
		if (!awake)
			continue;
		sigtimedwait(&ended, NULL, &tenth);
		if (environment->look)
			environment->look(environment->argument, interrupts);
		if (environment->most && time(NULL) > end)
			kill(child, SIGKILL);
	}
	if (got < 0)
		return RUN_FAILED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Returns what the user can do about a program that could not be executed. */
static const char *start_hint(const char *name, int error)
{
	int is_path = strchr(name, '/') != NULL, is_there = !access(name, F_OK);
	struct stat there;

	if (error == ENOENT && is_path)
		return is_there ? "its interpreter is missing: check its first line"
				: "check the path";
	if (error == ENOENT)
		return is_there ? "it is not in PATH: add ./ for the file in this folder"
				: "it is not in PATH: give its path";
	if (error == EACCES && is_there && !stat(name, &there) && S_ISDIR(there.st_mode))
		return "it is a folder: name a program in it";
	if (error == EACCES)
		return "make it executable with chmod +x, or run a script with its interpreter";
	return NULL;
}

static void say_not_started(const char *name, int error)
{
	const char *hint = start_hint(name, error);

	print(stderr, "cufence: cannot run '%s': %s%s%s\n", name, strerror(error), hint ? "; " : "",
		hint ? hint : "");
}

static int status_of(int error)
{
	return error == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
}

int run_become(char **argv, const struct run_environment *environment)
{
	int error;

	fflush(NULL);
	if (!set_environment(environment))
		execvp(argv[0], argv);
	error = errno;
	say_not_started(argv[0], error);
	return status_of(error);
}

int run_program(char **argv, const struct run_environment *environment, int *started)
{
	struct sigaction old[HANDLED_COUNT];
	int report[2], error = 0, status;
	sigset_t before;
	ssize_t got;
	pid_t child;

	*started = 0;
	if (pipe2(report, O_CLOEXEC)) {
		print(stderr, "cufence: cannot run '%s': %s\n", argv[0], strerror(errno));
		return RUN_FAILED;
	}
	fflush(NULL);
	running = interrupts = 0;
	hold_signals(&before);
	catch_signals(old);
	child = fork();
	if (!child) {
		restore_signals(old);
		sigprocmask(SIG_SETMASK, &before, NULL);
		become(argv, environment, report[1]);
	}
	running = child;
	hold_child_signal(&before);
	close(report[1]);
	got = child < 0 ? 0 : read(report[0], &error, sizeof(error));
	close(report[0]);
	if (child < 0)
		error = errno;
	if (environment->watch && child > 0 && got <= 0)
		watch_start(environment->watch, child, environment->out);
	status = child < 0 ? RUN_FAILED : wait_for(child, environment);
	if (environment->watch)
		watch_stop(environment->watch);
	running = 0;
	restore_signals(old);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (got == (ssize_t)sizeof(error))
		status = status_of(error);
	*started = !error;
	if (error)
		say_not_started(argv[0], error);
	return status;
}
