/* SPDX-License-Identifier: Apache-2.0 */
/* The simulated device's queues: what overlaps, what waits for what, what the data is then. */
#include <unistd.h>

#include "sim_driver.h"

SIM_TEST(kernels_of_two_streams_overlap)
{
	spin(stream_create(0), 40 * MS);
	spin(stream_create(0), 40 * MS);
	assert_waited(drv.cuCtxSynchronize(), 40);
}

SIM_TEST(kernels_of_one_stream_follow_each_other)
{
	CUstream s = stream_create(0);

	spin(s, 40 * MS);
	spin(s, 40 * MS);
	assert_waited(drv.cuStreamSynchronize(s), 80);
}

SIM_TEST(legacy_stream_serializes_blocking_streams_on_both_sides)
{
	CUstream a = stream_create(0), b = stream_create(0);

	spin(a, 40 * MS);
	spin(NULL, 1 * MS);
	spin(b, 40 * MS);
	assert_waited(drv.cuCtxSynchronize(), 81);
}

SIM_TEST(legacy_event_record_serializes_too)
{
	CUstream a = stream_create(0), b = stream_create(0);
	CUevent event;

	drv.cuEventCreate(&event, 0);
	spin(a, 40 * MS);
	assert_int_equal(drv.cuEventRecord(event, NULL), 0);
	spin(b, 40 * MS);
	assert_waited(drv.cuCtxSynchronize(), 80);
}

SIM_TEST(non_blocking_streams_ignore_the_legacy_stream)
{
	spin(stream_create(CU_STREAM_NON_BLOCKING), 40 * MS);
	spin(NULL, 40 * MS);
	spin(stream_create(CU_STREAM_NON_BLOCKING), 40 * MS);
	assert_waited(drv.cuCtxSynchronize(), 40);
}

SIM_TEST(per_thread_stream_is_a_blocking_stream)
{
	uint64_t ns = 40 * MS;
	void *values[] = { &ns };

	assert_int_equal(drv.cuLaunchKernel_ptsz(spin_function, 1, 1, 1, 1, 1, 1, 0, NULL, values,
				 NULL),
		0);
	spin(CU_STREAM_LEGACY, 40 * MS);
	assert_waited(drv.cuStreamSynchronize_ptsz(NULL), 40);
	assert_waited(drv.cuStreamSynchronize(NULL), 40);
}

SIM_TEST(stream_waits_for_the_event_as_recorded_at_the_call)
{
	CUstream a = stream_create(0), b = stream_create(0);
	CUevent event;

	drv.cuEventCreate(&event, 0);
	assert_at_once(drv.cuEventSynchronize(event));
	spin(a, 20 * MS);
	drv.cuEventRecord(event, a);
	assert_int_equal(drv.cuStreamWaitEvent(b, event, 0), 0);
	spin(a, 60 * MS);
	drv.cuEventRecord(event, a);
	spin(b, 20 * MS);
	assert_waited(drv.cuStreamSynchronize(b), 40);
	assert_int_equal(drv.cuEventQuery(event), CUDA_ERROR_NOT_READY);
	assert_waited(drv.cuEventSynchronize(event), 40);
}

SIM_TEST(events_measure_virtual_time)
{
	CUstream s = stream_create(0);
	CUevent start, end;
	float ms;

	drv.cuEventCreate(&start, 0);
	drv.cuEventCreate(&end, 0);
	drv.cuEventRecord(start, s);
	spin(s, 30 * MS);
	drv.cuEventRecord(end, s);
	assert_int_equal(drv.cuEventElapsedTime(&ms, start, end), CUDA_ERROR_NOT_READY);
	drv.cuStreamSynchronize(s);
	assert_int_equal(drv.cuEventElapsedTime(&ms, start, end), 0);
	assert_true(ms > 29.99f && ms < 30.02f);
}

SIM_TEST(legacy_query_sees_blocking_streams_only)
{
	spin(stream_create(CU_STREAM_NON_BLOCKING), 40 * MS);
	assert_int_equal(drv.cuStreamQuery(NULL), 0);
	spin(stream_create(0), 40 * MS);
	assert_int_equal(drv.cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
}

SIM_TEST(copies_of_one_direction_share_an_engine)
{
	size_t bytes = 50 << 20; /* about 1 ms each */
	CUdeviceptr device;
	void *host;

	drv.cuMemAlloc_v2(&device, bytes);
	drv.cuMemAllocHost_v2(&host, bytes);
	drv.cuCtxSynchronize();
	for (int i = 0; i < 5; i++)
		drv.cuMemcpyHtoDAsync_v2(device, host, bytes, stream_create(0));
	assert_waited(drv.cuCtxSynchronize(), 5);
	drv.cuMemcpyHtoDAsync_v2(device, host, bytes, stream_create(0));
	drv.cuMemcpyDtoHAsync_v2(host, device, bytes, stream_create(0));
	assert_waited(drv.cuCtxSynchronize(), 1);
}

SIM_TEST(copies_and_memsets_move_bytes_in_stream_order)
{
	CUstream s = stream_create(0);
	char in[64] = "fence", out[64] = "";
	CUdeviceptr device;
	char *pinned;

	drv.cuMemAlloc_v2(&device, 64);
	drv.cuMemAllocHost_v2((void **)&pinned, 64);
	strcpy(pinned, "old");
	drv.cuMemcpyHtoDAsync_v2(device, in, 64, s);
	strcpy(in, "later");
	drv.cuMemsetD8Async(device + 1, 'o', 3, s);
	drv.cuMemcpyDtoHAsync_v2(pinned, device, 64, s);
	assert_string_equal(pinned, "old");
	drv.cuStreamSynchronize(s);
	assert_string_equal(pinned, "foooe");
	drv.cuMemcpyDtoH_v2(out, device + 1, 3);
	assert_string_equal(out, "ooo");
}

static void note_time(void *data)
{
	*(uint64_t *)data = drv.cufence_sim_clock();
}

SIM_TEST(host_function_runs_after_the_work_before_it)
{
	CUstream s = stream_create(0);
	uint64_t start = drv.cufence_sim_clock(), seen = 0;

	spin(s, 20 * MS);
	assert_at_once(drv.cuLaunchHostFunc(s, note_time, &seen));
	spin(s, 20 * MS);
	assert_waited(drv.cuStreamSynchronize(s), 40);
	assert_in_range(seen - start, 20 * MS, 21 * MS);
}

SIM_TEST(sleeping_program_lets_time_pass)
{
	CUstream s = stream_create(0);

	spin(s, 500 * MS);
	/* No call here waits: half a second of the device's passes only if sleeping lets it. */
	for (int i = 0; i < 20 && drv.cuStreamQuery(s); i++)
		usleep(60000 << i / 4);
	assert_int_equal(drv.cuStreamQuery(s), 0);
}

SIM_TEST(pool_memory_is_not_reused_elsewhere_before_its_free)
{
	CUstream a = stream_create(0), b = stream_create(0);
	CUdeviceptr first, same, other, later;

	drv.cuMemAllocAsync(&first, 4096, a);
	spin(a, 40 * MS);
	drv.cuMemFreeAsync(first, a);
	drv.cuMemAllocAsync(&other, 4096, b);
	drv.cuMemAllocAsync(&same, 4096, a);
	assert_int_not_equal(other, first);
	assert_int_equal(same, first);
	drv.cuMemFreeAsync(same, a);
	drv.cuStreamSynchronize(a);
	drv.cuMemAllocAsync(&later, 4096, b);
	assert_int_equal(later, first);
}

GROUP(sim_setup, NULL)
