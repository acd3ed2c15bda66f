// SPDX-License-Identifier: Apache-2.0
// Clean: a kernel is launched so that it may start before the one in front of it has ended
// (programmatic dependent launch), and itself waits, on the device, before it touches what that
// one writes. On the timeline they overlap, on the same memory, in one stream: it is no race.
// Devices before compute capability 9.0 launch it in the usual order.
#include "app.h"

static const int STEPS = 10;
static const size_t SIZE = 1 << 14;

static NOINLINE void produce(float *data, cudaStream_t stream)
{
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, data, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void follow(const float *data, float *sum, bool early, cudaStream_t stream)
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = 4;
	config.blockDim = 256;
	config.stream = stream;
	config.attrs = &attribute;
	config.numAttrs = early;
	CHECK(cudaLaunchKernelEx(&config, cufence::follow, MILLISECOND / 4, data, sum, SIZE));
}

int main()
{
	load_kernels();
	cudaStream_t stream = new_stream();
	float *data = device_floats(SIZE, 0), *sum = device_floats(SIZE, 0);
	struct cudaFuncAttributes attributes;
	int major;

	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::follow));
	CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < STEPS; i++) {
		produce(data, stream);
		follow(data, sum, major >= 9, stream);
	}
	print_device("sum", sum, SIZE);
	return 0;
}
