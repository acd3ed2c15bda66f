/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixes KIND: programs whose findings "cufence fix" treats, and which behave otherwise from the
 * middle on where FIXES_SURPRISE is set: nothing at a treated line changes.
 *
 * error    freed memory; a call fails that did not before, and the program goes on
 * memory   freed memory, while there is hardly any other
 * module   code that is loaded again and again; a variable of it is asked for
 * threads  the same freed memory from four threads, from one where FIXES_ONE_THREAD is set
 * fork     freed memory; a child does nothing with CUDA
 * limits   a limit that is set at two lines to two values: the last one is asked for
 * pinned   pinned memory that is made and freed in each round; a second device is used
 * waits    two waits in a row for the same copy: one of them is needed, no matter which
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "module.h"

static const int ROUNDS = 12;
static const size_t SIZE = 1 << 12;
static int surprises;

static NOINLINE void work(float *data, cudaStream_t stream)
{
	cufence::touch<<<2, 256, 0, stream>>>(2 * MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE float *get_scratch(size_t bytes)
{
	float *scratch;

	CHECK(cudaMalloc(&scratch, bytes));
	return scratch;
}

static NOINLINE void free_scratch(float *scratch)
{
	CHECK(cudaFree(scratch));
}

static void use_scratch(size_t bytes, void (*middle)())
{
	cudaStream_t stream = new_stream();

	for (int round = 0; round < ROUNDS; round++) {
		float *scratch = get_scratch(bytes);

		work(scratch, stream);
		free_scratch(scratch);
		if (round == ROUNDS / 2 && surprises)
			middle();
	}
	CHECK(cudaStreamSynchronize(stream));
}

static void fail()
{
	if (cudaFree((void *)(size_t)4096) == cudaSuccess)
		exit(3);
	cudaGetLastError();
}

static void fill_memory()
{
	size_t left, all;
	void *rest;

	CHECK(cudaMemGetInfo(&left, &all));
	/* Two pieces of scratch memory have room. */
	CHECK(cudaMalloc(&rest, left - ((size_t)200 << 20)));
}

static void fork_child()
{
	pid_t child = fork();

	if (!child)
		_exit(7);
	int status;
	waitpid(child, &status, 0);
	printf("child %d\n", WEXITSTATUS(status));
}

static const char COUNTED[] = R"(
.version 6.4
.target sm_75
.address_size 64
.visible .global .align 4 .u32 counter = 5;
.visible .entry count(.param .u64 spin_ns, .param .u64 unused)
{
	.reg .b32 %old;
	atom.global.add.u32 %old, [counter], 1;
	ret;
}
)";

static NOINLINE CUmodule load(const struct driver *driver, const char *image)
{
	CUmodule module;

	CHECK_DRIVER(driver->load(&module, image));
	return module;
}

static NOINLINE void unload(const struct driver *driver, CUmodule module)
{
	CHECK_DRIVER(driver->unload(module));
}

/* Where the code has a variable, its name is asked for in the middle. */
static void load_modules(const char *image, const char *name)
{
	CUresult (*variable)(CUdeviceptr *, size_t *, CUmodule, const char *);
	struct driver driver = find_driver();
	cudaStream_t stream[] = { new_stream(), new_stream() };
	float *data = device_floats(2 * SIZE, 0);

	find_driver_call("cuModuleGetGlobal", &variable);
	for (int round = 0; round < ROUNDS; round++) {
		float *half = data + round % 2 * SIZE;
		unsigned long long spin_ns = 2 * MILLISECOND;
		void *parameters[] = { &spin_ns, &half };
		CUmodule module = load(&driver, image);
		CUfunction function;

		CHECK_DRIVER(driver.get(&function, module, name));
		CHECK_DRIVER(driver.launch(function, 1, 1, 1, 256, 1, 1, 0, stream[round % 2],
			parameters, NULL));
		unload(&driver, module);
		if (round == ROUNDS / 2 && surprises) {
			CUdeviceptr counter;
			size_t bytes;

			module = load(&driver, image);
			variable(&counter, &bytes, module, "counter"); /* or there is none */
			unload(&driver, module);
		}
	}
	CHECK(cudaDeviceSynchronize());
}

static void *use_in_thread(void *unused)
{
	use_scratch(SIZE * sizeof(float), fail);
	return NULL;
}

static void use_in_threads()
{
	pthread_t threads[4];
	int count = getenv("FIXES_ONE_THREAD") ? 1 : 4;

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, use_in_thread, NULL);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static NOINLINE void set_limit(size_t bytes)
{
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, bytes));
}

static NOINLINE void lower_limit(size_t bytes)
{
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, bytes));
}

static void set_limits()
{
	cudaStream_t stream[] = { new_stream(), new_stream() };
	float *data = device_floats(2 * SIZE, 0);
	size_t bytes;

	for (int round = 0; round < ROUNDS; round++) {
		work(data + round % 2 * SIZE, stream[round % 2]);
		set_limit(32 << 10);
		if (round == ROUNDS - 2 && surprises)
			lower_limit(1 << 10);
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaDeviceGetLimit(&bytes, cudaLimitStackSize));
	printf("stack %zu\n", bytes);
}

static NOINLINE void *get_pinned(size_t bytes)
{
	void *memory;

	CHECK(cudaMallocHost(&memory, bytes));
	return memory;
}

static NOINLINE void free_pinned(void *memory)
{
	CHECK(cudaFreeHost(memory));
}

static void use_second_device()
{
	CHECK(cudaSetDevice(1));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaSetDevice(0));
}

static void upload_batches()
{
	cudaStream_t stream = new_stream();
	float *data = device_floats(SIZE, 0);

	for (int round = 0; round < ROUNDS; round++) {
		float *batch = (float *)get_pinned(SIZE * sizeof(float));

		for (size_t i = 0; i < SIZE; i++)
			batch[i] = (float)round;
		CHECK(cudaMemcpyAsync(data, batch, SIZE * sizeof(float), cudaMemcpyHostToDevice,
			stream));
		work(data, stream);
		free_pinned(batch);
		if (round == ROUNDS / 2 && surprises)
			use_second_device();
		if (round % 3 == 2)
			CHECK(cudaDeviceSynchronize());
	}
	print_device("data", data, SIZE);
}

static NOINLINE void wait_first(cudaStream_t stream)
{
	CHECK(cudaStreamSynchronize(stream));
}

static NOINLINE void wait_second()
{
	CHECK(cudaDeviceSynchronize());
}

static void wait_twice()
{
	cudaStream_t stream = new_stream();
	float *data = device_floats(SIZE, 0), *host = pinned_floats(SIZE);
	double sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		CHECK(cudaMemsetAsync(data, round, SIZE * sizeof(float), stream));
		work(data, stream);
		CHECK(cudaMemcpyAsync(host, data, SIZE * sizeof(float), cudaMemcpyDeviceToHost,
			stream));
		wait_first(stream);
		wait_second();
		sum += checksum(host, SIZE);
	}
	printf("sum %.6e\n", sum);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";

	surprises = getenv("FIXES_SURPRISE") != NULL;
	load_kernels();
	if (!strcmp(kind, "error"))
		use_scratch(SIZE * sizeof(float), fail);
	else if (!strcmp(kind, "memory"))
		use_scratch((size_t)80 << 20, fill_memory);
	else if (!strcmp(kind, "fork"))
		use_scratch(SIZE * sizeof(float), fork_child);
	else if (!strcmp(kind, "module"))
		load_modules(COUNTED, "count");
	else if (!strcmp(kind, "plain_module"))
		load_modules(ADD_ONE, ADD_ONE_NAME);
	else if (!strcmp(kind, "threads"))
		use_in_threads();
	else if (!strcmp(kind, "limits"))
		set_limits();
	else if (!strcmp(kind, "pinned"))
		upload_batches();
	else if (!strcmp(kind, "waits"))
		wait_twice();
	else
		return 2;
	printf("%s done\n", kind);
	return 5;
}
