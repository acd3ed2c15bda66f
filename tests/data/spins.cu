// SPDX-License-Identifier: Apache-2.0
// Kernels that wait for others in a loop, and some whose loops only look like it.
#include <cuda/atomic>

extern "C" __global__ void acquires(unsigned *flag, const float *in, float *out)
{
	cuda::atomic_ref<unsigned, cuda::thread_scope_device> ready(*flag);

	while (!ready.load(cuda::memory_order_acquire))
		;
	out[threadIdx.x] = in[threadIdx.x];
}

extern "C" __global__ void volatiles(volatile unsigned *flag, const float *in, float *out)
{
	if (!threadIdx.x)
		while (*flag != 7)
			;
	__syncthreads();
	out[threadIdx.x] = in[threadIdx.x];
}

extern "C" __global__ void sleeps(volatile unsigned *flag, unsigned n, float *out)
{
	while (flag[2] < n)
		__nanosleep(100);
	out[threadIdx.x] = 1;
}

extern "C" __global__ void locks(unsigned *lock, float *sum)
{
	while (atomicCAS(lock, 0, 1))
		;
	__threadfence();
	*sum += 1;
	__threadfence();
	atomicExch(lock, 0);
}

// A barrier of the grid.
extern "C" __global__ void counts(unsigned *count, float *out, float *in)
{
	out[blockIdx.x] = 1;
	__threadfence();
	if (!threadIdx.x) {
		atomicAdd(count, 1);
		while (*(volatile unsigned *)count < gridDim.x)
			;
	}
	__syncthreads();
	in[blockIdx.x] = out[gridDim.x - 1 - blockIdx.x];
}

// One block after another, as serial split-K has it.
extern "C" __global__ void in_turn(volatile int *turn, float *sum)
{
	int now = -1;

	while (__syncthreads_and(now != blockIdx.x))
		if (!threadIdx.x)
			now = *turn;
	sum[threadIdx.x] += 1;
	__syncthreads();
	if (!threadIdx.x)
		*turn = blockIdx.x + 1;
}

extern "C" __global__ void maximum(int *most, const int *in)
{
	int old = *most, seen;

	do {
		seen = old;
		old = atomicCAS(most, seen, in[threadIdx.x] ^ seen);
	} while (seen != old);
}

extern "C" __global__ void searches(volatile int *list, int *out)
{
	int i = 0;

	while (list[i] != 5)
		i++;
	*out = i;
}

extern "C" __global__ void sums(volatile int *in, int n, int *out)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += in[threadIdx.x];
	*out = sum;
}

// Whoever is free takes the next piece.
extern "C" __global__ void queue(unsigned *next, unsigned n, float *out)
{
	unsigned piece;

	while ((piece = atomicAdd(next, 1)) < n)
		out[piece] = 1;
}

extern "C" __global__ void queue_of_warps(unsigned *next, unsigned n, float *out)
{
	for (;;) {
		unsigned piece = 0;

		if (!threadIdx.x)
			piece = atomicAdd(next, 1);
		piece = __shfl_sync(0xffffffff, piece, 0);
		if (piece >= n)
			return;
		out[piece] = 1;
	}
}

// A limit that is read each time.
extern "C" __global__ void limited(const volatile int *n, int *out)
{
	for (int i = 0; i < *n; i++)
		out[i] = i;
}

// Gives up some time.
extern "C" __global__ void tries(volatile unsigned *flag, unsigned n, float *out)
{
	for (unsigned i = 0; i < n && !*flag; i++)
		__nanosleep(100);
	out[threadIdx.x] = 1;
}

// The upper half is another one in each round.
extern "C" __global__ void versions(unsigned long long *word, unsigned *out)
{
	unsigned long long version = 0;

	while (atomicExch(word, version << 32 | 1) & 1)
		version++;
	*out = (unsigned)version;
}
