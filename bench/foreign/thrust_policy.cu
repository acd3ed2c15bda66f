// SPDX-License-Identifier: Apache-2.0
// Thrust's policy par waits for the stream at the end of every algorithm, whether the host
// uses a result or not.  The fix is par_nosync.
#include "pair.h"
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>

static const int TURNS = 100, STEPS = 24, COUNT = 1 << 23;

struct push {
	float dt;
	__host__ __device__ float operator()(float place, float speed) const
	{
		return place + dt * speed;
	}
};

struct pull {
	__host__ __device__ float operator()(float speed, float place) const
	{
		return speed - 0.001F * place;
	}
};

template <typename policy>
static void step(policy how, thrust::device_ptr<float> place, thrust::device_ptr<float> speed)
{
	thrust::transform(how, place, place + COUNT, speed, place, push{ 0.01F }); // the wait
	thrust::transform(how, speed, speed + COUNT, place, speed, pull{});        // the wait
}

static void simulate(bool fixed)
{
	cudaStream_t stream;
	float *data[2];

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (float *&each : data)
		CHECK(cudaMalloc(&each, COUNT * sizeof(float)));
	thrust::device_ptr<float> place(data[0]), speed(data[1]);
	thrust::fill(thrust::cuda::par.on(stream), place, place + COUNT, 1.0F);
	thrust::fill(thrust::cuda::par.on(stream), speed, speed + COUNT, 0.5F);
	moment begin = now();
	for (int i = 0; i < TURNS * STEPS; i++)
		if (fixed)
			step(thrust::cuda::par_nosync.on(stream), place, speed);
		else
			step(thrust::cuda::par.on(stream), place, speed);
	CHECK(cudaStreamSynchronize(stream));
	moment end = now();
	double sum = thrust::reduce(thrust::cuda::par.on(stream), place, place + COUNT, 0.0);
	report(begin, end, TURNS, sum);
	for (float *each : data)
		CHECK(cudaFree(each));
	CHECK(cudaStreamDestroy(stream));
}

int main(int count, char **arguments)
{
	return run(simulate, count, arguments);
}
