// SPDX-License-Identifier: Apache-2.0
// Each step uploads a batch of 16 MiB and computes on it, in one stream. Nothing could overlap, and
// yet the batch being pageable makes each step longer: the host copies it through a staging buffer,
// which is slower than the bus, and submits the next step only when the one before is done.
// The fix has the batch in pinned memory: the transfer is as fast as the bus, the host runs ahead.
#include "app.h"

static const int STEPS = 20;
static const size_t BATCH_SIZE = 4 << 20, BATCH_BYTES = BATCH_SIZE * sizeof(float);
static const size_t WEIGHTS = 1 << 10;

static float *allocate_batch()
{
#ifdef FIXED
	return pinned_floats(BATCH_SIZE);
#else
	float *batch = (float *)malloc(BATCH_BYTES);

	for (size_t i = 0; batch && i < BATCH_SIZE; i++)
		batch[i] = (float)(i % 1000);
	return batch;
#endif
}

static NOINLINE void upload(float *device, const float *batch, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(device, batch, BATCH_BYTES, cudaMemcpyHostToDevice, stream));
}

static NOINLINE void train(const float *batch, float *weights, cudaStream_t stream)
{
	cufence::accumulate<<<64, 256, 0, stream>>>(MILLISECOND, batch, weights, WEIGHTS);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *batch = allocate_batch(), *device = device_floats(BATCH_SIZE, 0);
	float *weights = device_floats(WEIGHTS, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		upload(device, batch, stream);
		train(device, weights, stream);
	}
	print_device("weights", weights, WEIGHTS);
#ifdef FIXED
	CHECK(cudaFreeHost(batch));
#else
	free(batch);
#endif
	return 0;
}
