// SPDX-License-Identifier: Apache-2.0
// cudaMemcpy is taken for a call that returns when the copy is done. From device to device it
// returns at once; the copy waits in the legacy stream for the work there, and a kernel in a
// non-blocking stream, launched next, reads the destination before anything was copied.
// The fix records an event after the copy, and the reader's stream waits for it.
#include "app.h"

static const int LAYERS = 10;
static const size_t LAYER_SIZE = 1 << 16, SIZE = LAYERS * LAYER_SIZE;

static NOINLINE void train(float *weights)
{
	cufence::touch<<<8, 256>>>(MILLISECOND, weights, LAYER_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void snapshot(float *copy, const float *weights)
{
	CHECK(cudaMemcpy(copy, weights, LAYER_SIZE * sizeof(float), cudaMemcpyDeviceToDevice));
}

static NOINLINE void evaluate(const float *copy, float *score, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 4, copy, score, LAYER_SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *weights = device_floats(SIZE, 0), *copies = device_floats(SIZE, 0);
	float *scores = device_floats(SIZE, 0);
#ifdef FIXED
	cudaEvent_t copied = new_event();
#endif

	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < SIZE; i += LAYER_SIZE) {
		train(weights + i);
		snapshot(copies + i, weights + i);
#ifdef FIXED
		CHECK(cudaEventRecord(copied, 0));
		CHECK(cudaStreamWaitEvent(stream, copied, 0));
#endif
		evaluate(copies + i, scores + i, stream);
	}
	print_device("scores", scores, SIZE);
	return 0;
}
