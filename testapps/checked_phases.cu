// SPDX-License-Identifier: Apache-2.0
// Clean: a program looks for errors of its kernels once a phase of fifty, by a wait for the device.
// That costs the device some microseconds in milliseconds, which is what such a check is worth.
#include "app.h"

static const int PHASES = 10, KERNELS = 50;
static const size_t SIZE = 1 << 12;

static NOINLINE void run_phase(float *state, cudaStream_t stream)
{
	for (int i = 0; i < KERNELS; i++)
		cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 10, state, SIZE);
}

static NOINLINE void check_phase()
{
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);

	for (int i = 0; i < PHASES; i++) {
		run_phase(state, stream);
		check_phase();
	}
	print_device("state", state, SIZE);
	return 0;
}
