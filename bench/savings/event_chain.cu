// SPDX-License-Identifier: Apache-2.0
// Four streams work on a chain: each stage waits for the one before it by an event, and different
// items are in different stages. After each item the host waits for the device, only to look at
// the number that the first stage leaves.
// The fix waits for the event of the first stage.
#include "app.h"

static const int ITEMS = 24, STAGES = 4;
static const size_t SIZE = 1 << 10;

int main()
{
	load_kernels();
	cudaStream_t stream[STAGES];
	cudaEvent_t done[STAGES], fetched = new_event();
	float *data[STAGES], *number = pinned_floats(SIZE);
	double sum = 0;

	for (int i = 0; i < STAGES; i++) {
		stream[i] = new_stream();
		done[i] = new_event();
		data[i] = device_floats(SIZE, 0);
	}
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < ITEMS; i++) {
		for (int s = 0; s < STAGES; s++) {
			if (s)
				CHECK(cudaStreamWaitEvent(stream[s], done[s - 1], 0));
			cufence::touch<<<4, 256, 0, stream[s]>>>(MILLISECOND / 2, data[s], SIZE);
			CHECK(cudaGetLastError());
			if (!s) {
				CHECK(cudaMemcpyAsync(number, data[0], SIZE * sizeof(float),
					cudaMemcpyDeviceToHost, stream[0]));
				CHECK(cudaEventRecord(fetched, stream[0]));
			}
			CHECK(cudaEventRecord(done[s], stream[s]));
		}
#ifdef FIXED
		CHECK(cudaEventSynchronize(fetched));
#else
		CHECK(cudaDeviceSynchronize());
#endif
		sum += checksum(number, SIZE);
	}
	printf("numbers: %.6e\n", sum);
	print_device("last", data[STAGES - 1], SIZE);
	return 0;
}
