// SPDX-License-Identifier: Apache-2.0
// A solver waits for the device after each kernel of 10 us, to see errors at once. The kernels are
// in order anyway, and each waits until the host has woken up and launched it: the device idles for
// half of the time. An error shows without a wait, at a later call.
// The fix looks at errors after each launch, and waits once at the end.
#include "app.h"

static const int STEPS = 400;
static const size_t SIZE = 1 << 12;

static NOINLINE void relax(float *state, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 100, state, SIZE);
	CHECK(cudaGetLastError());
}

#ifndef FIXED
static NOINLINE void check_errors()
{
	CHECK(cudaDeviceSynchronize());
}
#endif

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *state = device_floats(SIZE, 0);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		relax(state, stream);
#ifndef FIXED
		check_errors();
#endif
	}
	print_device("state", state, SIZE);
	return 0;
}
