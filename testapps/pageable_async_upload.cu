// SPDX-License-Identifier: Apache-2.0
// The next batch is uploaded behind the training kernel, with cudaMemcpyAsync so that the host can
// see to the evaluation in the meantime. But the batch is pageable and large: the call waits for
// the kernel, then copies through a staging buffer. The evaluation starts when all that is done.
// The fix has the batch in pinned memory.
#include "app.h"

static const int STEPS = 6;
static const size_t BATCH_SIZE = 16 << 20, BATCH_BYTES = BATCH_SIZE * sizeof(float);
static const size_t SCORES = 1 << 10;

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

static NOINLINE void train(const float *batch, float *weights, cudaStream_t stream)
{
	cufence::accumulate<<<64, 256, 0, stream>>>(10 * MILLISECOND, batch, weights, SCORES);
	CHECK(cudaGetLastError());
}

static NOINLINE void upload(float *device, const float *batch, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(device, batch, BATCH_BYTES, cudaMemcpyHostToDevice, stream));
}

static NOINLINE double evaluate(float *scores, float *host, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(10 * MILLISECOND, scores, SCORES);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(host, scores, SCORES * sizeof(float), cudaMemcpyDeviceToHost,
		stream));
	CHECK(cudaStreamSynchronize(stream));
	return checksum(host, SCORES);
}

int main()
{
	load_kernels();
	cudaStream_t training = new_stream(), evaluating = new_stream();
	float *batch = allocate_batch(), *device = device_floats(BATCH_SIZE, 0);
	float *weights = device_floats(SCORES, 0), *scores = device_floats(SCORES, 0);
	float *host = pinned_floats(SCORES);
	double sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		train(device, weights, training);
		upload(device, batch, training);
		sum += evaluate(scores, host, evaluating);
	}
	printf("scores: %.6e\n", sum);
	print_device("weights", weights, SCORES);
	return 0;
}
