// SPDX-License-Identifier: Apache-2.0
// Each step has a factor, which is handed to the kernel by way of a constant: cudaMemcpyToSymbol.
// That is a cudaMemcpy: it waits for all kernels in blocking streams, the host with it, and the
// two tiles, which have a stream each, never overlap.
// The fix passes the factor as an argument.
#include "app.h"
#include "hold.h"

static const int STEPS = 10, TILES = 2;
static const size_t SIZE = 1 << 14;

namespace cufence {

__constant__ float step_factor;

__global__ void scale_by_constant(unsigned long long spin_ns, float *data, size_t n)
{
	unsigned long long start = device_ns();

	for (size_t i = first_element(); i < n; i += element_stride())
		data[i] *= step_factor;
	hold(start, spin_ns);
}

} // namespace cufence

static NOINLINE void set_factor(float factor)
{
	CHECK(cudaMemcpyToSymbol(cufence::step_factor, &factor, sizeof(factor)));
}

static NOINLINE void scale_tile(float *tile, float factor, cudaStream_t stream)
{
#ifdef FIXED
	cufence::scale<<<8, 256, 0, stream>>>(2 * MILLISECOND, tile, SIZE, factor);
#else
	cufence::scale_by_constant<<<8, 256, 0, stream>>>(2 * MILLISECOND, tile, SIZE);
#endif
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[TILES];
	float *tile[TILES];

	set_factor(1);
	for (int i = 0; i < TILES; i++) {
		stream[i] = new_stream(cudaStreamDefault);
		tile[i] = device_floats(SIZE, 0x3f);
	}
	for (int i = 0; i < TILES; i++)
		scale_tile(tile[i], 1, stream[i]);
	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++)
		for (int i = 0; i < TILES; i++) {
			float factor = 1 + (float)((step + i) % 2);

#ifndef FIXED
			set_factor(factor);
#endif
			scale_tile(tile[i], factor, stream[i]);
		}
	for (int i = 0; i < TILES; i++)
		print_device("tile", tile[i], SIZE);
	return 0;
}
