/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "constants.h"
#include "wait.h"

/* Whatever kept all of a run's waits that long, it was not the time to wake up. */
static void latencies_have_a_limit(void **unused)
{
	struct id_map timings = { 0 };
	struct samples samples = { 0 };

	(void)unused;
	for (int i = 0; i < 2 * LATENCY_MIN_EXAMPLES; i++)
		wait_timing_add(&samples, 1, 5 * LATENCY_MAX_NS);
	assert_int_equal(wait_timing_settle(&timings, &samples, 1)->wake_up, LATENCY_MAX_NS);
	samples_release(&samples);
	id_map_release(&timings, free);
}

int main(void)
{
	static const struct CMUnitTest others[] = { cmocka_unit_test(latencies_have_a_limit) };

	return cases_main("waits/test_waits.txt", others, 1);
}
