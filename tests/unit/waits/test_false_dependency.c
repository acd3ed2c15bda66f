/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

/* The order of the run has room, the one without the waits has not: what is needed is unknown. */
TEST(nothing_is_found_where_the_order_is_given_up)
{
	struct program *p = calloc(1, sizeof(*p));
	char rounds[] = "rounds";

	program_begin(p);
	cases_statements(p, rounds);
	p->m.db.order_limit = 256;
	assert_int_equal(analyze(&p->m.db), 0);
	assert_int_equal(mini_int(&p->m, "SELECT count(*) FROM finding"), 0);
	assert_int_equal(mini_int(&p->m,
				 "SELECT count(*) FROM loss WHERE reason = 'order_given_up'"),
		1);
	mini_release(&p->m);
	free(p);
}
