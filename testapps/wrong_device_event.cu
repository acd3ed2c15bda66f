// SPDX-License-Identifier: Apache-2.0
// Each device's work is to be marked by an event, but all events are created while the first
// device is current. Recording one in a stream of another device fails unseen, and the later wait
// for it returns at once; what is printed is right only because the copy that fetches it waits.
// The fix creates the event while the device is current to which it belongs.
#include "app.h"

static const int DEVICES = 2, STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void mark(cudaEvent_t done, cudaStream_t stream)
{
	cudaEventRecord(done, stream);
	cudaGetLastError();
}

static NOINLINE void advance(float *data, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND / 8, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	cudaStream_t stream[DEVICES];
	cudaEvent_t done[DEVICES];
	float *data[DEVICES];

	for (int i = 0; i < DEVICES; i++) {
#ifdef FIXED
		CHECK(cudaSetDevice(i));
#else
		CHECK(cudaSetDevice(0));
#endif
		done[i] = new_event();
		CHECK(cudaSetDevice(i));
		load_kernels();
		stream[i] = new_stream();
		data[i] = device_floats(SIZE, 0);
		CHECK(cudaDeviceSynchronize());
	}
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < DEVICES; i++) {
			CHECK(cudaSetDevice(i));
			advance(data[i], stream[i]);
			mark(done[i], stream[i]);
		}
	for (int i = 0; i < DEVICES; i++) {
		CHECK(cudaSetDevice(i));
		CHECK(cudaEventSynchronize(done[i]));
		print_device("data", data[i], SIZE);
	}
	return 0;
}
