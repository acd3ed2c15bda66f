/* SPDX-License-Identifier: Apache-2.0 */
#include "targets.h"

#include <stdlib.h>
#include <string.h>

#include "print.h"
#include "settings.h"

static int is_in_session(const struct traced *traced, const void *argument)
{
	return !strncmp(traced->header->control.session, argument, TRACE_SESSION);
}

static int is_named(const struct traced *traced, const void *argument)
{
	const struct arguments *arguments = argument;

	for (int i = 0; i < arguments->count; i++)
		if (atol(arguments->operand[i]) == traced->pid)
			return 1;
	return 0;
}

int targets_find(const struct arguments *arguments, struct traced_list *list)
{
	const char *session = option(arguments, "-s");

	if (traced_find(list, option(arguments, "--folder")))
		return -1;
	if (session)
		traced_keep(list, is_in_session, session);
	return 0;
}

/* Whether there is a process for each operand; else after a message. */
static int are_there(const struct arguments *arguments, const struct traced_list *list)
{
	for (int i = 0; i < arguments->count; i++) {
		size_t k = 0;

		while (k < list->count && list->item[k].pid != atol(arguments->operand[i]))
			k++;
		if (k < list->count)
			continue;
		print(stderr,
			"cufence %s: process %s is not being traced; \"cufence ps\" lists "
			"those that are\n",
			arguments->command->name, arguments->operand[i]);
		return 0;
	}
	return 1;
}

int targets_choose(const struct arguments *arguments, int all, struct traced_list *list)
{
	uint64_t number;

	if (!arguments->count && !all && !option(arguments, "-s")) {
		print(stderr,
			"cufence %s: name a process by its id, a session with -s, or "
			"--all\n",
			arguments->command->name);
		return -1;
	}
	for (int i = 0; i < arguments->count; i++)
		if (!setting_number(arguments->operand[i], &number)) {
			print(stderr, "cufence %s: a process is named by its id, not '%s'\n",
				arguments->command->name, arguments->operand[i]);
			return -1;
		}
	if (targets_find(arguments, list))
		return -1;
	if (arguments->count && are_there(arguments, list))
		traced_keep(list, is_named, arguments);
	else if (!arguments->count && list->count)
		return 0;
	else if (!arguments->count)
		print(stderr, "cufence %s: no such process is being traced\n",
			arguments->command->name);
	else
		traced_keep(list, is_named, &(struct arguments){ 0 });
	if (list->count)
		return 0;
	traced_release(list);
	return -1;
}
