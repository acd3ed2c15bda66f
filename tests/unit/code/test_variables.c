/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "variables.h"

/* CALL ALLOCATION@ADDRESS, of each launch that names a variable. */
static const char *named(struct program *p)
{
	assert_int_equal(variables_resolve(&p->m.db), 0);
	return mini_text(&p->m,
		"SELECT ifnull(group_concat(call || ' ' || allocation || '@' || address, ', '), "
		"'') FROM (SELECT * FROM operand WHERE role = 'word' AND offset = 32768 "
		"ORDER BY call)");
}

static const char *nodes(struct program *p)
{
	assert_int_equal(variables_resolve(&p->m.db), 0);
	return mini_text(&p->m, "SELECT count(*) FROM operand WHERE role = 'node'");
}

int main(void)
{
	static const struct cases_answer answers[] = { { "named", named }, { "nodes", nodes },
		{ NULL, NULL } };

	cases_read.answers = answers;
	return cases_main("code/test_variables.txt", NULL, 0);
}
