// SPDX-License-Identifier: Apache-2.0
// Each frame is a long kernel and many small ones behind it, all in one stream; then the sound is
// computed in another. A stream takes 1020 pending launches or so: the next one waits until there
// is room, and with it the host, which could have launched the sound.
// The fix submits the other stream's work first. (Or: fewer and larger launches, or a graph.)
#include "app.h"

static const int FRAMES = 3, SPRITES = 1300;
static const size_t SIZE = 1 << 10;

static NOINLINE void draw_background(float *frame, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(20 * MILLISECOND, frame, SIZE);
	CHECK(cudaGetLastError());
}

static NOINLINE void draw_sprite(float *frame, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(0, frame, SIZE);
	CHECK(cudaGetLastError());
}

static void draw_frame(float *frame, cudaStream_t stream)
{
	draw_background(frame, stream);
	for (int i = 0; i < SPRITES; i++)
		draw_sprite(frame, stream);
}

static NOINLINE void compute_sound(float *sound, float *played, cudaStream_t stream)
{
	cufence::touch<<<1, 256, 0, stream>>>(20 * MILLISECOND, sound, SIZE);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpyAsync(played, sound, SIZE * sizeof(float), cudaMemcpyDeviceToHost, stream));
}

int main()
{
	load_kernels();
	cudaStream_t drawing = new_stream(), sounding = new_stream();
	float *frame = device_floats(SIZE, 0), *sound = device_floats(SIZE, 0);
	float *played = pinned_floats(SIZE);
	double sum = 0;

	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < FRAMES; i++) {
#ifdef FIXED
		compute_sound(sound, played, sounding);
		draw_frame(frame, drawing);
#else
		draw_frame(frame, drawing);
		compute_sound(sound, played, sounding);
#endif
		CHECK(cudaStreamSynchronize(drawing));
		CHECK(cudaStreamSynchronize(sounding));
		sum += checksum(played, SIZE);
	}
	print_device("frame", frame, SIZE);
	printf("sound: %.6e\n", sum);
	return 0;
}
