// SPDX-License-Identifier: Apache-2.0
// One pinned buffer serves both directions: results are copied into it while the upload from it
// has not begun, because its stream is busy. The device then gets results of another chunk for
// its input. Both copies are asynchronous, and host memory has no order of its own.
// The fix lets the downloading stream wait for an event that is recorded after the upload.
#include "app.h"

static const int CHUNKS = 10;
static const size_t CHUNK_SIZE = 1 << 14, CHUNK_BYTES = CHUNK_SIZE * sizeof(float);
static const size_t SIZE = CHUNKS * CHUNK_SIZE;

static NOINLINE void upload(float *input, const float *staging, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(input, staging, CHUNK_BYTES, cudaMemcpyHostToDevice, stream));
}

static NOINLINE void download(float *staging, const float *result, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(staging, result, CHUNK_BYTES, cudaMemcpyDeviceToHost, stream));
}

int main()
{
	load_kernels();
	cudaStream_t uploading = new_stream(), downloading = new_stream();
	float *inputs = device_floats(SIZE, 0), *results = device_floats(SIZE, 0x3f);
	float *staging = pinned_floats(SIZE);
#ifdef FIXED
	cudaEvent_t uploaded = new_event();
#endif

	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < SIZE; i += CHUNK_SIZE) {
		upload(inputs + i, staging + i, uploading);
#ifdef FIXED
		CHECK(cudaEventRecord(uploaded, uploading));
		CHECK(cudaStreamWaitEvent(downloading, uploaded, 0));
#endif
		download(staging + i, results + i, downloading);
	}
	print_device("inputs", inputs, SIZE);
	return 0;
}
