/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-queue-full: a submission waited for room in the queue of its stream, and kept back what
 * other streams or the thread could have done meanwhile (waits_queue.h).  Kernel launches are
 * asynchronous until then; how many fit is not documented, only that any call may block for lack
 * of internal resources (CUDA runtime API, "API synchronization behavior").
 */
#include <stdio.h>

#include "pass_waits.h"

static const char full_sql[] =
	"SELECT c.process, w.call, o.call, w.waited, w.avoidable, NULL, 0 FROM wait w "
	"JOIN call c ON c.id = w.call JOIN operation o ON o.id = w.op "
	"WHERE w.kind = 'queue' AND w.avoidable > 0 ORDER BY w.id";

static int run(struct db *db, struct findings *findings)
{
	return pass_add_rows(db, findings, RULE_launch_queue_full, full_sql);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_operation(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" for room in the launch queue, behind ", out);
	return words_operation(words, worst->other_call, out);
}

const struct pass pass_launch_queue_full = { .run = run, .say = say };
