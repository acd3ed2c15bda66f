/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "sim_text.h"

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

GROUP(sim_text_setup, NULL)
