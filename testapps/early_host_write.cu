// SPDX-License-Identifier: Apache-2.0
// The next batch is written into the pinned buffer from which the last one is still to be
// copied: cudaMemcpyAsync returned at once, its stream is busy, and the device gets the next
// batch twice. With pageable memory the call would have read the buffer before it returned.
// The fix waits for an event that is recorded after the copy before it fills the buffer again.
#include "app.h"

static const int BATCHES = 10;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

static NOINLINE void fill_batch(volatile float *batch, int number)
{
	for (size_t i = 0; i < SIZE; i++)
		batch[i] = (float)number;
}

static NOINLINE void upload(float *device, const float *batch, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(device, batch, BYTES, cudaMemcpyHostToDevice, stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *device = device_floats(BATCHES * SIZE, 0), *batch = pinned_floats(SIZE);
	cudaEvent_t uploaded = new_event();

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < BATCHES; i++) {
		fill_batch(batch, i);
		upload(device + i * SIZE, batch, stream);
#ifdef FIXED
		CHECK(cudaEventRecord(uploaded, stream));
		CHECK(cudaEventSynchronize(uploaded));
#endif
	}
	print_device("batches", device, BATCHES * SIZE);
	CHECK(cudaEventDestroy(uploaded));
	return 0;
}
