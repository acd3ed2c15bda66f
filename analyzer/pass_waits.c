/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_waits.h"

#include <stdlib.h>

static int add_all(sqlite3_stmt *q, struct findings *findings, enum rule rule)
{
	int rc;

	while ((rc = db_step(q)) > 0) {
		struct instance instance = {
			.rule = rule,
			.process = sqlite3_column_int64(q, 0),
			.call = sqlite3_column_int64(q, 1),
			.other_call = sqlite3_column_int64(q, 2),
			.cost = sqlite3_column_int64(q, 3),
			.saving = sqlite3_column_int64(q, 4),
			.change = CHANGE_WAIT,
		};
		if (findings_add(findings, &instance))
			return -1;
	}
	return rc;
}

int pass_add_rows(struct db *db, struct findings *findings, enum rule rule, const char *sql)
{
	sqlite3_stmt *q = db_prepare(db, sql);
	int rc = q ? add_all(q, findings, rule) : -1;

	sqlite3_finalize(q);
	return rc;
}

int pass_add_waits(struct db *db, struct findings *findings, enum rule rule,
	const char *condition)
{
	char *sql = sqlite3_mprintf(
		"SELECT c.process, w.call, o.call, w.waited, w.avoidable FROM wait w "
		"JOIN call c ON c.id = w.call JOIN call_type t ON t.id = c.type "
		"JOIN operation o ON o.id = w.op "
		"WHERE w.kind NOT IN ('behind', 'queue') AND w.avoidable > 0 AND (%s) ORDER BY w.id", condition);
	int rc = sql ? pass_add_rows(db, findings, rule, sql) : -1;

	sqlite3_free(sql);
	return rc;
}

int pass_say_waited(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_call(words, worst->call, out))
		return -1;
	fputs(" waited ", out);
	words_time(worst->cost, out);
	fputs(" for ", out);
	if (worst->call == worst->other_call) {
		fputs("its own transfer", out);
		return 0;
	}
	return words_operation(words, worst->other_call, out);
}
