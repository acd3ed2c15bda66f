/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "command.h"
#include "print.h"
#include "targets.h"
#include "traced.h"

int cmd_ps(const struct arguments *arguments)
{
	struct traced_list list;

	if (targets_find(arguments, &list))
		return EXIT_TROUBLE;
	if (!list.count)
		fputs("cufence: no process is being traced\n", stderr);
	else
		print(stdout, "%7s  %-9s  %7s  %9s  %-10s  %s\n", "PID", "STATE", "WINDOWS",
			"TRACE MiB", "SESSION", "COMMAND");
	for (size_t i = 0; i < list.count; i++) {
		const struct traced *traced = &list.item[i];
		const struct trace_control *control = &traced->header->control;

		print(stdout, "%7ld  %-9s  %7u  %9.1f  %-10.*s  %s\n", traced->pid,
			traced_state_name(traced_state(traced)), control->windows,
			(double)traced->bytes / (1 << 20), TRACE_SESSION,
			*control->session ? control->session : "-", traced->command);
	}
	traced_release(&list);
	return 0;
}
