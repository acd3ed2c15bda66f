/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden-load: loading code kept streams from overlapping, and no call shows it: the next kernel of
 * every stream, non-blocking ones included, starts when all that was running has ended (measured on
 * an H200; "loading a kernel may require context synchronization", CUDA programming guide, "Lazy
 * Loading", "Concurrent execution").
 *
 * A query of a kernel's attributes loads it, too.  The first one of a module may wait for the
 * device itself: that is a wait of the host.
 *
 * Every kernel is loaded once.  A line that launches is to blame only if it loads in many of its
 * rounds, as for lazy-loading.
 */
#include <stdio.h>

#include "loads_late.h"
#include "pass_waits.h"
#include "print.h"
#include "concurrency.h"

/* clang-format off */
static const char holds_sql[] =
	"SELECT o.process, h.via, b.call, h.held, h.op, h.behind FROM hold h "
	"CROSS JOIN work o ON o.id = h.op CROSS JOIN work b ON b.id = h.behind "
	"CROSS JOIN call c ON c.id = h.via CROSS JOIN call_type t ON t.id = c.type "
	"WHERE h.reason = 'load' AND o.kind = 'kernel' AND " LOADS_LATE("c")
	" AND (NOT " IS_LAUNCH("t") " OR c.site IN " LOADING_PLACES ") ORDER BY h.rowid";
/* clang-format on */

static const char waited_sql[] = KIND_WHERE("t", "loads_code AND NOT work") " AND " LOADS_LATE("c");

static int can_overlap(struct shapes *shapes, int64_t op, int64_t other)
{
	struct shape a, b;

	if (shape_read(shapes, op, &a) || shape_read(shapes, other, &b))
		return -1;
	return shape_can_overlap(&a, &b);
}

static int add_holds(sqlite3_stmt *q, struct shapes *shapes, struct findings *findings)
{
	int rc;

	while ((rc = db_step(q)) > 0) {
		struct instance instance = {
			.rule = RULE_hidden_load,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.cost = sqlite3_column_int64(q, 3),
			.saving = FINDING_DELAY,
			.change = CHANGE_ORDER,
		};
		rc = can_overlap(shapes, sqlite3_column_int64(q, 4), sqlite3_column_int64(q, 5));
		if (rc < 0 || (rc && findings_add(findings, &instance)))
			return -1;
	}
	return rc;
}

static int run(struct db *db, struct findings *findings)
{
	sqlite3_stmt *q = db_prepare(db, holds_sql);
	struct shapes shapes = { 0 };
	int rc = q && !shapes_open(&shapes, db) ? add_holds(q, &shapes, findings) : -1;

	sqlite3_finalize(q);
	shapes_close(&shapes);
	return rc ? rc : pass_add_waits(db, findings, RULE_hidden_load, waited_sql);
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	int delay = worst->saving == FINDING_DELAY;
	const char *kernel;

	if (words_call(words, worst->call, out))
		return -1;
	kernel = words_kernel(words, worst->call);
	if (*kernel)
		print(out, " loaded the code of kernel '%s'", kernel);
	else
		fputs(" loaded code", out);
	fputs(delay ? ", which delayed what came next by " : ", and waited ", out);
	words_time(worst->cost, out);
	fputs(delay ? ", until the end of " : " for ", out);
	return words_operation(words, worst->other_call, out);
}

const struct pass pass_hidden_load = { .run = run, .say = say };
