/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_run.h"

SAVED(saved_wait, WAIT, LIKELY)
SAVED(saved_wait_least, WAIT, LEAST)
SAVED(saved_order, ORDER, LIKELY)
SAVED(saved_order_least, ORDER, LEAST)
SAVED(saved_order_most, ORDER, MOST)
SAVED(saved_call, CALL, LIKELY)

static void engines_give_gaps_away(void **unused)
{
	static struct booking booking;

	(void)unused;
	assert_int_equal(booking_reserve(&booking, 100, 50), 100);
	assert_int_equal(booking_reserve(&booking, 120, 50), 150);
	assert_int_equal(booking_reserve(&booking, 500, 50), 500);
	assert_int_equal(booking_reserve(&booking, 0, 100), 0);
	assert_int_equal(booking_reserve(&booking, 160, 300), 200);
	assert_int_equal(booking_reserve(&booking, 160, 1), 550);
	for (int i = 0; i < 4 * BOOKINGS; i++)
		assert_int_equal(booking_reserve(&booking, 1000 + 10 * i, 5), 1000 + 10 * i);
}

int main(void)
{
	static const struct CMUnitTest others[] = { cmocka_unit_test(engines_give_gaps_away) };
	static const struct cases_answer answers[] = {
		{ "wait", saved_wait },
		{ "wait_least", saved_wait_least },
		{ "order", saved_order },
		{ "order_least", saved_order_least },
		{ "order_most", saved_order_most },
		{ "call", saved_call },
		{ NULL, NULL },
	};

	cases_read.answers = answers;
	return cases_main("report/test_replay.txt", others, 1);
}
