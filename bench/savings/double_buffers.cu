// SPDX-License-Identifier: Apache-2.0
// A pipeline of two buffers, as in the CUDA C++ Programming Guide's "Overlapping Behavior": the
// copy of the next chunk and the kernel of this one are in two streams. The kernel's stream is
// synchronized before the next copy is submitted, for a buffer which an event wait would guard.
// The fix has the copying stream wait for the event of the kernel that used its buffer.
#include "app.h"

static const int CHUNKS = 40;
static const size_t SIZE = 4 << 20;

int main()
{
	load_kernels();
	cudaStream_t copying = new_stream(), computing = new_stream();
	float *input = pinned_floats(SIZE), *buffer[2], *sum = device_floats(1 << 10, 0);
	cudaEvent_t copied[2] = { new_event(), new_event() },
		    used[2] = { new_event(), new_event() };

	for (float *&one : buffer)
		one = device_floats(SIZE, 0);
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < CHUNKS; i++) {
		int b = i % 2;

#ifdef FIXED
		CHECK(cudaStreamWaitEvent(copying, used[b], 0));
#else
		CHECK(cudaStreamSynchronize(computing));
#endif
		CHECK(cudaMemcpyAsync(buffer[b], input, SIZE * sizeof(float),
			cudaMemcpyHostToDevice, copying));
		CHECK(cudaEventRecord(copied[b], copying));
		CHECK(cudaStreamWaitEvent(computing, copied[b], 0));
		cufence::accumulate<<<16, 256, 0, computing>>>(MILLISECOND / 2, buffer[b], sum,
			1 << 10);
		CHECK(cudaGetLastError());
		CHECK(cudaEventRecord(used[b], computing));
	}
	print_device("sum", sum, 1 << 10);
	return 0;
}
