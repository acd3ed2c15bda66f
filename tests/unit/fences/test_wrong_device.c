/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fail because what they name belongs to another device; others that fail. */
#include "miniature.h"

/* An event of the first device, recorded in a stream of the second; result of the call. */
static void record_elsewhere(struct mini *m, int own_device, int result)
{
	int64_t context = mini_context(m, own_device),
		stream = mini_stream_in(m, context, "blocking");
	int64_t site = mini_site(m, "mark", 13), event = mini_event(m);
	int64_t made = MINI_CALL(m, .type = CALL_cuEventCreate, .at = 5, .event = event);

	mini_exec(m, "UPDATE event SET created = %lld", (long long)made);
	for (int i = 0; i < 2; i++)
		MINI_CALL(m, .type = CALL_cuEventRecord, .at = 10 + 10 * i, .event = event,
			.context = context, .stream = stream, .site = site, .result = result);
}

/* 10 001 failures at one line, and one at another. */
static void failures_hide_no_other_line(void **state)
{
	struct mini *m = *state;

	record_elsewhere(m, 1, 400);
	for (int i = 0; i < 9999; i++)
		MINI_CALL(m, .type = CALL_cuEventRecord, .at = 100 + 10 * i, .event = 1,
			.context = 2, .stream = 2, .site = 1, .result = 400);
	MINI_CALL(m, .type = CALL_cuEventRecord, .at = 200000, .event = 1, .context = 2,
		.stream = 2, .site = mini_site(m, "other", 20), .result = 400);
	assert_string_equal(mini_shown(m), "wrong-device 1001");
	assert_string_equal(mini_text(m, "SELECT group_concat(count) FROM finding_place"),
		"1000,1");
}

static void an_event_of_another_device(void **state)
{
	record_elsewhere(*state, 1, 400);
	assert_string_equal(mini_shown(*state), "wrong-device 2");
	assert_string_equal(mini_text(*state, "SELECT message FROM finding"),
		"cuEventRecord on stream 8 of device 1 failed: what it names belongs to different "
		"devices");
}

static void events_that_failed_otherwise_are_not(void **state)
{
	record_elsewhere(*state, 0, 400);
	assert_string_equal(mini_shown(*state), "");
}

static void errors_of_other_kinds_are_not(void **state)
{
	record_elsewhere(*state, 1, 700);
	assert_string_equal(mini_shown(*state), "");
}

/* A launch into a stream of the second device while the first is current. */
static void launch_elsewhere(struct mini *m, int result)
{
	int64_t stream = mini_stream_in(m, mini_context(m, 1), "blocking");

	MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10, .stream = stream,
		.site = mini_site(m, "go", 7), .kernel = mini_kernel(m, "k"), .result = result);
}

static void a_launch_into_a_stream_of_another_device(void **state)
{
	launch_elsewhere(*state, 400);
	assert_string_equal(mini_shown(*state), "wrong-device 1");
}

static void launches_that_succeed_are_not(void **state)
{
	launch_elsewhere(*state, 0);
	assert_string_equal(mini_shown(*state), "");
}

/* A memset of the second device's memory by the first. */
static void set_elsewhere(struct mini *m, int peers, int result)
{
	int64_t context = mini_context(m, 1);
	int64_t made = MINI_CALL(m, .type = CALL_cuMemAlloc_v2, .at = 5, .context = context);
	int64_t set;

	mini_exec(m, "INSERT INTO allocation VALUES (1, 1, 65536, 4096, 'device', %lld, NULL)",
		(long long)made);
	if (peers)
		MINI_CALL(m, .type = CALL_cuCtxEnablePeerAccess, .at = 8);
	set = MINI_CALL(m, .type = CALL_cuMemsetD8_v2, .at = 10, .stream = MINI_LEGACY,
		.site = mini_site(m, "clear", 13), .bytes = 64, .result = result);
	mini_exec(m, "UPDATE call SET dst = 65600 WHERE id = %lld", (long long)set);
}

static void a_memset_of_another_devices_memory(void **state)
{
	set_elsewhere(*state, 0, 1);
	assert_string_equal(mini_shown(*state), "wrong-device 1");
}

static void memsets_of_peers_memory_are_not(void **state)
{
	set_elsewhere(*state, 1, 1);
	assert_string_equal(mini_shown(*state), "");
}

/* A kernel on the first device that stores to memory of the second; what comes before and after. */
static void store_elsewhere(struct mini *m, int early_error, int peers, int late_error)
{
	int64_t kernel = mini_kernel(m, "k");
	int64_t made =
		MINI_CALL(m, .type = CALL_cuMemAlloc_v2, .at = 5, .context = mini_context(m, 1));
	int64_t launch;

	mini_exec(m, "INSERT INTO allocation VALUES (1, 1, 65536, 4096, 'device', %lld, NULL)",
		(long long)made);
	mini_exec(m, "INSERT INTO kernel_code VALUES (%lld, 'ptx', 1, NULL, 0, NULL)",
		(long long)kernel);
	mini_exec(m,
		"INSERT INTO kernel_access VALUES (%lld, NULL, 0, 'store', 1, 0, 64, NULL, NULL, "
		"NULL, NULL, NULL, NULL, NULL, 1, 0, 0, 0, NULL)",
		(long long)kernel);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 6, .result = early_error);
	if (peers)
		MINI_CALL(m, .type = CALL_cuCtxEnablePeerAccess, .at = 8);
	launch = MINI_CALL(m, .type = CALL_cuLaunchKernel, .at = 10,
		.stream = mini_stream(m, "blocking"), .site = mini_site(m, "go", 7),
		.kernel = kernel);
	mini_exec(m, "INSERT INTO operand VALUES (%lld, 'word', 0, 65536, 1)", (long long)launch);
	MINI_CALL(m, .type = CALL_cuCtxSynchronize, .at = 20, .result = late_error);
}

static void a_kernel_that_broke_its_context(void **state)
{
	store_elsewhere(*state, 0, 0, 700);
	assert_string_equal(mini_shown(*state), "wrong-device 1");
}

static void a_kernel_before_the_error_only(void **state)
{
	store_elsewhere(*state, 700, 0, 0);
	assert_string_equal(mini_shown(*state), "");
}

static void a_kernel_without_an_error_is_not(void **state)
{
	store_elsewhere(*state, 0, 0, 0);
	assert_string_equal(mini_shown(*state), "");
}

static void kernels_with_access_are_not(void **state)
{
	store_elsewhere(*state, 0, 1, 700);
	assert_string_equal(mini_shown(*state), "");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, mini_setup, mini_teardown)
	const struct CMUnitTest tests[] = {
		T(failures_hide_no_other_line),
		T(an_event_of_another_device),
		T(events_that_failed_otherwise_are_not),
		T(errors_of_other_kinds_are_not),
		T(a_launch_into_a_stream_of_another_device),
		T(launches_that_succeed_are_not),
		T(a_memset_of_another_devices_memory),
		T(memsets_of_peers_memory_are_not),
		T(a_kernel_that_broke_its_context),
		T(a_kernel_before_the_error_only),
		T(a_kernel_without_an_error_is_not),
		T(kernels_with_access_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
