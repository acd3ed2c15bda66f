// SPDX-License-Identifier: Apache-2.0
// Clean: the memory of a result is exported to another process, which is told by a pipe when a
// result is there. The host waits for each one before it tells; what the other process does with
// it no record shows. (The reader is a thread here, which opens no handle.)
#include <thread>
#include <unistd.h>

#include "app.h"

static const int STEPS = 100;
static const size_t SIZE = 1 << 12;

static NOINLINE void step(float *result, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND / 50, result, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void wait_for_step(cudaStream_t stream)
{
	CHECK(cudaStreamSynchronize(stream));
}

static void read_all(int from)
{
	char word;

	while (read(from, &word, 1) == 1)
		continue;
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *result = device_floats(SIZE, 0);
	cudaIpcMemHandle_t handle;
	int ends[2];

	CHECK(cudaIpcGetMemHandle(&handle, result));
	if (pipe(ends))
		return 1;
	std::thread reader(read_all, ends[0]);

	for (int i = 0; i < STEPS; i++) {
		step(result, stream);
		wait_for_step(stream);
		if (write(ends[1], "r", 1) != 1)
			return 1;
	}
	close(ends[1]);
	reader.join();
	print_device("result", result, SIZE);
	return 0;
}
