// SPDX-License-Identifier: Apache-2.0
// A solver has a kernel for each size of problem, with local arrays to match, and problems grow.
// The first launch that needs more local memory than any before makes the driver allocate it for
// all threads, which waits until the device is idle: for the long job of another stream, too.
// The fix launches the largest once before the work begins.
#include "app.h"
#include "hold.h"

static const int SIZES = 5;
static const size_t SIZE = 1 << 12;

namespace cufence {

template <int WORDS> __device__ void permute(unsigned long long spin_ns, float *data, size_t n)
{
	unsigned long long start = device_ns();
	float local[WORDS];

	for (size_t i = first_element(); i < n; i += element_stride()) {
		for (int k = 0; k < WORDS; k++)
			local[(k * 7 + i) % WORDS] = data[i] + k;
		data[i] = local[(size_t)data[i] % WORDS];
	}
	hold(start, spin_ns);
}

#define SOLVE(words) \
	__global__ void solve_##words(unsigned long long spin_ns, float *data, size_t n) \
	{ \
		permute<words>(spin_ns, data, n); \
	}
SOLVE(512)
SOLVE(768)
SOLVE(1024)
SOLVE(1280)
SOLVE(1536)

} // namespace cufence

static const void *const solvers[SIZES] = {
	(const void *)cufence::solve_512, (const void *)cufence::solve_768,
	(const void *)cufence::solve_1024, (const void *)cufence::solve_1280,
	(const void *)cufence::solve_1536,
};

static NOINLINE void run_long_job(float *data, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(15 * MILLISECOND, data, SIZE); /* ends last */
	CHECK(cudaGetLastError());
}

static NOINLINE void solve(const void *solver, float *data, cudaStream_t stream)
{
	unsigned long long spin_ns = 5 * MILLISECOND;
	size_t n = SIZE;
	void *arguments[] = { &spin_ns, &data, &n };

	CHECK(cudaLaunchKernel(solver, 1, 32, arguments, 0, stream));
}

int main()
{
	load_kernels();
	cudaStream_t working = new_stream(), solving = new_stream();
	float *data = device_floats(SIZE, 0), *problem = device_floats(SIZE, 0);
	struct cudaFuncAttributes attributes;

	for (const void *solver : solvers)
		CHECK(cudaFuncGetAttributes(&attributes, solver));
#ifdef FIXED
	solve(solvers[SIZES - 1], problem, solving);
#else
	solve(solvers[0], problem, solving);
#endif
	CHECK(cudaDeviceSynchronize());
	for (int i = 1; i < SIZES; i++) {
		run_long_job(data, working);
		for (int k = 0; k < 2; k++)
			solve(solvers[i], problem, solving);
	}
	print_device("data", data, SIZE);
	return 0;
}
