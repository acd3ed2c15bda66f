/* SPDX-License-Identifier: Apache-2.0 */
/* What a fix keeps of the program's freed memory, and when it is idle (fix/freed.c). */
#include "unit.h"

#include "freed.c"

static unsigned frees;

static CUresult count_free(uint64_t handle)
{
	frees++;
	return CUDA_SUCCESS;
}

static struct fixed_call call_of(uint64_t ptr)
{
	return (struct fixed_call){ .id = CALL_cuMemFreeHost,
		.kind = KIND_FREE_HOST,
		.ptr = ptr,
		.real = (void *)count_free };
}

static int begin(void **state)
{
	freed = (typeof(freed)){ 0 };
	frees = 0;
	return 0;
}

/* Returns 1 if it was kept. */
static int free_host(uint64_t ptr)
{
	struct fixed_call call = call_of(ptr);

	return freed_keep(&call);
}

TEST_WITH(memory_is_idle_after_a_wait_that_began_later, begin, NULL)
{
	uint64_t begun;

	freed_note_host(0x1000, 64, 0);
	freed_note_host(0x2000, 64, 0);
	assert_true(free_host(0x1000));
	assert_int_equal(freed_take_host(64, 0), 0);
	begun = freed_so_far();
	/* Another thread frees, while the first one waits. */
	assert_true(free_host(0x2000));
	freed_now_idle(begun);
	assert_int_equal(freed_take_host(64, 0), 0x1000);
	assert_int_equal(freed_take_host(64, 0), 0);
	freed_now_idle(freed_so_far());
	assert_int_equal(freed_take_host(32, 0), 0);
	assert_int_equal(freed_take_host(64, 1), 0);
	assert_int_equal(freed_take_host(64, 0), 0x2000);
	assert_int_equal(frees, 0);
}

/* Its size is not known, so it is no use to keep it. */
TEST_WITH(memory_of_before_is_freed, begin, NULL)
{
	assert_true(free_host(0x3000));
	freed_now_idle(0);
	assert_int_equal(frees, 0);
	freed_now_idle(freed_so_far());
	assert_int_equal(frees, 1);
}

TEST_WITH(all_is_given_back, begin, NULL)
{
	unsigned kept = 0;

	for (uint64_t i = 1; i <= KEPT + 2; i++)
		kept += (unsigned)free_host(i << 12);
	assert_int_equal(kept, KEPT);
	assert_int_equal(freed_release(), KEPT);
	assert_int_equal(frees, KEPT);
	assert_int_equal(freed_release(), 0);
}

TEST_WITH(a_second_context_is_noticed, begin, NULL)
{
	assert_false(freed_is_other_context(0));
	assert_false(freed_is_other_context(7));
	assert_false(freed_is_other_context(7));
	assert_false(freed_is_other_context(0));
	assert_true(freed_is_other_context(8));
	assert_true(freed_is_other_context(8));
}

struct fix fix;
