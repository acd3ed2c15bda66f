// SPDX-License-Identifier: Apache-2.0
// A careful function raises the stack limit for its kernel and puts it back afterwards. A new
// limit means new memory for the stacks of all threads, so cudaDeviceSetLimit waits until the
// device is idle, here for the kernel just launched, and two streams never overlap.
// The fix sets the limit once, to what the most demanding kernel needs.
#include "app.h"

static const int STEPS = 20;
static const size_t SIZE = 1 << 14;

static NOINLINE void set_stack(size_t bytes)
{
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, bytes));
}

static NOINLINE void solve(float *data, cudaStream_t stream)
{
	cufence::touch<<<8, 256, 0, stream>>>(2 * MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *data[2] = { device_floats(SIZE, 0), device_floats(SIZE, 0) };

	CHECK(cudaDeviceSynchronize());
#ifdef FIXED
	set_stack(4096);
	for (int i = 0; i < STEPS; i++)
		solve(data[i % 2], stream[i % 2]);
#else
	for (int i = 0; i < STEPS; i++) {
		set_stack(4096);
		solve(data[i % 2], stream[i % 2]);
		set_stack(2048);
	}
#endif
	for (int i = 0; i < 2; i++)
		print_device("data", data[i], SIZE);
	return 0;
}
