/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

/* The order of the run has room, the one without the waits has not: what is needed is unknown. */
static void nothing_is_found_where_the_order_is_given_up(void **unused)
{
	struct program *p = calloc(1, sizeof(*p));
	char rounds[] = "rounds";

	(void)unused;
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

int main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(nothing_is_found_where_the_order_is_given_up),
	};

	return cases_main("waits/test_false_dependency.txt", others, 1);
}
