// SPDX-License-Identifier: Apache-2.0
// Two tiles are advanced on two streams, which should run side by side; after each tile the
// particles, which share no data with the tiles, move. Their launch names no stream and so goes
// to the legacy default stream: it waits for all earlier work of every blocking stream, and all
// their later work waits for it. Nothing overlaps, and no call is slow.
// The fix gives the particles a stream of their own.
#include "app.h"

static const int STEPS = 20, TILES = 2;
static const size_t TILE_SIZE = 1 << 16, PARTICLES = 1 << 14;

struct tile {
	float *now, *next;
	cudaStream_t stream;
};

static void create_tile(struct tile *tile)
{
	CHECK(cudaMalloc(&tile->now, TILE_SIZE * sizeof(float)));
	CHECK(cudaMalloc(&tile->next, TILE_SIZE * sizeof(float)));
	CHECK(cudaMemset(tile->now, 0x3f, TILE_SIZE * sizeof(float)));
	CHECK(cudaMemset(tile->next, 0, TILE_SIZE * sizeof(float)));
	CHECK(cudaStreamCreate(&tile->stream));
}

static void destroy_tile(struct tile *tile)
{
	CHECK(cudaStreamDestroy(tile->stream));
	CHECK(cudaFree(tile->now));
	CHECK(cudaFree(tile->next));
}

static NOINLINE void advance_tile(struct tile *tile)
{
	float *now = tile->now, *next = tile->next;

	cufence::stencil<<<8, 256, 0, tile->stream>>>(2 * MILLISECOND, now, next, TILE_SIZE);
	CHECK(cudaGetLastError());
	tile->now = next;
	tile->next = now;
}

static NOINLINE void move_particles(float *particles, cudaStream_t stream)
{
#ifdef FIXED
	cufence::touch<<<4, 256, 0, stream>>>(MILLISECOND, particles, PARTICLES);
#else
	cufence::touch<<<4, 256>>>(MILLISECOND, particles, PARTICLES);
#endif
	CHECK(cudaGetLastError());
}

static void print_result(const struct tile *tiles, const float *particles)
{
	static float host[TILE_SIZE];

	for (int i = 0; i < TILES; i++) {
		CHECK(cudaMemcpy(host, tiles[i].now, sizeof(host), cudaMemcpyDeviceToHost));
		printf("tile %d: %.6f\n", i, checksum(host, TILE_SIZE));
	}
	CHECK(cudaMemcpy(host, particles, PARTICLES * sizeof(float), cudaMemcpyDeviceToHost));
	printf("particles: %.6f\n", checksum(host, PARTICLES));
}

int main()
{
	struct tile tiles[TILES];
	cudaStream_t particle_stream;
	float *particles;

	for (int i = 0; i < TILES; i++)
		create_tile(&tiles[i]);
	CHECK(cudaMalloc(&particles, PARTICLES * sizeof(float)));
	CHECK(cudaMemset(particles, 0, PARTICLES * sizeof(float)));
	CHECK(cudaStreamCreateWithFlags(&particle_stream, cudaStreamNonBlocking));
	CHECK(cudaDeviceSynchronize());

	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < TILES; i++) {
			advance_tile(&tiles[i]);
			move_particles(particles, particle_stream);
		}
	}
	CHECK(cudaDeviceSynchronize());

	print_result(tiles, particles);
	for (int i = 0; i < TILES; i++)
		destroy_tile(&tiles[i]);
	CHECK(cudaStreamDestroy(particle_stream));
	CHECK(cudaFree(particles));
	return 0;
}
