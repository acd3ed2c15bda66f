// SPDX-License-Identifier: Apache-2.0
// A rank of a program that reduces gradients in each step; a launcher sets RANK and WORLD_SIZE.
// MODE says what it does for longer than others: "host" loads its data by forty copies, "kernel"
// has a longer one, "finding" frees scratch memory in each step, "order" gathers in one step
// what the others reduce. THREAD=1 reduces on another thread, which waits for main() meanwhile,
// as PyTorch's backward pass does. The stand-in for NCCL has no other ranks: NCCL_TEST_NS says
// how long those that are not late wait.
#include <condition_variable>
#include <mutex>
#include <string.h>
#include <thread>

#include "app.h"
#include "nccl_calls.h"

static const int STEPS = 40;
static const size_t SIZE = 1 << 14;

static NOINLINE void load_batch(float *batch, const float *source, cudaStream_t stream, int times)
{
	for (int i = 0; i < times; i++)
		CHECK(cudaMemcpyAsync(batch, source, SIZE * sizeof(float), cudaMemcpyHostToDevice,
			stream));
}

static NOINLINE void compute(float *gradients, cudaStream_t stream, int ns)
{
	cufence::fill<<<8, 256, 0, stream>>>(ns, gradients, SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void use_scratch(cudaStream_t stream)
{
	float *scratch;

	CHECK(cudaMalloc(&scratch, SIZE * sizeof(float)));
	cufence::touch<<<8, 256, 0, stream>>>(MILLISECOND / 2, scratch, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaFree(scratch));
}

static NOINLINE int reduce(float *gradients, ncclComm_t comm, cudaStream_t stream)
{
	return ncclAllReduce(gradients, gradients, SIZE, ncclFloat32, ncclSum, comm, stream);
}

static NOINLINE int gather(float *gradients, float *all, ncclComm_t comm, cudaStream_t stream)
{
	return ncclAllGather(gradients, all, SIZE / 4, ncclFloat32, comm, stream);
}

// A thread that runs one function at a time, for which another one waits.
struct Turns {
	std::mutex mutex;
	std::condition_variable changed;
	int asked = 0, answered = 0, result = 0, steps;

	template <class F> void serve(F function)
	{
		for (int i = 0; i < steps; i++) {
			std::unique_lock<std::mutex> lock(mutex);
			changed.wait(lock, [&] { return asked > answered; });
			result = function();
			answered++;
			changed.notify_all();
		}
	}
	int ask()
	{
		std::unique_lock<std::mutex> lock(mutex);
		asked++;
		changed.notify_all();
		changed.wait(lock, [&] { return answered == asked; });
		return result;
	}
};

int main()
{
	const char *rank = getenv("RANK"), *world = getenv("WORLD_SIZE"), *mode = getenv("MODE");
	cudaStream_t stream = new_stream();
	float *gradients = device_floats(SIZE, 0), *batch = device_floats(SIZE, 0);
	float *source = (float *)calloc(SIZE, sizeof(float));
	ncclUniqueId id;
	ncclComm_t comm;

	load_kernels();
	if (!rank || !world || !mode)
		return 1;
	// All ranks get the same one, from the first.
	memset(&id, 7, sizeof(id));
	if (ncclCommInitRank(&comm, atoi(world), id, atoi(rank)))
		return 1;
	Turns turns;
	turns.steps = getenv("THREAD") ? STEPS : 0;
	std::thread backward([&] { turns.serve([&] { return reduce(gradients, comm, stream); }); });
	for (int i = 0; i < STEPS; i++) {
		load_batch(batch, source, stream, !strcmp(mode, "host") ? 40 : 1);
		compute(gradients, stream, !strcmp(mode, "kernel") ? MILLISECOND : MILLISECOND / 4);
		if (!strcmp(mode, "finding"))
			use_scratch(stream);
		if (i == 20 && !strcmp(mode, "order")
				? gather(gradients, batch, comm, stream)
				: (turns.steps ? turns.ask() : reduce(gradients, comm, stream)))
			return 1;
		CHECK(cudaStreamSynchronize(stream));
	}
	backward.join();
	ncclCommDestroy(comm);
	print_device("gradients", gradients, SIZE);
	return 0;
}
