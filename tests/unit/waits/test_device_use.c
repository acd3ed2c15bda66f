/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "evidence_tables.h"
#include "run_columns.h"

static void operation(struct mini *m, int device, int64_t stream, int64_t start, int64_t end)
{
	mini_exec(m,
		"INSERT INTO operation (process, kind, start, end, device, stream, correlation)"
		" VALUES (1, 'kernel', %lld, %lld, %d, %lld, 0)",
		(long long)start, (long long)end, device, (long long)stream);
}

/* "0" if it was measured, in columns or not. */
static const char *measure(struct mini *m, struct run *run)
{
	int rc;

	m->db.run = run;
	rc = use_measure(&m->db);
	run_close(run);
	m->db.run = NULL;
	return rc ? "-1" : "0";
}

ANSWER(measured)
{
	return measure(&p->m, NULL);
}

ANSWER(measured_in_columns)
{
	return measure(&p->m, run_open(&p->m.db));
}

/* Against a look at every nanosecond. */
TEST(any_pile_of_operations_adds_up)
{
	enum { ROUNDS = 50, SPAN = 200 };

	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		int depth[SPAN] = { 0 }, busy = 0, overlapped = 0, count = 1 + rand() % 40;
		struct mini m;

		mini_init(&m);
		for (int i = 0; i < count; i++) {
			int start = rand() % SPAN, end = start + rand() % (SPAN - start);

			operation(&m, 0, 1, start, end);
			for (int at = start; at < end; at++)
				depth[at]++;
		}
		for (int at = 0; at < SPAN; at++) {
			busy += depth[at] > 0;
			overlapped += depth[at] > 1;
		}
		assert_int_equal(use_measure(&m.db), 0);
		assert_int_equal(mini_int(&m, "SELECT busy FROM device_use"), busy);
		assert_int_equal(mini_int(&m, "SELECT overlapped FROM device_use"), overlapped);
		mini_release(&m);
	}
}
