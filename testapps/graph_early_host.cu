// SPDX-License-Identifier: Apache-2.0
// A graph copies an input from pinned memory and a result to it; its kernel writes mapped memory.
// The host reads both and overwrites the input while a launch is pending, again after the
// nodes of the executable were given other memory, and after it was updated from another graph.
// The fix waits for each launch.
#include "app.h"

static const size_t SIZE = 1 << 12, BYTES = SIZE * sizeof(float);

struct Memory {
	float *input, *result, *mapped;
};

struct Graph {
	cudaGraph_t graph;
	cudaGraphNode_t upload, work, download;
};

static Memory new_memory()
{
	return { pinned_floats(SIZE), pinned_floats(SIZE), pinned_floats(SIZE) };
}

static NOINLINE void launch(cudaGraphExec_t exec, cudaStream_t stream)
{
	CHECK(cudaGraphLaunch(exec, stream));
#ifdef FIXED
	CHECK(cudaStreamSynchronize(stream));
#endif
}

static NOINLINE double read_result(const volatile float *result)
{
	return result[100];
}

static NOINLINE void fill_input(volatile float *input)
{
	input[100] = 5;
}

static NOINLINE double read_mapped(const volatile float *mapped)
{
	return mapped[101];
}

static NOINLINE double use_changed(volatile float *input, const volatile float *result)
{
	input[102] = 5;
	return result[102];
}

static NOINLINE double use_updated(volatile float *input, const volatile float *mapped)
{
	input[103] = 5;
	return mapped[103];
}

/* The nodes do not use it any more. */
static NOINLINE double use_old(volatile float *input, const volatile float *result)
{
	input[104] = 5;
	return result[104];
}

static Graph new_graph(const Memory &memory, float *device)
{
	unsigned long long spin_ns = MILLISECOND;
	size_t n = SIZE;
	float value = 7, *mapped = memory.mapped;
	void *params[] = { &spin_ns, &mapped, &n, &value };
	cudaKernelNodeParams kernel = {};
	Graph made;

	kernel.func = (void *)cufence::fill;
	kernel.gridDim = 8;
	kernel.blockDim = 256;
	kernel.kernelParams = params;
	CHECK(cudaGraphCreate(&made.graph, 0));
	CHECK(cudaGraphAddMemcpyNode1D(&made.upload, made.graph, NULL, 0, device, memory.input,
		BYTES, cudaMemcpyHostToDevice));
	CHECK(cudaGraphAddKernelNode(&made.work, made.graph, &made.upload, 1, &kernel));
	CHECK(cudaGraphAddMemcpyNode1D(&made.download, made.graph, &made.work, 1, memory.result,
		device, BYTES, cudaMemcpyDeviceToHost));
	return made;
}

static void change_nodes(cudaGraphExec_t exec, const Graph &graph, const Memory &memory,
	float *device)
{
	CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, graph.upload, device, memory.input, BYTES,
		cudaMemcpyHostToDevice));
	CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, graph.download, memory.result, device, BYTES,
		cudaMemcpyDeviceToHost));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	Memory first = new_memory(), second = new_memory(), third = new_memory();
	float *device = device_floats(SIZE, 0);
	Graph graph = new_graph(first, device), other = new_graph(third, device);
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t exec;
	double sum = 0;

	CHECK(cudaGraphInstantiate(&exec, graph.graph, 0));
	CHECK(cudaDeviceSynchronize());
	launch(exec, stream);
	sum += read_result(first.result);
	fill_input(first.input);
	sum += read_mapped(first.mapped);
	CHECK(cudaDeviceSynchronize());
	change_nodes(exec, graph, second, device);
	launch(exec, stream);
	sum += use_changed(second.input, second.result);
	sum += use_old(first.input, first.result);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGraphExecUpdate(exec, other.graph, &info));
	launch(exec, stream);
	sum += use_updated(third.input, third.mapped);
	sum += use_old(second.input, second.result);
	CHECK(cudaDeviceSynchronize());
	printf("sum: %.1f\n", sum);
	return 0;
}
