// SPDX-License-Identifier: Apache-2.0
// Two threads work on data of their own and should overlap. One was ported to the per-thread
// default stream, the other still launches into stream 0, which is the legacy default stream. The
// per-thread stream is a blocking stream: each waits for the other's earlier work, all the time.
// The fix uses the per-thread default stream in both.
#include <thread>

#include "app.h"

static const int STEPS = 20;
static const size_t SIZE = 1 << 14;

static NOINLINE void advance_fluid(float *fluid)
{
	cufence::touch<<<8, 256, 0, cudaStreamPerThread>>>(MILLISECOND, fluid, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void advance_bodies(float *bodies)
{
#ifdef FIXED
	cufence::touch<<<8, 256, 0, cudaStreamPerThread>>>(MILLISECOND, bodies, SIZE);
#else
	cufence::touch<<<8, 256>>>(MILLISECOND, bodies, SIZE);
#endif
	CHECK(cudaGetLastError());
}

static void run_fluid(float *fluid, pthread_barrier_t *barrier)
{
	start_together(barrier);
	for (int i = 0; i < STEPS; i++) {
		advance_fluid(fluid);
		CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	}
}

static void run_bodies(float *bodies, pthread_barrier_t *barrier)
{
	start_together(barrier);
	for (int i = 0; i < STEPS; i++) {
		advance_bodies(bodies);
#ifdef FIXED
		CHECK(cudaStreamSynchronize(cudaStreamPerThread));
#else
		CHECK(cudaStreamSynchronize(0));
#endif
	}
}

int main()
{
	load_kernels();
	float *fluid = device_floats(SIZE, 0), *bodies = device_floats(SIZE, 0);

	pthread_barrier_t barrier;

	pthread_barrier_init(&barrier, NULL, 2);
	CHECK(cudaDeviceSynchronize());

	std::thread fluids(run_fluid, fluid, &barrier), rigid(run_bodies, bodies, &barrier);

	fluids.join();
	rigid.join();
	print_device("fluid", fluid, SIZE);
	print_device("bodies", bodies, SIZE);
	return 0;
}
