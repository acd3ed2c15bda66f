/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "findings_internal.h"
#include "run_columns.h"
#include "savings.h"

/* All is waited in the loop, though 30 us of the 130 are saved before it. */
TEST(no_turn_saves_more_than_it_takes)
{
	const struct cost cost = { .count = 10, .waited = 90000, .in_loop = 90000 };
	int64_t begin[11] = { 1000 };
	struct run_loop loop = { .process = 1, .turns = 10, .begin = begin, .end = 101000 };
	struct run of = { .evidence = { .loop = &loop, .loop_count = 1 } };
	struct db db = { .run = &of };
	struct findings findings = { .db = &db };
	struct run_length *run = id_map_need(&findings.runs, 1, sizeof(*run));
	struct part part;

	run->whole = 200000;
	begin[10] = 101000;
	part = findings_part(&findings, 1, 130000, &cost);
	assert_int_equal(part.turn, 10000);
	assert_float_equal(part.share, 1, 1e-9);
	part = findings_part(&findings, 1, 60000, &cost);
	assert_int_equal(part.turn, 6000);
	loop.pause = &(struct loop_pause){ 11000, 61000, 0 };
	loop.pauses = 1;
	part = findings_part(&findings, 1, 60000, &cost);
	assert_int_equal(part.turn, 5000);
	assert_true(run_loop_has(&loop, 10999) && run_loop_has(&loop, 61000));
	assert_false(run_loop_has(&loop, 11000) || run_loop_has(&loop, 60999));
	id_map_release(&findings.runs, free);
}
