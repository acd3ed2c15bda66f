/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocked-behind: a call was held because a call of another thread was waiting.  Not documented;
 * measured, launches and allocations of all threads are held while one is in cudaFree.
 */
#include <stdio.h>

#include "pass_waits.h"

/* It is the other call that is to be mended. */
static const char behind_sql[] =
	"SELECT c.process, w.call, w.behind, w.waited, w.avoidable, w.behind, 0, 0 "
	"FROM wait w CROSS JOIN call c ON c.id = w.call WHERE w.kind = 'behind' ORDER BY w.id";

static int run(struct db *db, struct findings *findings)
{
	return pass_add_rows(db, findings, RULE_blocked_behind, behind_sql);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" because another thread was in ", out);
	return words_call(words, worst->other_call, out);
}

const struct pass pass_blocked_behind = { .run = run, .say = say };
