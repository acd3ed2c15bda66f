// SPDX-License-Identifier: Apache-2.0
// A server takes requests in two streams in turn, and after each submission waits for the device,
// to answer it, though the answer is sent only with the next request. The fix waits for the event
// of the request before.
#include "app.h"

static const int REQUESTS = 50;
static const size_t SIZE = 1 << 12;

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	cudaEvent_t done[2] = { new_event(), new_event() };
	float *state[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };
	float *answer = pinned_floats(2), sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < REQUESTS; i++) {
		int s = i % 2;

		cufence::touch<<<16, 256, 0, stream[s]>>>(MILLISECOND, state[s], SIZE);
		CHECK(cudaGetLastError());
		CHECK(cudaMemcpyAsync(answer + s, state[s], sizeof(float), cudaMemcpyDeviceToHost,
			stream[s]));
		CHECK(cudaEventRecord(done[s], stream[s]));
#ifdef FIXED
		if (i)
			CHECK(cudaEventSynchronize(done[1 - s]));
#else
		CHECK(cudaDeviceSynchronize());
#endif
		sum += answer[1 - s];
	}
	CHECK(cudaDeviceSynchronize());
	printf("%d\n", sum > 0);
	return 0;
}
