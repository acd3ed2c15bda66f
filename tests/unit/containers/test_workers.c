/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "workers.h"

enum { MANY = 1000 };

struct seen {
	pthread_t caller;
	_Atomic int times[MANY], elsewhere, failing;
	pthread_barrier_t both;
};

static int note(void *arg, size_t number)
{
	struct seen *seen = arg;

	seen->times[number]++;
	seen->elsewhere += !pthread_equal(pthread_self(), seen->caller);
	return seen->failing && number >= MANY / 2;
}

static int meet(void *arg, size_t number)
{
	struct seen *seen = arg;

	pthread_barrier_wait(&seen->both);
	return note(arg, number);
}

static void each_number_is_done_once(void **state)
{
	static struct seen seen;

	(void)state;
	seen.caller = pthread_self();
	assert_int_equal(workers_run(MANY, note, &seen), 0);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(seen.times[i], 1);
	assert_int_equal(workers_run(0, note, &seen), 0);
}

static void after_a_failure_no_further_one_begins(void **state)
{
	static struct seen seen;
	size_t begun = 0;

	(void)state;
	seen.failing = 1;
	assert_int_equal(workers_run(MANY, note, &seen), -1);
	while (begun < MANY && seen.times[begun])
		begun++;
	/* One for each worker may have begun. */
	assert_in_range(begun, MANY / 2 + 1, MANY / 2 + 8);
	for (size_t i = begun; i < MANY; i++)
		assert_int_equal(seen.times[i], 0);
}

static void two_are_done_at_the_same_time(void **state)
{
	static struct seen seen;

	(void)state;
	if (workers_processors(2) < 2)
		skip();
	seen.caller = pthread_self();
	pthread_barrier_init(&seen.both, NULL, 2);
	assert_int_equal(workers_run(2, meet, &seen), 0);
	assert_int_equal(seen.elsewhere, 1);
	pthread_barrier_destroy(&seen.both);
}

static void the_caller_does_all_of_it_on_one_processor(void **state)
{
	static struct seen seen;
	cpu_set_t before, one;
	int first = 0;

	(void)state;
	seen.caller = pthread_self();
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(first, &before))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(workers_processors(8), 1);
	assert_int_equal(workers_run(MANY, note, &seen), 0);
	assert_int_equal(seen.times[MANY - 1], 1);
	assert_int_equal(seen.elsewhere, 0);
	sched_setaffinity(0, sizeof(before), &before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_is_done_once),
		cmocka_unit_test(after_a_failure_no_further_one_begins),
		cmocka_unit_test(two_are_done_at_the_same_time),
		cmocka_unit_test(the_caller_does_all_of_it_on_one_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
