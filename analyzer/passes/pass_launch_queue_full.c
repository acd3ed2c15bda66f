/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch-queue-full: a submission waited for room in the queue of its stream, and kept back what
 * other streams or the thread could have done meanwhile (waits_queue.h).  Kernel launches are
 * asynchronous until then; how many fit is not documented, only that any call may block for lack
 * of internal resources (CUDA runtime API, "API synchronization behavior").
 */
#include <stdio.h>

#include "pass_waits.h"

/* All that held a thread in a stream until it waited for that stream, by place. */
static const char full_sql[] =
	"SELECT c.process, w.partner, o.call, w.call, sum(w.waited), sum(w.avoidable) FROM wait w "
	"CROSS JOIN call c ON c.id = w.call "
	"CROSS JOIN wait p ON p.call = w.partner AND p.kind = 'queue' "
	"CROSS JOIN work o ON o.id = p.op "
	"WHERE w.kind = 'queue' GROUP BY w.partner, c.site ORDER BY w.partner, c.site";

static int add(struct findings *findings, const struct instance *instance)
{
	return instance->saving > 0 ? findings_add(findings, instance) : 0;
}

static int add_all(sqlite3_stmt *q, struct findings *findings)
{
	struct instance instance = { 0 };
	int rc, places = 0;

	while ((rc = db_step(q)) > 0) {
		int64_t call = sqlite3_column_int64(q, 1);

		if (call != instance.call) {
			if (add(findings, &instance))
				return -1;
			places = 0;
			instance = (struct instance){
				.rule = RULE_launch_queue_full,
				.call = call,
				.process = sqlite3_column_int64(q, 0),
				.other_call = sqlite3_column_int64(q, 2),
				.change = CHANGE_WAIT,
			};
		}
		if (places < FINDING_ALSO)
			instance.also[places++] = sqlite3_column_int64(q, 3);
		instance.cost += sqlite3_column_int64(q, 4);
		instance.saving += sqlite3_column_int64(q, 5);
	}
	return rc || add(findings, &instance) ? -1 : 0;
}

static int run(struct db *db, struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(db, full_sql);
	int rc = q ? add_all(q, findings) : -1;

	sqlite3_finalize(q);
	return rc;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	fputs("submissions like ", out);
	if (words_operation(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" for room in the launch queue, behind ", out);
	return words_operation(words, worst->other_call, out);
}

const struct pass pass_launch_queue_full = { .run = run, .say = say };
