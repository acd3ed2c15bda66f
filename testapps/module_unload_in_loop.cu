// SPDX-License-Identifier: Apache-2.0
// A kernel is generated for each request, loaded, launched and unloaded again. Unloading code
// waits until the device is idle, as something on it may still run the code: requests of two
// streams never overlap.
// The fix keeps the module for the next request and unloads it at the end.
#include "module.h"

static const int REQUESTS = 12;
static const unsigned SIZE = 256;

static NOINLINE CUmodule load(const struct driver *driver)
{
	CUfunction function;
	CUmodule module;

	CHECK_DRIVER(driver->load(&module, ADD_ONE));
	CHECK_DRIVER(driver->get(&function, module, ADD_ONE_NAME));
	CHECK_DRIVER(driver->load_function(function));
	return module;
}

static NOINLINE void unload(const struct driver *driver, CUmodule module)
{
	CHECK_DRIVER(driver->unload(module));
}

static NOINLINE void answer(const struct driver *driver, CUmodule module, float *data,
	CUstream stream)
{
	unsigned long long spin_ns = 10 * MILLISECOND;
	void *parameters[] = { &spin_ns, &data };
	CUfunction function;

	CHECK_DRIVER(driver->get(&function, module, ADD_ONE_NAME));
	CHECK_DRIVER(driver->launch(function, 1, 1, 1, SIZE, 1, 1, 0, stream, parameters, NULL));
}

int main()
{
	load_kernels();
	struct driver driver = find_driver();
	cudaStream_t stream[2] = { new_stream(), new_stream() };
	float *data = device_floats(2 * SIZE, 0);

#ifdef FIXED
	CUmodule module = load(&driver);

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < REQUESTS; i++)
		answer(&driver, module, data + i % 2 * SIZE, stream[i % 2]);
	CHECK(cudaDeviceSynchronize());
	unload(&driver, module);
#else
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < REQUESTS; i++) {
		CUmodule module = load(&driver);

		answer(&driver, module, data + i % 2 * SIZE, stream[i % 2]);
		unload(&driver, module);
	}
#endif
	print_device("data", data, 2 * SIZE);
	return 0;
}
