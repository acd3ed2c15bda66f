/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

static int count_steps(void *steps)
{
	(*(int64_t *)steps)++;
	return 0;
}

/* Thousands of SQLite's steps that an analysis of so many copies that were held takes. */
static int64_t steps_of(int copies)
{
	struct program *p = calloc(1, sizeof(*p));
	char text[200];
	int64_t steps = 0;

	program_begin(p);
	snprintf(text, sizeof(text),
		"%d { launch n1 10.. 20=1000; download_async n1 d2h pageable #1024K 20..1110 "
		"1002=1100; next 2000 }",
		copies);
	cases_statements(p, text);
	assert_int_equal(analyze(&p->m.db), 0);
	/* As if most calls had thousands of operations. */
	mini_exec(&p->m, "ANALYZE");
	mini_exec(&p->m,
		"UPDATE sqlite_stat1 SET stat = '100000 ' || CASE idx WHEN 'operation_call' "
		"THEN 20000 ELSE 1 END WHERE tbl = 'operation'");
	mini_exec(&p->m, "ANALYZE sqlite_schema");
	sqlite3_progress_handler(p->m.db.handle, 1000, count_steps, &steps);
	assert_int_equal(analyze(&p->m.db), 0);
	assert_true(mini_int(&p->m, "SELECT count(*) FROM wait") > copies / 2);
	mini_release(&p->m);
	free(p);
	return steps;
}

TEST(statistics_do_not_make_it_quadratic)
{
	assert_in_range(steps_of(800), 0, 5 * steps_of(200));
}
