// SPDX-License-Identifier: Apache-2.0
// Clean: each step's result is sent from device memory by message passing, which lets a network
// card read it without a call of CUDA. So the host waits for the step first, and what it waits for
// no record shows. The library is a stand-in with the name of the real one.
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "app.h"

static const int STEPS = 100;
static const size_t SIZE = 1 << 12;

typedef int send_function(const void *data, int count);

static send_function *load_send()
{
	char program[PATH_MAX] = "", library[PATH_MAX + 16];

	if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0)
		exit(1);
	snprintf(library, sizeof(library), "%s/libmpi.so", dirname(program));
	void *handle = dlopen(library, RTLD_NOW);
	void *symbol = handle ? dlsym(handle, "MPI_Send") : NULL;

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return (send_function *)symbol;
}

static NOINLINE void step(float *halo, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 50, halo, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for_step(cudaStream_t stream)
{
	CHECK(cudaStreamSynchronize(stream));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	// After the first calls of CUDA: it is on no stack, and was not loaded when they were made.
	send_function *send = load_send();
	float *halo = device_floats(SIZE, 0);

	for (int i = 0; i < STEPS; i++) {
		step(halo, stream);
		wait_for_step(stream);
		if (send(halo, SIZE))
			return 1;
	}
	print_device("halo", halo, SIZE);
	return 0;
}
