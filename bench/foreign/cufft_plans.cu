// SPDX-License-Identifier: Apache-2.0
// A program of Fourier transforms makes a cuFFT plan in every call and destroys it.  The fix
// makes one plan, once.
#include "pair.h"
#include <cufft.h>

static const int TURNS = 60, CALLS = 4, SIZE = 1 << 16, BATCH = 256;

static cufftHandle new_plan()
{
	cufftHandle plan;

	CHECK(cufftPlan1d(&plan, SIZE, CUFFT_C2C, BATCH)); // the wait
	return plan;
}

static void release_plan(cufftHandle plan)
{
	CHECK(cufftDestroy(plan)); // the wait
}

static void transform(cufftComplex *data, cufftComplex *spectrum, bool fixed, cufftHandle kept)
{
	cufftHandle plan = fixed ? kept : new_plan();

	CHECK(cufftExecC2C(plan, data, spectrum, CUFFT_FORWARD));
	CHECK(cufftExecC2C(plan, data, spectrum + (size_t)SIZE * BATCH, CUFFT_INVERSE));
	if (!fixed)
		release_plan(plan);
}

static void analyze(bool fixed)
{
	const size_t bytes = (size_t)SIZE * BATCH * sizeof(cufftComplex);
	cufftComplex *data, *spectrum, first;

	CHECK(cudaMalloc(&data, bytes));
	CHECK(cudaMalloc(&spectrum, 2 * bytes));
	CHECK(cudaMemset(data, 0x3c, bytes)); // 0.0115
	cufftHandle kept = fixed ? new_plan() : 0;
	CHECK(cudaDeviceSynchronize());
	moment begin = now();
	for (int i = 0; i < TURNS * CALLS; i++)
		transform(data, spectrum, fixed, kept);
	CHECK(cudaDeviceSynchronize());
	moment end = now();
	CHECK(cudaMemcpy(&first, spectrum, sizeof first, cudaMemcpyDeviceToHost));
	report(begin, end, TURNS, first.x);
	if (fixed)
		release_plan(kept);
	CHECK(cudaFree(data));
	CHECK(cudaFree(spectrum));
}

int main(int count, char **arguments)
{
	return run(analyze, count, arguments);
}
