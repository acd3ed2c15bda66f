/* SPDX-License-Identifier: Apache-2.0 */
#include "early.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced.h"

#define PATIENT_LOOKS 20 /* most programs end within two seconds of a Ctrl-C */
#define FLUSH_MS 500

static size_t count_traces(const char *folder)
{
	DIR *entries = opendir(folder);
	const struct dirent *entry;
	size_t count = 0;

	while (entries && (entry = readdir(entries)))
		count += strstr(entry->d_name, ".cft") != NULL;
	if (entries)
		closedir(entries);
	return count;
}

/* Whether no process of the run will record anything more; what ended has not to be asked. */
static int are_over(const struct traced_list *list)
{
	size_t over = 0;

	while (over < list->count && traced_state(&list->item[over]) == CONTROL_OVER)
		over++;
	return list->count && over == list->count;
}

static void flush(const struct traced_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		traced_wait(&list->item[i], traced_ask(&list->item[i], WISH_FLUSH), FLUSH_MS);
}

/* The program has had the first Ctrl-C, and this process must not end by it. */
static void begin(struct early *early, int interrupts)
{
	int rc;

	early->begun = 1;
	early->seen = interrupts;
	early->traces = count_traces(early->folder);
	fflush(NULL);
	early->reporter = fork();
	if (early->reporter < 0)
		early->reporter = 0;
	if (early->reporter)
		return;
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	rc = early->report(early->argument);
	fflush(NULL);
	_exit(rc ? 1 : 0);
}

/* options: of waitpid(2). */
static void wait_for(struct early *early, int options)
{
	int status;
	pid_t got;

	do
		got = waitpid(early->reporter, &status, options);
	while (got < 0 && errno == EINTR);
	if (!got)
		return;
	early->reporter = 0;
	early->all = early->all && got > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

void early_look(void *argument, int interrupts)
{
	struct early *early = argument;
	struct traced_list list;
	int over;

	if (early->reporter) {
		if (interrupts > early->seen)
			kill(early->reporter, SIGTERM);
		early->seen = interrupts;
		wait_for(early, WNOHANG);
		return;
	}
	if (early->begun || !(early->ends || interrupts) || traced_find(&list, early->folder))
		return;
	over = are_over(&list);
	early->looks += interrupts > 0;
	if (over || early->looks > PATIENT_LOOKS) {
		early->all = over;
		flush(&list);
		begin(early, interrupts);
	}
	traced_release(&list);
}

int early_end(struct early *early)
{
	if (early->reporter)
		wait_for(early, 0);
	return early->begun && early->all && count_traces(early->folder) == early->traces;
}
