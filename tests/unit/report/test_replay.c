/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"
#include "replay_run.h"

SAVED(wait, WAIT, LIKELY)
SAVED(wait_least, WAIT, LEAST)
SAVED(wait_most, WAIT, MOST)
SAVED(order, ORDER, LIKELY)
SAVED(order_least, ORDER, LEAST)
SAVED(order_most, ORDER, MOST)
SAVED(call, CALL, LIKELY)

TEST(engines_give_gaps_away)
{
	static struct booking booking;

	assert_int_equal(booking_reserve(&booking, 100, 50), 100);
	assert_int_equal(booking_reserve(&booking, 120, 50), 150);
	assert_int_equal(booking_reserve(&booking, 500, 50), 500);
	assert_int_equal(booking_reserve(&booking, 0, 100), 0);
	assert_int_equal(booking_reserve(&booking, 160, 300), 200);
	assert_int_equal(booking_reserve(&booking, 160, 1), 550);
	for (int i = 0; i < 4 * BOOKINGS; i++)
		assert_int_equal(booking_reserve(&booking, 1000 + 10 * i, 5), 1000 + 10 * i);
}
