// SPDX-License-Identifier: Apache-2.0
// Measures the cost of calls, in ns: constants.def has from here the cost of recording and of a
// fix. Prints a line per item, the median and the quartiles. Run it as it is and under
// "cufence run": the difference is the cost of recording. Items are of calls on an idle device, so
// that none waits; device time is that of work which was queued after a kernel.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <algorithm>
#include <cuda_runtime.h>
#include <sys/mman.h>

#include "kernels.h"

#define CHECK(call) \
	do { \
		cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorString(error_)); \
			exit(1); \
		} \
	} while (0)

static double now()
{
	using namespace std::chrono;
	return (double)duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

static void show(const char *item, size_t size, std::vector<double> ns)
{
	std::sort(ns.begin(), ns.end());
	printf("%s\t%zu\t%.0f\t%.0f\t%.0f\n", item, size, ns[ns.size() / 2], ns[ns.size() / 4],
		ns[3 * ns.size() / 4]);
}

// A batch of calls on an idle device, again and again: ns for each call.
template <typename Call> static void show_calls(const char *item, Call call, int batch = 100)
{
	std::vector<double> ns;

	for (int i = 0; i < 30; i++) {
		CHECK(cudaDeviceSynchronize());
		double from = now();
		for (int n = 0; n < batch; n++)
			call();
		ns.push_back((now() - from) / batch);
	}
	CHECK(cudaDeviceSynchronize());
	show(item, 1, ns);
}

static cudaStream_t stream, other;
static float *device;
static char *pinned;

static void launch(unsigned long long ns = 0)
{
	cufence::touch<<<1, 32, 0, stream>>>(ns, device, 32);
	CHECK(cudaGetLastError());
}

static void show_short_calls()
{
	cudaEvent_t event, timed;

	CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	CHECK(cudaEventCreate(&timed));
	CHECK(cudaEventRecord(event, other));
	show_calls("launch", [] { launch(); });
	show_calls("copy_to_device",
		[] { CHECK(cudaMemcpyAsync(device, pinned, 4096, cudaMemcpyDefault, stream)); });
	show_calls("copy_to_host",
		[] { CHECK(cudaMemcpyAsync(pinned, device, 4096, cudaMemcpyDefault, stream)); });
	show_calls("memset", [] { CHECK(cudaMemsetAsync(device, 0, 4096, stream)); });
	show_calls("record", [&] { CHECK(cudaEventRecord(event, other)); });
	show_calls("record_timed", [&] { CHECK(cudaEventRecord(timed, other)); });
	show_calls("wait_for_reached_event", [&] { CHECK(cudaStreamWaitEvent(stream, event, 0)); });
	show_calls("synchronize_idle", [] { CHECK(cudaStreamSynchronize(stream)); });
	show_calls("device_synchronize_idle", [] { CHECK(cudaDeviceSynchronize()); });
	show_calls("event_synchronize_reached", [&] { CHECK(cudaEventSynchronize(event)); });
	show_calls("launch_and_synchronize", [] {
		launch();
		CHECK(cudaStreamSynchronize(stream));
	});
	show_calls("launch_25us_and_synchronize", [] {
		launch(25000);
		CHECK(cudaStreamSynchronize(stream));
	});
	show_calls("launch_and_copy_to_pinned_and_synchronize", [] {
		launch();
		CHECK(cudaMemcpyAsync(pinned, device, 64, cudaMemcpyDefault, stream));
		CHECK(cudaStreamSynchronize(stream));
	});
	show_calls("copy_to_host_and_synchronize", [] {
		CHECK(cudaMemcpyAsync(pinned, device, 64, cudaMemcpyDefault, stream));
		CHECK(cudaStreamSynchronize(stream));
	});
	show_calls("copy_to_host_waits", [] {
		float value;

		CHECK(cudaMemcpy(&value, device, sizeof(value), cudaMemcpyDeviceToHost));
	});
	show_calls("launch_and_copy_to_host_waits", [] {
		float value;

		launch();
		CHECK(cudaMemcpyAsync(&value, device, sizeof(value), cudaMemcpyDefault, stream));
		CHECK(cudaStreamSynchronize(stream));
	});
	show_calls("launch_and_event_synchronize", [&] {
		launch();
		CHECK(cudaEventRecord(event, stream));
		CHECK(cudaEventSynchronize(event));
	});
	show_calls("malloc_async_and_free", [] {
		void *memory;

		CHECK(cudaMallocAsync(&memory, 1 << 20, stream));
		CHECK(cudaFreeAsync(memory, stream));
	});
	show_calls(
		"malloc_and_free_1MiB",
		[] {
			void *memory;

			CHECK(cudaMalloc(&memory, 1 << 20));
			CHECK(cudaFree(memory));
		},
		10);
	show_calls(
		"create_stream_and_destroy",
		[] {
			cudaStream_t made;

			CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
			CHECK(cudaStreamDestroy(made));
		},
		10);
	// While the stream is busy: the wait has to be given to the device.
	std::vector<double> ns;
	for (int i = 0; i < 30; i++) {
		CHECK(cudaDeviceSynchronize());
		cufence::spin<<<1, 1, 0, other>>>(1000000);
		CHECK(cudaEventRecord(event, other));
		double from = now();
		for (int n = 0; n < 100; n++)
			CHECK(cudaStreamWaitEvent(stream, event, 0));
		ns.push_back((now() - from) / 100);
	}
	CHECK(cudaDeviceSynchronize());
	show("wait_for_pending_event", 1, ns);
}

struct graph_times {
	std::vector<double> begin, node, end, instantiate, first, again, round_trip, update,
		destroy_exec, destroy_graph;
};

template <typename Call> static void measure(std::vector<double> &ns, Call call, size_t part = 1)
{
	double from = now();

	call();
	ns.push_back((now() - from) / (double)part);
}

static cudaGraph_t capture(graph_times *times, size_t nodes)
{
	cudaGraph_t graph;

	measure(times->begin,
		[] { CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)); });
	measure(
		times->node,
		[=] {
			for (size_t i = 0; i < nodes; i++)
				launch(2000);
		},
		nodes);
	measure(times->end, [&] { CHECK(cudaStreamEndCapture(stream, &graph)); });
	return graph;
}

static void show_graphs(size_t nodes)
{
	graph_times times;

	for (int i = 0; i < 40; i++) {
		cudaGraphExecUpdateResultInfo info;
		cudaGraphExec_t exec;
		cudaGraph_t graph = capture(&times, nodes), next = capture(&times, nodes);

		measure(times.instantiate, [&] { CHECK(cudaGraphInstantiate(&exec, graph, 0)); });
		measure(times.first, [=] { CHECK(cudaGraphLaunch(exec, stream)); });
		CHECK(cudaDeviceSynchronize());
		measure(times.again, [=] { CHECK(cudaGraphLaunch(exec, stream)); });
		CHECK(cudaDeviceSynchronize());
		measure(times.round_trip, [=] {
			CHECK(cudaGraphLaunch(exec, stream));
			CHECK(cudaStreamSynchronize(stream));
		});
		measure(times.update, [&] { CHECK(cudaGraphExecUpdate(exec, next, &info)); });
		CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaDeviceSynchronize());
		measure(times.destroy_exec, [=] { CHECK(cudaGraphExecDestroy(exec)); });
		measure(times.destroy_graph, [=] { CHECK(cudaGraphDestroy(graph)); });
		CHECK(cudaGraphDestroy(next));
	}
	show("graph_begin_capture", nodes, times.begin);
	show("graph_capture_node", nodes, times.node);
	show("graph_end_capture", nodes, times.end);
	show("graph_instantiate", nodes, times.instantiate);
	show("graph_first_launch", nodes, times.first);
	show("graph_launch", nodes, times.again);
	show("graph_launch_and_synchronize", nodes, times.round_trip);
	show("graph_update", nodes, times.update);
	show("graph_destroy_exec", nodes, times.destroy_exec);
	show("graph_destroy", nodes, times.destroy_graph);
}

// ns of the device for work queued after a kernel, measured by a second kernel that follows it.
template <typename Call> static void show_device(const char *item, size_t size, Call call)
{
	std::vector<double> ns;
	cudaEvent_t from, to;

	CHECK(cudaEventCreate(&from));
	CHECK(cudaEventCreate(&to));
	for (int i = 0; i < 20; i++) {
		float ms;

		cufence::spin<<<1, 1, 0, stream>>>(3000000);
		CHECK(cudaEventRecord(from, stream));
		call();
		CHECK(cudaEventRecord(to, stream));
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaEventElapsedTime(&ms, from, to));
		ns.push_back((double)ms * 1e6 / (double)size);
	}
	show(item, size, ns);
}

static void show_device_time()
{
	cudaEvent_t event[8];

	for (cudaEvent_t &one : event)
		CHECK(cudaEventCreateWithFlags(&one, cudaEventDisableTiming));
	show_device("device_kernel_2us", 100, [] {
		for (int i = 0; i < 100; i++)
			launch(2000);
	});
	// The driver makes nothing of a second wait for the same event.
	for (int waits = 0; waits <= 2; waits++)
		show_device(waits == 0       ? "device_kernel_and_0_of_2_events"
				: waits == 1 ? "device_kernel_and_1_of_2_events"
					     : "device_kernel_and_2_of_2_events",
			50, [&] {
				cufence::spin<<<1, 1, 0, other>>>(1000000);
				for (int i = 0; i < 50; i++) {
					CHECK(cudaEventRecord(event[0], other));
					CHECK(cudaEventRecord(event[1], other));
					for (int n = 0; n < waits; n++)
						CHECK(cudaStreamWaitEvent(stream, event[n], 0));
					launch(2000);
				}
			});
	show_device("device_kernel_and_4_same_waits", 50, [&] {
		cufence::spin<<<1, 1, 0, other>>>(1000000);
		CHECK(cudaEventRecord(event[0], other));
		for (int i = 0; i < 50; i++) {
			for (int n = 0; n < 4; n++)
				CHECK(cudaStreamWaitEvent(stream, event[0], 0));
			launch(2000);
		}
	});
	show_device("device_kernel_and_record", 100, [&] {
		for (int i = 0; i < 100; i++) {
			launch(2000);
			CHECK(cudaEventRecord(event[0], stream));
		}
	});
	for (size_t nodes = 8; nodes <= 128; nodes *= 4) {
		graph_times times;
		cudaGraph_t graph = capture(&times, nodes);
		cudaGraphExec_t exec;

		CHECK(cudaGraphInstantiate(&exec, graph, 0));
		CHECK(cudaGraphUpload(exec, stream));
		show_device(nodes == 8        ? "device_graph_of_8_2us"
				: nodes == 32 ? "device_graph_of_32_2us"
					      : "device_graph_of_128_2us",
			10 * nodes, [=] {
				for (int i = 0; i < 10; i++)
					CHECK(cudaGraphLaunch(exec, stream));
			});
	}
}

static void touch_pages(char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		memory[i] = 1;
}

static void show_pinning(const char *item, size_t bytes, int times)
{
	std::vector<double> make, fill, let_go, paged, page_fill, unpaged, pin, unpin;
	char *memory;

	for (int i = 0; i < times; i++) {
		measure(make, [&] { CHECK(cudaMallocHost(&memory, bytes)); });
		measure(fill, [&] { touch_pages(memory, bytes); });
		measure(let_go, [&] { CHECK(cudaFreeHost(memory)); });
		measure(paged, [&] {
			memory = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		});
		measure(page_fill, [&] { touch_pages(memory, bytes); });
		measure(pin, [&] { CHECK(cudaHostRegister(memory, bytes, 0)); });
		measure(unpin, [&] { CHECK(cudaHostUnregister(memory)); });
		measure(unpaged, [&] { munmap(memory, bytes); });
	}
	size_t kib = bytes >> 10;
	printf("# %s\n", item);
	show("pinned_malloc", kib, make);
	show("pinned_first_touch", kib, fill);
	show("pinned_free", kib, let_go);
	show("paged_first_touch", kib, page_fill);
	show("paged_free", kib, unpaged);
	show("host_register", kib, pin);
	show("host_unregister", kib, unpin);
}

static void show_pageable_copies()
{
	for (size_t mib = 1; mib <= 16; mib *= 4) {
		std::vector<double> ns;
		char *host = (char *)malloc(mib << 20), *target;

		CHECK(cudaMalloc(&target, mib << 20));
		touch_pages(host, mib << 20);
		for (int i = 0; i < 12; i++) {
			CHECK(cudaDeviceSynchronize());
			measure(ns, [=] {
				CHECK(cudaMemcpyAsync(target, host, mib << 20,
					cudaMemcpyHostToDevice, stream));
			});
		}
		CHECK(cudaDeviceSynchronize());
		show("pageable_copy_to_device", mib << 10, ns);
		CHECK(cudaFree(target));
		free(host);
	}
}

int main()
{
	CHECK(cudaFree(NULL));
	show_pinning("the first of the process", 16 << 20, 1);
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&device, 1 << 20));
	CHECK(cudaMallocHost(&pinned, 1 << 20));
	cufence::spin<<<1, 1, 0, stream>>>(0);
	launch();
	CHECK(cudaDeviceSynchronize());
	for (size_t kib = 64; kib <= 64 << 10; kib *= 4)
		show_pinning("later", kib << 10, kib >= 16 << 10 ? 3 : 9);
	show_pageable_copies();
	show_short_calls();
	show_device_time();
	for (size_t nodes = 2; nodes <= 32; nodes *= 2)
		show_graphs(nodes);
	return 0;
}
