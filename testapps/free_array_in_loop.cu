// SPDX-License-Identifier: Apache-2.0
// Each image goes through a CUDA array, which is allocated for it and freed when its work has been
// submitted. cudaFreeArray waits until the device is idle, as cudaFree does: the two streams never
// overlap.
// The fix keeps one array for each stream.
#include "app.h"

static const int IMAGES = 20, STREAMS = 2;
static const size_t WIDTH = 128, HEIGHT = 128, IMAGE_SIZE = WIDTH * HEIGHT;
static const size_t ROW = WIDTH * sizeof(float);

static NOINLINE cudaArray_t allocate_array()
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaArray_t array;

	CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
	return array;
}

static NOINLINE void free_array(cudaArray_t array)
{
	CHECK(cudaFreeArray(array));
}

static NOINLINE void process(float *image, cudaArray_t array, cudaStream_t stream)
{
	CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, image, ROW, ROW, HEIGHT,
		cudaMemcpyDeviceToDevice, stream));
	CHECK(cudaMemcpy2DFromArrayAsync(image, ROW, array, 0, 0, ROW, HEIGHT,
		cudaMemcpyDeviceToDevice, stream));
	cufence::scale<<<8, 256, 0, stream>>>(2 * MILLISECOND, image, IMAGE_SIZE, 2);
	CHECK(cudaGetLastError());
}

int main()
{
	load_kernels();
	cudaStream_t stream[STREAMS] = { new_stream(), new_stream() };
	float *images = device_floats(IMAGES * IMAGE_SIZE, 0x3f);
#ifdef FIXED
	cudaArray_t array[STREAMS] = { allocate_array(), allocate_array() };
#endif

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < IMAGES; i++) {
#ifdef FIXED
		process(images + i * IMAGE_SIZE, array[i % STREAMS], stream[i % STREAMS]);
#else
		cudaArray_t array = allocate_array();

		process(images + i * IMAGE_SIZE, array, stream[i % STREAMS]);
		free_array(array);
#endif
	}
	print_device("images", images, IMAGES * IMAGE_SIZE);
#ifdef FIXED
	for (int i = 0; i < STREAMS; i++)
		free_array(array[i]);
#endif
	return 0;
}
