// SPDX-License-Identifier: Apache-2.0
// A buffer that several processes share is mapped twice and registered twice: results are written
// to it by one address, while the upload from it, by the other, has not begun. These are the same
// pages, though no address says so.
// The fix lets the downloading stream wait for an event that is recorded after the upload.
#include "app.h"

#include <sys/mman.h>
#include <unistd.h>

static const int STEPS = 10;
static const size_t SIZE = 1 << 14, BYTES = SIZE * sizeof(float);

static float *map_pages(int file)
{
	void *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (pages == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	CHECK(cudaHostRegister(pages, BYTES, cudaHostRegisterDefault));
	return (float *)pages;
}

static NOINLINE void upload(float *input, const float *outgoing, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(input, outgoing, BYTES, cudaMemcpyHostToDevice, stream));
}

static NOINLINE void download(float *incoming, const float *result, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(incoming, result, BYTES, cudaMemcpyDeviceToHost, stream));
}

int main()
{
	int file = memfd_create("shared", 0);

	if (file < 0 || ftruncate(file, (off_t)BYTES)) {
		perror("memfd_create");
		return 1;
	}
	load_kernels();
	cudaStream_t uploading = new_stream(), downloading = new_stream();
	cudaEvent_t uploaded = new_event(), downloaded = new_event();
	float *inputs = device_floats(STEPS * SIZE, 0), *results = device_floats(SIZE, 0x3f);
	float *outgoing = map_pages(file), *incoming = map_pages(file);

	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		CHECK(cudaStreamWaitEvent(uploading, downloaded, 0));
		upload(inputs + step * SIZE, outgoing, uploading);
#ifdef FIXED
		CHECK(cudaEventRecord(uploaded, uploading));
		CHECK(cudaStreamWaitEvent(downloading, uploaded, 0));
#endif
		download(incoming, results, downloading);
		CHECK(cudaEventRecord(downloaded, downloading));
	}
	CHECK(cudaDeviceSynchronize());
	print_device("inputs", inputs, STEPS * SIZE);
	CHECK(cudaEventDestroy(uploaded));
	CHECK(cudaEventDestroy(downloaded));
	return 0;
}
