/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "findings_internal.h"
#include "run_length.h"

/* All is waited in the loop, though 30 us of the 130 are saved before it. */
static void no_turn_saves_more_than_it_takes(void **unused)
{
	struct findings findings = { 0 };
	const struct cost cost = { .count = 10, .waited = 90000, .in_loop = 90000 };
	struct loop_span *loop = id_map_need(&findings.loops, 1, sizeof(*loop));
	struct run_length *run = id_map_need(&findings.runs, 1, sizeof(*run));
	struct part part;

	(void)unused;
	run->whole = 200000;
	*loop = (struct loop_span){ .start = 1000, .until = 101000, .end = 101000, .turns = 10 };
	part = findings_part(&findings, 1, 130000, &cost);
	assert_int_equal(part.turn, 10000);
	assert_float_equal(part.share, 1, 1e-9);
	part = findings_part(&findings, 1, 60000, &cost);
	assert_int_equal(part.turn, 6000);
	id_map_release(&findings.loops, free);
	id_map_release(&findings.runs, free);
}

int main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(no_turn_saves_more_than_it_takes),
	};

	return cases_main("report/test_findings.txt", others, 1);
}
