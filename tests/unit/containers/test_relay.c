/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include <pthread.h>
#include <sched.h>

#include "relay.h"
#include "workers.h"

enum { MANY = 1000000 };

/* What the pieces change; the relay's until it has ended. */
struct seen {
	size_t count, wrong, elsewhere, fails_at;
	pthread_t caller;
};

static int note(void *arg, void *bytes)
{
	struct seen *seen = arg;
	const size_t *number = bytes;

	seen->wrong += *number != seen->count++;
	seen->elsewhere += !pthread_equal(pthread_self(), seen->caller);
	return seen->count == seen->fails_at ? -1 : 0;
}

/* Returns how many pieces were taken. */
static size_t add_all(struct relay *relay, struct seen *seen)
{
	seen->caller = pthread_self();
	for (size_t i = 0; i < MANY; i++) {
		size_t *number = relay_add(relay, note, seen, sizeof(*number));

		if (!number)
			return i;
		*number = i;
	}
	return MANY;
}

TEST(all_is_done_in_order)
{
	struct seen seen = { 0 };
	struct relay *relay = relay_new();

	assert_int_equal(relay_end(relay), 0);
	assert_int_equal(add_all(relay, &seen), MANY);
	assert_int_equal(relay_end(relay), 0);
	assert_int_equal(seen.count, MANY);
	assert_int_equal(seen.wrong, 0);
	assert_int_equal(seen.elsewhere, workers_processors(2) > 1 ? MANY : 0);
	relay_free(relay);
}

TEST(the_caller_does_it_on_one_processor)
{
	struct seen seen = { 0 };
	struct relay *relay;
	cpu_set_t before, one;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	relay = relay_new();
	assert_int_equal(add_all(relay, &seen), MANY);
	assert_int_equal(relay_end(relay), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(seen.count, MANY);
	assert_int_equal(seen.wrong + seen.elsewhere, 0);
	relay_free(relay);
}

TEST(after_a_failure_nothing_is_done)
{
	struct seen seen = { .fails_at = MANY / 10 };
	struct relay *relay = relay_new();

	assert_in_range(add_all(relay, &seen), MANY / 10, MANY - 1);
	assert_int_equal(relay_end(relay), -1);
	assert_int_equal(seen.count, MANY / 10);
	relay_free(relay);
}
