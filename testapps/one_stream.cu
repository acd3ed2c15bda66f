// SPDX-License-Identifier: Apache-2.0
// Clean: everything goes to one stream, in order, and at the end a cudaMemcpy fetches the
// result. It goes to the legacy default stream and so waits for the stream, which is of the
// blocking kind; that is how the host learns that the result is there. The copy waits once, and
// for exactly what it copies: there is nothing to say about it.
// A tool that reports every copy that waited would report this program.
#include "app.h"

static const int STEPS = 15;
static const size_t SIZE = 1 << 16, BYTES = SIZE * sizeof(float);

static NOINLINE void launch_step(const float *now, float *next, cudaStream_t stream)
{
	cufence::stencil<<<8, 256, 0, stream>>>(MILLISECOND, now, next, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void fetch_result(float *host, const float *device)
{
	CHECK(cudaMemcpy(host, device, BYTES, cudaMemcpyDeviceToHost));
}

int main()
{
	static float host[SIZE];
	float *device[2];
	cudaStream_t stream;

	for (size_t i = 0; i < SIZE; i++)
		host[i] = (float)(i % 1000);
	CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < 2; i++)
		CHECK(cudaMalloc(&device[i], BYTES));
	CHECK(cudaMemcpy(device[0], host, BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(device[1], host, BYTES, cudaMemcpyHostToDevice));

	for (int step = 0; step < STEPS; step++)
		launch_step(device[step % 2], device[(step + 1) % 2], stream);
	fetch_result(host, device[STEPS % 2]);

	printf("%d steps: %.6f\n", STEPS, checksum(host, SIZE));
	for (int i = 0; i < 2; i++)
		CHECK(cudaFree(device[i]));
	CHECK(cudaStreamDestroy(stream));
	return 0;
}
