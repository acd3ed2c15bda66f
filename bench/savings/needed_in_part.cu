// SPDX-License-Identifier: Apache-2.0
// In the legacy default stream two kernels alternate: one adds up what the first stream computed,
// and needs it; the other keeps statistics of its own. Only the second one's order is a mistake.
// The fix moves the statistics to a stream of their own and leaves the sums where they are.
#include "app.h"

static const int STEPS = 16;
static const size_t SIZE = 1 << 12;

static void add_up(const float *data, float *sum)
{
	cufence::accumulate<<<4, 256>>>(MILLISECOND / 2, data, sum, SIZE);
	CHECK(cudaGetLastError());
}

static void keep_statistics(float *statistics, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, statistics, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream(cudaStreamDefault), apart = new_stream();
	float *data = device_floats(SIZE, 0), *sum = device_floats(SIZE, 0);
	float *statistics = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE);
		CHECK(cudaGetLastError());
		add_up(data, sum);
#ifdef FIXED
		keep_statistics(statistics, apart);
#else
		keep_statistics(statistics, 0);
#endif
	}
	(void)apart;
	print_device("sum", sum, SIZE);
	print_device("statistics", statistics, SIZE);
	return 0;
}
