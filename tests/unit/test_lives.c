/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lives.h"

static void a_reused_handle_means_the_life_of_its_time(void **state)
{
	struct lives lives = { 0 };
	uint32_t first = lives_begin(&lives, 0x5000, 10, 1), second;

	assert_int_equal(lives_find(&lives, 0x5000, 10), first);
	lives_end(&lives, first, 20, 2);
	assert_int_equal(lives_find(&lives, 0x5000, 30), 0);
	second = lives_begin(&lives, 0x5000, 40, 3);
	assert_int_equal(lives_find(&lives, 0x5000, 50), second);
	assert_int_equal(lives_find(&lives, 0x6000, 50), 0);
	lives_release(&lives);
}

/* Thread A is still in its create call when thread B destroys the old life. */
static void a_life_is_unknown_until_its_call_returns(void **state)
{
	struct lives lives = { 0 };
	uint32_t old = lives_begin(&lives, 7, 0, 0);
	uint32_t new = lives_begin(&lives, 7, 100, 1);

	assert_int_equal(lives_find(&lives, 7, 50), old);
	assert_int_equal(lives_find(&lives, 7, 100), new);
	lives_release(&lives);
}

static void an_address_is_found_in_its_range(void **state)
{
	struct ranges ranges = { 0 };

	assert_int_equal(ranges_add(&ranges, 300, 100, 3), 0);
	assert_int_equal(ranges_add(&ranges, 100, 100, 1), 0);
	assert_int_equal(ranges_add(&ranges, 200, 100, 2), 0);
	assert_int_equal(ranges_find(&ranges, 99), 0);
	assert_int_equal(ranges_find(&ranges, 100), 1);
	assert_int_equal(ranges_find(&ranges, 199), 1);
	assert_int_equal(ranges_find(&ranges, 200), 2);
	assert_int_equal(ranges_find(&ranges, 399), 3);
	assert_int_equal(ranges_find(&ranges, 400), 0);
	ranges_remove(&ranges, 200, 2);
	assert_int_equal(ranges_find(&ranges, 250), 0);
	ranges_release(&ranges);
}

static void a_new_range_replaces_what_it_overlaps(void **state)
{
	struct ranges ranges = { 0 };

	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(ranges_add(&ranges, i * 16, 16, i + 1), 0);
	assert_int_equal(ranges_add(&ranges, 24, 100, 99), 0);
	assert_int_equal(ranges_find(&ranges, 20), 0);
	assert_int_equal(ranges_find(&ranges, 123), 99);
	assert_int_equal(ranges_find(&ranges, 127), 0);
	assert_int_equal(ranges_find(&ranges, 128), 9);
	/* The free of the life it replaced comes late and must not take the new one. */
	ranges_remove(&ranges, 24, 3);
	assert_int_equal(ranges_find(&ranges, 24), 99);
	ranges_release(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reused_handle_means_the_life_of_its_time),
		cmocka_unit_test(a_life_is_unknown_until_its_call_returns),
		cmocka_unit_test(an_address_is_found_in_its_range),
		cmocka_unit_test(a_new_range_replaces_what_it_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
