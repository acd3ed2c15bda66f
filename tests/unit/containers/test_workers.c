/* SPDX-License-Identifier: Apache-2.0 */
#include "miniature.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lost_pages.h"
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

TEST(each_number_is_done_once)
{
	static struct seen seen;

	seen.caller = pthread_self();
	assert_int_equal(workers_run(MANY, note, &seen), 0);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(seen.times[i], 1);
	assert_int_equal(workers_run(0, note, &seen), 0);
}

TEST(after_a_failure_no_further_one_begins)
{
	static struct seen seen;
	size_t begun = 0;

	seen.failing = 1;
	assert_int_equal(workers_run(MANY, note, &seen), -1);
	while (begun < MANY && seen.times[begun])
		begun++;
	/* One for each worker may have begun. */
	assert_in_range(begun, MANY / 2 + 1, MANY / 2 + 8);
	for (size_t i = begun; i < MANY; i++)
		assert_int_equal(seen.times[i], 0);
}

TEST(two_are_done_at_the_same_time)
{
	static struct seen seen;

	if (workers_processors(2) < 2)
		skip();
	seen.caller = pthread_self();
	pthread_barrier_init(&seen.both, NULL, 2);
	assert_int_equal(workers_run(2, meet, &seen), 0);
	assert_int_equal(seen.elsewhere, 1);
	pthread_barrier_destroy(&seen.both);
}

static int read_cut_file(void *arg, size_t number)
{
	struct seen *seen = arg;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int file = memfd_create("cut", MFD_CLOEXEC);
	struct lost_pages pages;
	unsigned char *base;

	if (file < 0 || ftruncate(file, (off_t)(2 * page)))
		return -1;
	base = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, file, 0);
	lost_pages_watch(&pages, base, 2 * page);
	pthread_barrier_wait(&seen->both);
	if (ftruncate(file, (off_t)page))
		return -1;
	seen->failing += base[page + number] || !pages.lost;
	lost_pages_unwatch(&pages);
	munmap(base, 2 * page);
	close(file);
	return 0;
}

TEST(a_worker_may_read_a_file_that_is_cut_off)
{
	static struct seen seen;

	if (workers_processors(2) < 2)
		skip();
	pthread_barrier_init(&seen.both, NULL, 2);
	assert_int_equal(workers_run(2, read_cut_file, &seen), 0);
	assert_int_equal(seen.failing, 0);
	pthread_barrier_destroy(&seen.both);
}

TEST(the_caller_does_all_of_it_on_one_processor)
{
	static struct seen seen;
	cpu_set_t before, one;
	int first = 0;

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
