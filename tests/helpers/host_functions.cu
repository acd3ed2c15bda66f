/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions in all the ways to pass one to CUDA; each run prints a line.  Argument: what to
 * do.  What it prints does not depend on who watches.
 */
#include <cuda.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define CHECK(call) \
	do { \
		cudaError_t error_ = (call); \
		if (error_) { \
			printf("%s:%d: %s\n", #call, __LINE__, cudaGetErrorName(error_)); \
			exit(1); \
		} \
	} while (0)

static std::atomic<int> runs;

static void CUDART_CB say(void *data)
{
	runs++;
	printf("ran %s\n", (const char *)data);
	fflush(stdout);
}

static void CUDART_CB sleep_a_while(void *)
{
	runs++;
	usleep(100000);
}

static void CUDART_CB count(void *)
{
	runs++;
}

static void CUDART_CB called_back(cudaStream_t stream, cudaError_t status, void *data)
{
	printf("%s: called back, %s stream, %s\n", (const char *)data, stream ? "a" : "the default",
		cudaGetErrorName(status));
	fflush(stdout);
}

static void *text(const char *data)
{
	return (void *)data;
}

template <class function> static function driver(const char *name)
{
	return (function)dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
}

/* --- graphs --- */

static void show(const char *what, cudaGraphNode_t node)
{
	auto any = driver<CUresult (*)(CUgraphNode, CUgraphNodeParams *)>("cuGraphNodeGetParams");
	CUgraphNodeParams params = {};
	cudaHostNodeParams host = {};

	CHECK(cudaGraphHostNodeGetParams(node, &host));
	printf("%s: the node has %s function, data %s\n", what, host.fn == say ? "this" : "another",
		(const char *)host.userData);
	if (!any) /* of CUDA 13.2 */
		return;
	if (any(node, &params) || params.type != CU_GRAPH_NODE_TYPE_HOST || params.host.fn != say ||
		params.host.userData != host.userData)
		printf("%s: cuGraphNodeGetParams says otherwise\n", what);
}

static void run_twice(cudaGraph_t graph, cudaStream_t stream)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
}

static void capture(cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphNode_t node;
	size_t nodes = 1;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaLaunchHostFunc(stream, say, text("captured")));
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphGetNodes(graph, &node, &nodes));
	show("captured", node);
	run_twice(graph, stream);
	CHECK(cudaGraphDestroy(graph));
}

/* The stream without a handle that captures is the thread's own only by the name of the call. */
static void capture_per_thread()
{
	auto call = driver<CUresult (*)(CUstream, CUhostFn, void *)>("cuLaunchHostFunc_ptsz");
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeGlobal));
	CHECK((cudaError_t)call(NULL, say, text("captured per thread")));
	CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
	run_twice(graph, cudaStreamPerThread);
	CHECK(cudaGraphDestroy(graph));
}

static void copies(cudaStream_t stream)
{
	cudaHostNodeParams params = { say, text("added") };
	cudaGraph_t graph, clone, parent;
	cudaGraphNode_t node, other;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddHostNode(&node, graph, NULL, 0, &params));
	show("added", node);
	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphNodeFindInClone(&other, node, clone));
	show("cloned", other);
	params.userData = text("set");
	CHECK(cudaGraphHostNodeSetParams(node, &params));
	show("set", node);
	CHECK(cudaGraphCreate(&parent, 0));
	CHECK(cudaGraphAddChildGraphNode(&other, parent, NULL, 0, clone));
	CHECK(cudaGraphDestroy(clone));
	run_twice(graph, stream);
	CHECK(cudaGraphDestroy(graph));
	run_twice(parent, stream);
	CHECK(cudaGraphDestroy(parent));
}

static void executables(cudaStream_t stream)
{
	cudaHostNodeParams params = { say, text("instantiated") };
	cudaGraphExecUpdateResultInfo outcome;
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;

	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddHostNode(&node, graph, NULL, 0, &params));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	params.userData = text("set in the executable");
	CHECK(cudaGraphExecHostNodeSetParams(exec, node, &params));
	show("still", node);
	CHECK(cudaGraphLaunch(exec, stream));
	params.userData = text("updated");
	CHECK(cudaGraphHostNodeSetParams(node, &params));
	CHECK(cudaGraphExecUpdate(exec, graph, &outcome));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

/* The calls of CUDA 12.2 for a node of any type. */
static void any_nodes(cudaStream_t stream)
{
	cudaGraphNodeParams params = {};
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;

	params.type = cudaGraphNodeTypeHost;
	params.host.fn = say;
	params.host.userData = text("any added");
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
	printf("any: the parameters are %s\n", params.host.fn == say ? "as before" : "changed");
	show("any added", node);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, stream));
	params.host.userData = text("any set in the executable");
	CHECK(cudaGraphExecNodeSetParams(exec, node, &params));
	CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	params.host.userData = text("any set");
	CHECK(cudaGraphNodeSetParams(node, &params));
	show("any set", node);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

__global__ void write(int *to)
{
	*to = 1;
}

static void everything()
{
	cudaStream_t stream, other;
	int *memory;

	CHECK(cudaMalloc(&memory, 4));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaLaunchHostFunc(stream, say, text("once")));
	CHECK(cudaLaunchHostFunc(NULL, say, text("once in the default stream")));
	CHECK(cudaStreamAddCallback(stream, called_back, text("callback"), 0));
	CHECK(cudaDeviceSynchronize());
	printf("no function: %s\n", cudaGetErrorName(cudaLaunchHostFunc(stream, NULL, NULL)));
	cudaGetLastError();
	capture(stream);
	capture_per_thread();
	copies(stream);
	executables(stream);
	any_nodes(stream);
	/* Simulated time goes on during a function only if there is work. */
	write<<<1, 1, 0, other>>>(memory);
	CHECK(cudaLaunchHostFunc(stream, sleep_a_while, NULL));
	CHECK(cudaStreamSynchronize(stream));
	printf("%d runs\n", runs.load());
}

/* --- trouble --- */

static std::atomic<int> may_go_on;

static void CUDART_CB wait_for_main(void *)
{
	while (!may_go_on)
		usleep(100);
	runs++;
}

/* More pending at once than the recorder has room for; each stream's queue has 1024 places. */
static void fill_up(int functions)
{
	std::vector<cudaStream_t> streams;

	for (int i = 0; i <= functions / 900; i++) {
		cudaStream_t stream;

		CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
		CHECK(cudaLaunchHostFunc(stream, wait_for_main, NULL));
		streams.push_back(stream);
	}
	for (int i = 0; i < functions; i++)
		CHECK(cudaLaunchHostFunc(streams[i / 900], count, NULL));
	may_go_on = 1;
	CHECK(cudaDeviceSynchronize());
	printf("%d of %d ran\n", runs.load(), functions + (int)streams.size());
}

/* As many different nodes, of which each runs once. */
static void fill_up_nodes(int functions)
{
	cudaGraph_t graph;
	cudaGraphNode_t node;
	cudaGraphExec_t exec;
	int other = 0;

	CHECK(cudaGraphCreate(&graph, 0));
	for (int i = 0; i < functions; i++) {
		cudaHostNodeParams params = { count, (void *)(intptr_t)(i + 1) }, got;

		CHECK(cudaGraphAddHostNode(&node, graph, NULL, 0, &params));
		CHECK(cudaGraphHostNodeGetParams(node, &got));
		other += got.fn != params.fn || got.userData != params.userData;
	}
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	CHECK(cudaGraphLaunch(exec, NULL));
	CHECK(cudaDeviceSynchronize());
	printf("%d of %d ran, %d have others\n", runs.load(), functions, other);
}

/* The kernel may not access that memory: functions after it never run, callbacks do. */
static void fail()
{
	cudaStream_t stream;
	int *elsewhere;

	CHECK(cudaSetDevice(1));
	CHECK(cudaMalloc(&elsewhere, 4));
	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaLaunchHostFunc(stream, say, text("before the error")));
	write<<<1, 1, 0, stream>>>(elsewhere);
	CHECK(cudaLaunchHostFunc(stream, say, text("never")));
	CHECK(cudaStreamAddCallback(stream, called_back, text("after the error"), 0));
	printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(stream)));
	for (int i = 0; i < 3; i++)
		printf("%s\n", cudaGetErrorName(cudaLaunchHostFunc(stream, say, text("never"))));
}

static void CUDA_CB count_back(CUstream, CUresult, void *)
{
	runs++;
}

/* Calls that fail: their functions never run, and the next ones do. */
static void refuse(int functions)
{
	auto call = driver<CUresult (*)(CUstream, CUstreamCallback, void *, unsigned)>(
		"cuStreamAddCallback");
	int refused = 0;

	CHECK(cudaFree(NULL));
	for (int i = 0; i < functions; i++)
		refused += call(NULL, count_back, NULL, 77) == CUDA_ERROR_INVALID_VALUE;
	CHECK((cudaError_t)call(NULL, count_back, NULL, 0));
	CHECK(cudaDeviceSynchronize());
	printf("%d refused, %d ran\n", refused, runs.load());
}

/* Slots are taken by many threads while others free them. */
static void from_threads(int functions)
{
	std::vector<std::thread> threads;

	for (int i = 0; i < 8; i++)
		threads.emplace_back([=] {
			cudaStream_t stream;

			CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
			for (int j = 0; j < functions; j++)
				CHECK(cudaLaunchHostFunc(stream, count, NULL));
			CHECK(cudaStreamSynchronize(stream));
		});
	for (auto &thread : threads)
		thread.join();
	printf("%d of %d ran\n", runs.load(), 8 * functions);
}

static void fork_child()
{
	cudaStream_t stream;
	int status = 0;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaLaunchHostFunc(stream, say, text("parent")));
	CHECK(cudaStreamSynchronize(stream));
	fflush(stdout);
	if (!fork()) {
		printf("child: %s\n",
			cudaGetErrorName(cudaLaunchHostFunc(stream, say, text("child"))));
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	CHECK(cudaLaunchHostFunc(stream, say, text("parent again")));
	CHECK(cudaStreamSynchronize(stream));
	printf("%d\n", status);
}

static void throw_it(void *data)
{
	throw std::string((const char *)data);
}

/* With a driver that calls it at once, as libnullcuda.c. */
static void catch_it()
{
	auto init = driver<CUresult (*)(unsigned)>("cuInit");
	auto call = driver<CUresult (*)(CUstream, CUhostFn, void *)>("cuLaunchHostFunc");

	init(0);
	for (int i = 0; i < 3; i++) {
		try {
			call(NULL, throw_it, text("thrown"));
			printf("nothing was thrown\n");
		} catch (const std::string &what) {
			printf("caught: %s\n", what.c_str());
		}
		call(NULL, say, text("after it"));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "everything"))
		everything();
	else if (!strcmp(what, "full"))
		fill_up(atoi(argv[2]));
	else if (!strcmp(what, "nodes"))
		fill_up_nodes(atoi(argv[2]));
	else if (!strcmp(what, "threads"))
		from_threads(atoi(argv[2]));
	else if (!strcmp(what, "refuse"))
		refuse(atoi(argv[2]));
	else if (!strcmp(what, "fail"))
		fail();
	else if (!strcmp(what, "fork"))
		fork_child();
	else if (!strcmp(what, "throw"))
		catch_it();
	return 0;
}
