/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "unknown.h"

TEST(later_work_of_a_stream_shows_that_earlier_is_not_unknown)
{
	struct program *p = calloc(1, sizeof(*p));
	char text[] =
		"at 10; recorded; lost; recorded; recorded; lost; "
		"UPDATE process SET closed = 0, end = (SELECT max(exit) FROM call)";
	struct run *run;

	program_begin(p);
	cases_statements(p, text);
	run = run_open(&p->m.db);
	assert_non_null(run);
	for (uint32_t id = 1; id < run_call_end(run); id++)
		assert_int_equal(call_is_unknown(run_call(run, id)) != 0, id > 16 && id % 2);
	run_close(run);
	mini_release(&p->m);
	free(p);
}
