// SPDX-License-Identifier: Apache-2.0
// One event serves two producers. It is recorded after the geometry, then again, in the other
// stream, after the textures; the renderer waits for it once and so for the textures only: a
// record replaces the one before.
// The fix gives each producer an event and waits for both.
#include "app.h"

static const int FRAMES = 10;
static const size_t FRAME_SIZE = 1 << 14, SIZE = FRAMES * FRAME_SIZE;

static NOINLINE void build_geometry(float *geometry, cudaStream_t stream)
{
	cufence::spin<<<1, 1, 0, stream>>>(MILLISECOND / 2);
	CHECK(cudaGetLastError());
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, geometry, FRAME_SIZE, 3);
	CHECK(cudaGetLastError());
}

static NOINLINE void load_textures(float *textures, cudaStream_t stream)
{
	cufence::fill<<<8, 256, 0, stream>>>(MILLISECOND / 4, textures, FRAME_SIZE, 2);
	CHECK(cudaGetLastError());
}

static NOINLINE void draw_geometry(const float *geometry, float *frame, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 8, geometry, frame, FRAME_SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void draw_textures(const float *textures, float *frame, cudaStream_t stream)
{
	cufence::accumulate<<<8, 256, 0, stream>>>(MILLISECOND / 8, textures, frame, FRAME_SIZE);
	CHECK(cudaGetLastError());
}

static void draw_frame(float *geometry, float *textures, float *frame, const cudaStream_t *stream,
	cudaEvent_t built, cudaEvent_t loaded)
{
	build_geometry(geometry, stream[0]);
	CHECK(cudaEventRecord(built, stream[0]));
	load_textures(textures, stream[1]);
	CHECK(cudaEventRecord(loaded, stream[1]));
	CHECK(cudaStreamWaitEvent(stream[2], built, 0));
	CHECK(cudaStreamWaitEvent(stream[2], loaded, 0));
	draw_geometry(geometry, frame, stream[2]);
	draw_textures(textures, frame, stream[2]);
}

int main()
{
	load_kernels();
	cudaStream_t stream[3] = { new_stream(), new_stream(), new_stream() };
	cudaEvent_t built = new_event(), loaded = new_event();
	float *geometry = device_floats(SIZE, 0), *textures = device_floats(SIZE, 0);
	float *frames = device_floats(SIZE, 0);

#ifndef FIXED
	built = loaded;
#endif
	CHECK(cudaDeviceSynchronize());
	for (size_t i = 0; i < SIZE; i += FRAME_SIZE)
		draw_frame(geometry + i, textures + i, frames + i, stream, built, loaded);
	print_device("frames", frames, SIZE);
	return 0;
}
