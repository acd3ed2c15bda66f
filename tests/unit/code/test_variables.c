/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "variables.h"

/* CALL ALLOCATION@ADDRESS, of each launch that names a variable. */
ANSWER(named)
{
	assert_int_equal(variables_resolve(&p->m.db), 0);
	return mini_text(&p->m,
		"SELECT ifnull(group_concat(call || ' ' || allocation || '@' || address, ', '), "
		"'') FROM (SELECT * FROM operand WHERE role = 'word' AND offset = 32768 "
		"ORDER BY call)");
}

ANSWER(nodes)
{
	assert_int_equal(variables_resolve(&p->m.db), 0);
	return mini_text(&p->m, "SELECT count(*) FROM operand WHERE role = 'node'");
}
