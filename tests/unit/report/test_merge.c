/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "baseline.h"
#include "merge.h"
#include "verdict.h"

ANSWER(merge)
{
	return merge_begin(&p->m.db) || merge_findings(&p->m.db, 0) ? "-1" : "0";
}

ANSWER(merge_for_second)
{
	return merge_begin(&p->m.db) || merge_findings(&p->m.db, 2) ? "-1" : "0";
}

ANSWER(waited_second)
{
	return mini_text(&p->m,
		"SELECT json_extract(" MERGED_PROCESSES("f") ", '$[1].waited_ns') FROM finding f");
}

ANSWER(verdict)
{
	const struct verdict_rules wanted = { .list = "medium",
		.fences = "high",
		.reads = "none",
		.most = DB_NULL };
	struct db *db = &p->m.db;

	assert_int_equal(verdict_begin(db), 0);
	assert_int_equal(db_exec(db, "INSERT INTO temp.baseline VALUES ('blocking-free f#2')"), 0);
	return verdict_of_check(db, &wanted) || verdict_merge(db) ? "-1" : "0";
}
