/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to running processes: start, stop, flush, snapshot. */
#include <stdio.h>
#include <stdlib.h>

#include "annotations.h"
#include "command.h"
#include "memory.h"
#include "print.h"
#include "report_request.h"
#include "snapshot.h"
#include "store.h"
#include "targets.h"
#include "traced.h"

#define PATIENCE_MS 2000 /* with a process that makes no calls */

/* Says what came of a request.  Returns 0, or -1 if that is not what was asked for. */
static int say(const struct traced *traced, enum traced_wish wish, enum traced_answer answer)
{
	enum control_state state = traced_state(traced);

	if (answer == ENDED) {
		print(stderr, "cufence: process %ld has ended\n", traced->pid);
		return -1;
	}
	if (answer == NOT_YET) {
		print(stderr,
			"cufence: process %ld has made no CUDA call since: it answers at its next "
			"one\n",
			traced->pid);
		return 0;
	}
	if (wish == WISH_RECORD && state == CONTROL_OVER) {
		print(stderr,
			"cufence: process %ld records no more, as its --duration or --turns are "
			"over\n",
			traced->pid);
		return -1;
	}
	if (wish == WISH_RECORD && state == CONTROL_WAITING)
		print(stderr,
			"cufence: process %ld waits for what it was started with: --delay, "
			"--profiler or --nvtx\n",
			traced->pid);
	else if (wish != WISH_FLUSH)
		print(stderr, "cufence: process %ld: %s\n", traced->pid, traced_state_name(state));
	return 0;
}

/* Asks all before it waits for any. */
static int ask_all(const struct traced_list *list, enum traced_wish wish)
{
	struct traced_request *request = xcalloc(list->count, sizeof(*request));
	int rc = 0;

	for (size_t i = 0; i < list->count; i++)
		request[i] = traced_ask(&list->item[i], wish);
	for (size_t i = 0; i < list->count; i++)
		if (say(&list->item[i], wish, traced_wait(&list->item[i], request[i], PATIENCE_MS)))
			rc = -1;
	free(request);
	return rc;
}

static int ask(const struct arguments *arguments, enum traced_wish wish)
{
	struct traced_list list;
	int rc;

	if (targets_choose(arguments, option(arguments, "--all") != NULL, &list))
		return EXIT_TROUBLE;
	rc = ask_all(&list, wish);
	traced_release(&list);
	return rc ? EXIT_TROUBLE : 0;
}

int cmd_start(const struct arguments *arguments)
{
	return ask(arguments, WISH_RECORD);
}

int cmd_stop(const struct arguments *arguments)
{
	return ask(arguments, WISH_PAUSE);
}

int cmd_flush(const struct arguments *arguments)
{
	return ask(arguments, WISH_FLUSH);
}

int cmd_snapshot(const struct arguments *arguments)
{
	const char *database = option(arguments, "-o") ? option(arguments, "-o") : "cufence.db";
	int quiet = option(arguments, "--quiet") != NULL, rc = -1;
	struct annotations *annotations = NULL;
	struct report_request request;
	struct traced_list list;

	if (report_request_read(arguments, "--report", &request) ||
		read_annotations(arguments, &annotations) || store_check(database) ||
		targets_choose(arguments, 1, &list))
		goto out;
	rc = snapshot_build(&list, database, annotations);
	traced_release(&list);
	if (!rc && !quiet)
		print(stderr, "cufence: wrote %s\n", database);
	if (!rc && (!quiet || request.path))
		rc = report_request_write(&request, database, DB_OWN, stdout);
	if (!rc && request.path && !quiet)
		print(stderr, "cufence: wrote %s\n", request.path);
out:
	annotations_free(annotations);
	return rc ? EXIT_TROUBLE : 0;
}
