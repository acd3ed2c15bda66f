/* SPDX-License-Identifier: Apache-2.0 */
/* What is resident of a large file is bounded, and none of it is lost. */
#include "unit.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "column.h"
#include "resident.h"

enum { MOST = 8 << 20, SIZE = 64 << 20, STEP = 4096 };

static char *map_file(const struct scratch *scratch)
{
	char *at;

	assert_int_equal(ftruncate(scratch->file, SIZE), 0);
	at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, scratch->file, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void wait_until_at_most(size_t bytes)
{
	for (int i = 0; i < 3000 && resident_bytes() > bytes; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	assert_in_range(resident_bytes(), 0, bytes);
}

TEST(pages_are_given_back_and_keep_their_contents)
{
	struct resident *resident = resident_new(MOST);
	size_t before = resident_bytes();
	struct scratch scratch;
	char *at;

	assert_int_equal(scratch_open(&scratch), 0);
	at = map_file(&scratch);
	for (size_t i = 0; i < SIZE; i += SIZE / 4)
		resident_add(resident, at + i, SIZE / 4);
	for (int round = 1; round < 3; round++) {
		for (size_t i = 0; i < SIZE; i += STEP)
			at[i] = (char)(i / STEP + round);
		wait_until_at_most(before + 2 * MOST);
		for (size_t i = 0; i < SIZE; i += STEP)
			assert_int_equal(at[i], (char)(i / STEP + round));
	}
	resident_remove(resident, at, SIZE);
	resident_free(resident);
	munmap(at, SIZE);
	scratch_close(&scratch);
}

static void touch(char *at)
{
	for (size_t i = 0; i < SIZE; i += STEP)
		at[i] = 1;
}

/* A trace that was read counts no longer once it is unmapped. */
TEST(the_bound_does_not_keep_room_for_what_has_gone)
{
	struct resident *resident = resident_new(MOST);
	size_t before = resident_bytes();
	struct scratch scratch, other;
	char *at, *beside;

	assert_int_equal(scratch_open(&scratch), 0);
	assert_int_equal(scratch_open(&other), 0);
	at = map_file(&scratch);
	beside = map_file(&other);
	resident_add(resident, at, SIZE);
	touch(beside);
	touch(at);
	wait_until_at_most(before + SIZE + 2 * MOST);
	munmap(beside, SIZE);
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	touch(at);
	wait_until_at_most(before + 2 * MOST);
	resident_remove(resident, at, SIZE);
	resident_free(resident);
	munmap(at, SIZE);
	scratch_close(&scratch);
	scratch_close(&other);
}

/* It may be memory of others then. */
TEST(removed_ranges_are_left_alone)
{
	struct resident *resident = resident_new(MOST);
	struct scratch scratch;
	char *at, *private;

	assert_int_equal(scratch_open(&scratch), 0);
	at = map_file(&scratch);
	resident_add(resident, at, SIZE);
	resident_remove(resident, at, SIZE);
	private = mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, scratch.file, 0);
	assert_ptr_equal(private, at);
	for (size_t i = 0; i < SIZE; i += STEP)
	private[i] = 1;
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	for (size_t i = 0; i < SIZE; i += STEP)
		assert_int_equal(private[i], 1);
	resident_free(resident);
	munmap(at, SIZE);
	scratch_close(&scratch);
}
