/* SPDX-License-Identifier: Apache-2.0 */
#include "snapshot.h"

#include <stdio.h>
#include <stdlib.h>

#include "analyze.h"
#include "memory.h"
#include "print.h"
#include "store.h"

#define PATIENCE_MS 2000
#define PAUSED_MS 200 /* of one that is paused little is in CUPTI */

/* A process that has ended meanwhile left its trace.  Without CUPTI nothing is held back. */
static void flush(const struct traced_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct traced *traced = &list->item[i];
		int records = traced_state(traced) == CONTROL_RECORDING;
		enum traced_answer answer;

		if (records && traced->header->cupti_state != CUPTI_STATE_ON)
			continue;
		answer = traced_wait(traced, traced_ask(traced, WISH_FLUSH),
			records ? PATIENCE_MS : PAUSED_MS);
		if (records && answer == NOT_YET)
			print(stderr,
				"cufence: process %ld has not answered: its last device operations "
				"may be missing\n",
				traced->pid);
	}
}

int snapshot_build(const struct traced_list *list, const char *database,
	const struct annotations *annotations)
{
	struct analyze_input input = { .annotations = annotations,
		.command = list->count == 1 && *list->item->command ? list->item->command : NULL,
		.last_window = 1 };
	char **trace = xcalloc(list->count, sizeof(*trace));
	int rc;

	flush(list);
	for (size_t i = 0; i < list->count; i++)
		trace[i] = list->item[i].trace;
	input.trace = trace;
	input.count = list->count;
	rc = store_build(database, &input);
	free(trace);
	return rc;
}
