// SPDX-License-Identifier: Apache-2.0
// Variants of a kernel are generated when they are first needed, in the middle of the work, and
// kept. Loading a module waits until the device is idle: at each new variant the other stream
// runs dry.
// The fix loads all variants before the work begins.
#include "module.h"

static const int VARIANTS = 12;
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

static NOINLINE void run_variant(const struct driver *driver, CUmodule module, float *data,
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
	CUmodule module[VARIANTS];

#ifdef FIXED
	for (int i = 0; i < VARIANTS; i++)
		module[i] = load(&driver);
#endif
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < VARIANTS; i++) {
#ifndef FIXED
		module[i] = load(&driver);
#endif
		run_variant(&driver, module[i], data + i % 2 * SIZE, stream[i % 2]);
	}
	print_device("data", data, 2 * SIZE);
	for (int i = 0; i < VARIANTS; i++)
		CHECK_DRIVER(driver.unload(module[i]));
	return 0;
}
