// SPDX-License-Identifier: Apache-2.0
// Kernels report into pinned host memory, and each report is cleared by cudaMemset before its
// kernel is launched. cudaMemset returns at once on device memory only: on host memory it waits
// for the legacy stream and all blocking streams, so one kernel runs at a time.
// The fix clears the report by memset: nothing on the device uses it yet.
#include <string.h>

#include "app.h"

static const int REPORTS = 20;
static const size_t REPORT_SIZE = 1 << 10, SIZE = REPORTS * REPORT_SIZE;

static NOINLINE void clear(float *report)
{
#ifdef FIXED
	memset(report, 0, REPORT_SIZE * sizeof(float));
#else
	CHECK(cudaMemset(report, 0, REPORT_SIZE * sizeof(float)));
#endif
}

static NOINLINE void write_report(const float *data, float *report, cudaStream_t stream)
{
	cufence::accumulate<<<1, 256, 0, stream>>>(2 * MILLISECOND, data, report, REPORT_SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(cudaStreamDefault), new_stream(cudaStreamDefault) };
	float *reports = pinned_floats(SIZE), *data = device_floats(REPORT_SIZE, 0x3f);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < REPORTS; i++) {
		clear(reports + i * REPORT_SIZE);
		write_report(data, reports + i * REPORT_SIZE, stream[i % 2]);
	}
	CHECK(cudaDeviceSynchronize());
	printf("reports: %.6e\n", checksum(reports, SIZE));
	return 0;
}
