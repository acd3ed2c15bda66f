/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include "constants.h"
#include "wait.h"

/* Whatever kept all of a run's waits that long, it was not the time to wake up. */
TEST(latencies_have_a_limit)
{
	struct id_map timings = { 0 };
	struct samples samples = { 0 };

	for (int i = 0; i < 2 * SPREAD_MIN_EXAMPLES; i++)
		samples_add(&samples, USUAL_LATENCY | 1, 5 * LATENCY_MAX_NS);
	assert_int_equal(wait_timing_settle(&timings, &samples, 1)->wake_up, LATENCY_MAX_NS);
	samples_release(&samples);
	id_map_release(&timings, free);
}

static void add_all(struct samples *samples, int64_t key, const int64_t *ns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		samples_add(samples, key, ns[i]);
}

static void assert_usual(struct samples *samples, int64_t key, int64_t ns, int64_t spread)
{
	struct usual usual = usual_of(samples, key, 1000);

	assert_int_equal(usual.ns, ns);
	assert_int_equal(usual.spread, spread);
}

/* One of them that was kept for another reason changes neither. */
TEST(usual_is_the_median_and_its_deviation)
{
	struct samples samples = { 0 };

	add_all(&samples, 1, (const int64_t[]){ 110, 90, 100, 105, 400, 95, 100, 100 }, 8);
	assert_usual(&samples, 1, 100, 5 * USUAL_SPREADS);
	samples_add(&samples, 1, 80);
	assert_usual(&samples, 1, 100, 5 * USUAL_SPREADS);
	samples_add(&samples, 1, 85);
	samples_add(&samples, 1, 85);
	assert_usual(&samples, 1, 100, 10 * USUAL_SPREADS);
	add_all(&samples, 2, (const int64_t[]){ 7, 7, 7, 7, 7, 7, 7, 9000 }, 8);
	assert_usual(&samples, 2, 7, 0);
	samples_release(&samples);
}

TEST(with_too_few_examples_the_spread_is_a_part)
{
	struct samples samples = { 0 };

	assert_usual(&samples, 1, 1000, 1000 / USUAL_SPREAD_PART);
	add_all(&samples, 1, (const int64_t[]){ 80, 80 }, 2);
	assert_usual(&samples, 1, 1000, 1000 / USUAL_SPREAD_PART);
	add_all(&samples, 1, (const int64_t[]){ 80, 80, 80, 80, 80 }, 5);
	assert_usual(&samples, 1, 80, 80 / USUAL_SPREAD_PART);
	samples_add(&samples, 1, 80);
	assert_usual(&samples, 1, 80, 0);
	samples_release(&samples);
}
