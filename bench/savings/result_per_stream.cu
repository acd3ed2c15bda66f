// SPDX-License-Identifier: Apache-2.0
// Four streams compute a part each, and the host reads each part's result by cudaMemcpy as soon as
// it has launched the part: that goes to the legacy stream and waits for the blocking streams.
// The fix launches all parts, and then reads the results in their streams.
#include "app.h"

static const int STEPS = 10, PARTS = 4;
static const size_t SIZE = 1 << 12;

int main()
{
	load_kernels();
	cudaStream_t stream[PARTS];
	float *part[PARTS], *result = pinned_floats(PARTS);

	for (int i = 0; i < PARTS; i++) {
		stream[i] = new_stream(cudaStreamDefault);
		part[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < PARTS; i++) {
			cufence::touch<<<16, 256, 0, stream[i]>>>(MILLISECOND, part[i], SIZE);
			CHECK(cudaGetLastError());
#ifdef FIXED
		}
		for (int i = 0; i < PARTS; i++) {
			CHECK(cudaMemcpyAsync(result + i, part[i], sizeof(float),
				cudaMemcpyDeviceToHost, stream[i]));
		}
		CHECK(cudaDeviceSynchronize());
#else
			CHECK(cudaMemcpy(result + i, part[i], sizeof(float),
				cudaMemcpyDeviceToHost));
		}
#endif
	}
	printf("%.0f\n", (double)result[0]);
	return 0;
}
