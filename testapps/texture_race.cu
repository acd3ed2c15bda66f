// SPDX-License-Identifier: Apache-2.0
// Frames go through one CUDA array: a copy fills it in one stream, a kernel of another stream reads
// it as a texture, a third one draws into it as a surface; a table is a texture of linear memory.
// Nothing orders the streams: no pointer to the array says so, only its objects do.
// The fix has the streams wait for each other's events.
#include "app.h"
#include "hold.h"

static const int STEPS = 6;
static const size_t WIDTH = 128, HEIGHT = 64, SIZE = WIDTH * HEIGHT, ROW = WIDTH * sizeof(float);

namespace cufence {

__global__ void sample(unsigned long long spin_ns, cudaTextureObject_t frame,
	cudaTextureObject_t table, float *out)
{
	unsigned long long start = device_ns();
	size_t i = first_element();

	if (i < SIZE)
		out[i] += tex2D<float>(frame, i % WIDTH + 0.5f, i / WIDTH + 0.5f) +
			tex1Dfetch<float>(table, i % WIDTH);
	hold(start, spin_ns);
}

__global__ void draw(unsigned long long spin_ns, cudaSurfaceObject_t frame)
{
	unsigned long long start = device_ns();
	size_t i = first_element();

	if (i < SIZE)
		surf2Dwrite(i * 0.5f, frame, i % WIDTH * sizeof(float), i / WIDTH);
	hold(start, spin_ns);
}

} // namespace cufence

static NOINLINE void upload(cudaArray_t frame, const float *host, cudaStream_t stream)
{
	CHECK(cudaMemcpy2DToArrayAsync(frame, 0, 0, host, ROW, ROW, HEIGHT, cudaMemcpyHostToDevice,
		stream));
}

static NOINLINE void clear_table(float *table, cudaStream_t stream)
{
	CHECK(cudaMemsetAsync(table, 0, ROW, stream));
}

static NOINLINE void render(cudaTextureObject_t frame, cudaTextureObject_t table, float *out,
	cudaStream_t stream)
{
	cufence::sample<<<SIZE / 256, 256, 0, stream>>>(MILLISECOND, frame, table, out);
	CHECK(cudaGetLastError());
}

static NOINLINE void overlay(cudaSurfaceObject_t frame, cudaStream_t stream)
{
	cufence::draw<<<SIZE / 256, 256, 0, stream>>>(MILLISECOND, frame);
	CHECK(cudaGetLastError());
}

static void order(cudaEvent_t event, cudaStream_t from, cudaStream_t to)
{
#ifdef FIXED
	CHECK(cudaEventRecord(event, from));
	CHECK(cudaStreamWaitEvent(to, event, 0));
#else
	(void)event, (void)from, (void)to;
#endif
}

static cudaTextureObject_t texture_of(const cudaResourceDesc *resource)
{
	cudaTextureDesc sampling = {};
	cudaTextureObject_t texture;

	sampling.readMode = cudaReadModeElementType;
	CHECK(cudaCreateTextureObject(&texture, resource, &sampling, NULL));
	return texture;
}

int main()
{
	cudaStream_t copying = new_stream(), rendering = new_stream(), drawing = new_stream();
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	float *host = pinned_floats(SIZE), *table = device_floats(WIDTH, 0);
	float *out = device_floats(SIZE, 0);
	cudaEvent_t event = new_event();
	cudaResourceDesc in_array = {}, in_line = {};
	cudaSurfaceObject_t surface;
	struct cudaFuncAttributes attributes;

	load_kernels();
	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::sample));
	CHECK(cudaFuncGetAttributes(&attributes, (const void *)cufence::draw));
	in_array.resType = cudaResourceTypeArray;
	CHECK(cudaMallocArray(&in_array.res.array.array, &format, WIDTH, HEIGHT,
		cudaArraySurfaceLoadStore));
	CHECK(cudaCreateSurfaceObject(&surface, &in_array));
	in_line.resType = cudaResourceTypeLinear;
	in_line.res.linear.devPtr = table;
	in_line.res.linear.desc = format;
	in_line.res.linear.sizeInBytes = ROW;
	cudaTextureObject_t frame = texture_of(&in_array), colours = texture_of(&in_line);

	CHECK(cudaDeviceSynchronize());
	for (int step = 0; step < STEPS; step++) {
		upload(in_array.res.array.array, host, copying);
		clear_table(table, copying);
		order(event, copying, drawing);
		overlay(surface, drawing);
		order(event, drawing, rendering);
		render(frame, colours, out, rendering);
		order(event, rendering, copying);
	}
	print_device("out", out, SIZE);
	return 0;
}
