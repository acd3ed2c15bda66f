/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accidental-order: two operations are ordered in this run only by a call that may wait but is not
 * documented to (cudaFree "may perform implicit synchronization").  Lines that another rule already
 * reports for a missing fence are not reported again for the times when something happened to wait.
 */
#include "constants.h"
#include "pass_hazards.h"

static const char others_sql[] =
	"SELECT call, other_call FROM hazard WHERE rule <> ? AND confidence <> 'possible'"
	" AND EXISTS (SELECT 1 FROM hazard WHERE rule = ?1) ORDER BY id";

static int find_others(struct db *db, struct findings *findings, struct map *lines)
{
	sqlite3_stmt *q = db_prepare(db, others_sql);
	int step = q && !db_bind(q, "s", rules[RULE_accidental_order].id) ? 0 : -1;

	while (!step && (step = db_step(q)) > 0) {
		int64_t key = pass_lines(findings, sqlite3_column_int64(q, 0),
			sqlite3_column_int64(q, 1));

		step = key < 0 ? -1 : 0;
		if (key > 0)
			map_set(lines, (uint64_t)key, 1);
	}
	sqlite3_finalize(q);
	return step;
}

static int run(const struct pass_input *input, struct findings *findings)
{
	struct map lines = { 0 };
	int rc = find_others(input->db, findings, &lines) ||
		pass_add_hazards(input->db, findings, RULE_accidental_order, ACCIDENTAL_MIN_COUNT,
			&lines);

	map_release(&lines);
	return rc ? -1 : 0;
}

static int say(struct words *words, const struct instance *worst, FILE *out)
{
	if (words_operation(words, worst->call, out))
		return -1;
	fputs(" needs ", out);
	if (words_operation(words, worst->other_call, out))
		return -1;
	fputs(", and only ", out);
	if (words_call(words, worst->via, out) || words_place(words, worst->via, out))
		return -1;
	fputs(", which happened to wait, keeps them in order", out);
	return 0;
}

const struct pass pass_accidental_order = { .run = run, .say = say, .fix = pass_fix_hazard };
