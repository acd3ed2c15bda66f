// SPDX-License-Identifier: Apache-2.0
// Clean: preprocessing threads, each with a stream of its own; half the streams belong to another
// device. One of the threads forgets to make its device current: the launch runs on the device of
// the stream all the same, in the stream's order, with the device's own memory. Only what is
// created or allocated depends on the current device, and that was done before.
#include <thread>

#include "app.h"

static const int THREADS = 4, STEPS = 6;
static const size_t SIZE = 1 << 14;

static NOINLINE void preprocess(float *data, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

static void work(int thread, float *data, cudaStream_t stream)
{
	if (thread != THREADS - 1)
		CHECK(cudaSetDevice(thread % 2));
	for (int i = 0; i < STEPS; i++)
		preprocess(data, stream);
	CHECK(cudaStreamSynchronize(stream));
}

int main()
{
	cudaStream_t stream[THREADS];
	std::thread threads[THREADS];
	float *data[THREADS];

	for (int i = 0; i < THREADS; i++) {
		CHECK(cudaSetDevice(i % 2));
		load_kernels();
		stream[i] = new_stream();
		data[i] = device_floats(SIZE, 0);
		CHECK(cudaDeviceSynchronize());
	}
	for (int i = 0; i < THREADS; i++)
		threads[i] = std::thread(work, i, data[i], stream[i]);
	for (int i = 0; i < THREADS; i++)
		threads[i].join();
	for (int i = 0; i < THREADS; i++) {
		CHECK(cudaSetDevice(i % 2));
		print_device("data", data[i], SIZE);
	}
	return 0;
}
