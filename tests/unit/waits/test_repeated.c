/* SPDX-License-Identifier: Apache-2.0 */
/* Which waits have nothing to wait for (fix/repeated.c). */
#include "unit.h"

#include "repeated.c"

struct fix fix;
static uint64_t context = 7;

static void nothing(void)
{
}

static CUresult current(CUcontext *made)
{
	*made = (CUcontext)(uintptr_t)context;
	return CUDA_SUCCESS;
}

static const struct hold_recorder recorder = { .own_begin = nothing, .own_end = nothing };

static int begin(void **state)
{
	memset(&all, 0, sizeof(all));
	context = 7;
	fix.recorder = &recorder;
	fix.driver.current_context = current;
	return 0;
}

static struct fixed_call call_of(enum call_kind kind, uint64_t stream)
{
	return (struct fixed_call){ .kind = kind, .stream = stream };
}

static void launch(uint64_t stream)
{
	struct fixed_call call = call_of(KIND_LAUNCH, stream);

	repeated_pass(&call);
	repeated_pass(&call);
}

/* Returns 1 if the wait is left out; else it is made. */
static int wait(enum call_kind kind, uint64_t stream)
{
	struct fixed_call call = call_of(kind, stream);

	repeated_pass(&call);
	if (repeated_wait(&call))
		return 1;
	repeated_note(&call);
	return 0;
}

TEST_WITH(a_wait_is_left_out_until_something_is_submitted, begin, NULL)
{
	launch(0x100);
	assert_false(wait(KIND_STREAM_SYNC, 0x100));
	assert_true(wait(KIND_STREAM_SYNC, 0x100));
	/* The stream was the only one. */
	assert_true(wait(KIND_CONTEXT_SYNC, 0));
	assert_true(wait(KIND_EVENT_SYNC, 0));
	launch(0x100);
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
	assert_true(wait(KIND_STREAM_SYNC, 0x100));
}

TEST_WITH(other_streams_are_waited_for, begin, NULL)
{
	launch(0x100);
	launch(0x200);
	assert_false(wait(KIND_STREAM_SYNC, 0x100));
	assert_true(wait(KIND_STREAM_SYNC, 0x100));
	assert_false(wait(KIND_EVENT_SYNC, 0));
	assert_false(wait(KIND_STREAM_SYNC, 0x200));
	assert_true(wait(KIND_CONTEXT_SYNC, 0));
}

TEST_WITH(unknown_work_is_waited_for, begin, NULL)
{
	struct fixed_call other = call_of(KIND_OTHER, 0x100);

	/* The legacy stream, and a call whose streams are not known. */
	launch(0);
	assert_false(wait(KIND_STREAM_SYNC, 0x100));
	assert_false(wait(KIND_STREAM_SYNC, 0));
	assert_false(wait(KIND_STREAM_SYNC, 0x100));
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
	assert_true(wait(KIND_STREAM_SYNC, 0x100));
	repeated_pass(&other);
	assert_false(wait(KIND_STREAM_SYNC, 0x200));
	/* More streams than the table has. */
	begin(state);
	for (uint64_t i = 1; i <= STREAMS + 1; i++)
		launch(i << 8);
	assert_false(wait(KIND_STREAM_SYNC, 0x100));
	assert_false(wait(KIND_STREAM_SYNC, 0x100));
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
	assert_true(wait(KIND_STREAM_SYNC, 0x100));
}

/* A thread whose launch has begun may submit after the wait, and say so to the one that waits. */
TEST_WITH(a_call_in_progress_submits_until_it_ends, begin, NULL)
{
	struct fixed_call launched = call_of(KIND_LAUNCH, 0x100);
	struct fixed_call waiting = call_of(KIND_STREAM_SYNC, 0x100);

	repeated_pass(&launched);
	repeated_pass(&waiting);
	repeated_pass(&launched);
	repeated_note(&waiting);
	assert_false(wait(KIND_STREAM_SYNC, 0x100));
	assert_true(wait(KIND_STREAM_SYNC, 0x100));
}

TEST_WITH(a_wait_is_for_its_context, begin, NULL)
{
	launch(0x100);
	context = 8;
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
	context = 7;
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
	assert_true(wait(KIND_CONTEXT_SYNC, 0));
	/* Unknown work of two contexts is never over. */
	launch(0);
	context = 8;
	launch(0);
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
	assert_false(wait(KIND_CONTEXT_SYNC, 0));
}
