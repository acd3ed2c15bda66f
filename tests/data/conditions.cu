// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels that do something under a condition, for tests/unit/code/test_ptx_conditions.c: conditions.ptx
 * is made of this file by nvcc -ptx -arch=sm_90.
 */
#define INDEX (blockIdx.x * blockDim.x + threadIdx.x)
#define COLUMN (blockIdx.x * blockDim.x + threadIdx.x)
#define ROW (blockIdx.y * blockDim.y + threadIdx.y)

__device__ __noinline__ void store_positive(float *a, int i, float value)
{
	if (value > 0)
		a[i] = value;
}

__device__ __noinline__ void store_all(float *a, int i, float value)
{
	a[i] = value;
}

__device__ __noinline__ int search(const int *x, int n)
{
	int k = 0;

	while (x[k] > (int)threadIdx.x && k < n)
		k++;
	return k;
}

extern "C" {
__global__ void colour(float *a, const float *x, int n, int c)
{
	int i = INDEX;

	if (i < n && (i & 1) == c)
		a[i] = 1;
}

__global__ void colour_remainder(float *a, const float *x, int n, int c)
{
	int i = INDEX;

	if (i < n && i % 2 == c)
		a[i] = 1;
}

__global__ void checkerboard(float *a, const float *x, int n, int c)
{
	int i = COLUMN, j = ROW;

	if (i < n && j < n && ((i + j) & 1) == c)
		a[j * n + i] = 1;
}

__global__ void bucket(float *a, const float *x, int n, int c)
{
	int i = INDEX;

	if (i < n && i * 2654435761u >> 30 == c)
		a[i] = 1;
}

/* One condition leaves the last block, and with that the other one less of its threads. */
__global__ void corner(float *a, const float *x, int n)
{
	int t = threadIdx.x, b = blockIdx.x, i = INDEX;

	if (i > n && t + b + 1 < 8)
		a[10 * i] = 1;
}

__global__ void never(float *a, const float *x, int n)
{
	if (blockIdx.x < blockIdx.x % 2)
		a[0] = 1;
}

__global__ void even_blocks(float *a, const float *x, int n, int c)
{
	if (blockIdx.x % 2 == c)
		a[INDEX] = 1;
}

__global__ void every_second(float *a, const float *x, int n, int c)
{
	int i = 2 * INDEX + c;

	if (i < n)
		a[i] = 1;
}

__global__ void positive(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n && x[i] > 0)
		a[i] = x[i];
}

__global__ void early_return(float *a, const int *flag, int n)
{
	int i = INDEX;

	if (i >= n)
		return;
	if (flag[0])
		return;
	a[i] = 1;
}

__global__ void joined(float *a, const int *x, int n)
{
	int i = INDEX;
	float value = 0;

	if (i >= n)
		return;
	if (x[i] > 3)
		for (int k = 0; k < x[i]; k++)
			value = value * value + k;
	a[i] = value;
}

__global__ void by_block(float *a, const float *x, int n)
{
	switch (blockIdx.x) {
	case 0:
		a[threadIdx.x] = 1;
		break;
	case 1:
		a[1000 + threadIdx.x] = 2;
		break;
	case 2:
		a[3000 + threadIdx.x] = 5;
		break;
	default:
		a[5000 + threadIdx.x] = 7;
	}
}

__global__ void first_warp(float *a, const float *x, int n)
{
	if (threadIdx.x < 32)
		a[blockIdx.x * 32 + threadIdx.x] = 1;
}

__global__ void first_thread(float *a, const float *x, int n)
{
	__shared__ float sum[256];

	sum[threadIdx.x] = x[INDEX];
	__syncthreads();
	for (int half = blockDim.x / 2; half; half /= 2) {
		if (threadIdx.x < half)
			sum[threadIdx.x] += sum[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		a[blockIdx.x] = sum[0];
}

__global__ void grid_stride(float *a, const float *x, int n)
{
	for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
		a[i] = x[i];
}

__global__ void grid_stride_positive(float *a, const float *x, int n)
{
	for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
		if (x[i] > 0)
			a[i] = x[i];
}

__global__ void until_found(float *a, const float *x, int n)
{
	for (int k = 0; k < n; k++) {
		if (x[k] > 1)
			break;
		a[k * 256 + threadIdx.x] = 1;
	}
}

__global__ void until_done(float *a, const float *x, int n)
{
	int i = INDEX, k = 0;
	float z = 0;

	if (i >= n)
		return;
	while (k < 100 && z < 4) {
		z = z * z + x[i];
		k++;
	}
	a[i] = k;
}

__global__ void nested(float *a, const float *x, int n, int m)
{
	for (int i = blockIdx.x; i < n; i += gridDim.x)
		for (int j = threadIdx.x; j < m; j += blockDim.x)
			a[i * m + j] = x[i];
}

__global__ void nested_until_found(float *a, const float *x, int n, int m)
{
	for (int i = blockIdx.x; i < n; i += gridDim.x) {
		if (x[i] > 0)
			break;
		for (int j = threadIdx.x; j < m; j += blockDim.x)
			a[i * m + j] = x[i];
	}
}

__global__ void ends(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i == 0 || i == n - 1)
		a[i] = 0;
}

__global__ void inside(float *a, const float *x, int n)
{
	int i = COLUMN, j = ROW;

	if (i > 0 && i < n - 1 && j > 0 && j < n - 1)
		a[j * n + i] = 1;
}

__global__ void lower(float *a, const float *x, int n)
{
	int i = COLUMN, j = ROW;

	if (i < n && j < n && i <= j)
		a[j * n + i] = 1;
}

__global__ void left_columns(float *a, const float *x, int n, int pitch)
{
	int i = COLUMN, j = ROW;

	if (i < n && j < n)
		a[j * pitch + i] = 1;
}

__global__ void by_mode(float *a, const float *x, int n, int mode)
{
	int i = INDEX;

	if (i >= n)
		return;
	if (mode & 1)
		a[i] = 1;
	else
		a[i + n] = 1;
}

__global__ void calls_positive(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n)
		store_positive(a, i, x[i]);
}

__global__ void positive_calls(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n && x[i] > 0)
		store_all(a, i, x[i]);
}

__global__ void calls(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n)
		store_all(a, i, x[i]);
}

__global__ void exits(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n && x[i] > 0)
		asm volatile("exit;");
	if (i < n)
		a[i] = 1;
}

__global__ void waits(float *a, const volatile int *flag, int n)
{
	int i = INDEX;

	if (threadIdx.x == 0)
		while (!*flag)
			;
	__syncthreads();
	if (i < n)
		a[i] = 1;
}

__global__ void both_remainders(float *a, const float *x, int n, int c)
{
	int i = INDEX;

	if (i < n && i % 2 == c && i % 3 == c)
		a[i] = 1;
}

__global__ void flattened(float *a, const float *x, int width, int height)
{
	int i = INDEX, column = i % width, row = i / width;

	if (column > 0 && column < width - 1 && row > 0 && row < height - 1)
		a[i] = 1;
}

__global__ void flattened_constant(float *a, const float *x, int n)
{
	int i = INDEX, column = i % 30, row = i / 30;

	if (column > 0 && column < 29 && row > 0 && row < n)
		a[i] = 1;
}

__global__ void first_lane(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n && i % 32 == 0)
		a[i / 32] = 1;
}

__global__ void padded(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n)
		a[i + i / 32] = 1;
}

__global__ void rows(float *a, const float *x, int n, int c)
{
	int i = COLUMN, j = ROW;

	if (i < n && j < n && (j & 1) == c)
		a[j * n + i] = 1;
}

__global__ void pairs(float *a, const float *x, int n)
{
	int i = INDEX;

	if (i < n)
		a[i / 2] = 1;
}

__global__ void spins_first(float *a, const float *x, int n, int ns)
{
	long long begin = clock64();

	while (clock64() - begin < ns)
		continue;
	for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
		a[i] = x[i];
}

__global__ void locks_first(float *a, int *lock, int n)
{
	while (atomicCAS(lock, 0, 1))
		__nanosleep(100);
	for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
		a[i] = 1;
}

__global__ void stands_in_line(float *a, const volatile int *turn, int n)
{
	for (int round = 0; round < 2; round++) {
		while (*turn < round)
			continue;
		for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
			a[i] = round;
		__syncthreads();
	}
}

__global__ void returns_while_it_spins(float *a, const volatile int *flag, int n)
{
	while (!flag[0])
		if (flag[1] > (int)threadIdx.x)
			return;
	for (int i = INDEX; i < n; i += gridDim.x * blockDim.x)
		a[i] = 1;
}

__global__ void searches_first(float *a, const int *x, int n, int m)
{
	int k = 0;

	while (x[k] > (int)threadIdx.x && k < n)
		k++;
	for (int i = 0; i < m; i++)
		a[k * m + i] = 1;
}

__global__ void halves_what_it_found(float *a, const int *x, int n, int m)
{
	int k = 0;

	while (x[k] > (int)threadIdx.x && k < n)
		k++;
	for (int i = 0; i < m; i++)
		a[k / 2 * m + i] = 1;
}

__global__ void up_to_what_it_found(float *a, const int *x, int n)
{
	int k = 0;

	while (x[k] > (int)threadIdx.x && k < n)
		k++;
#pragma unroll 1
	for (int i = 0; i < k; i++)
		a[i] = 1;
}

__global__ void below_what_it_found(float *a, const int *x, int n)
{
	int k = 0;

	while (x[k] > 0 && k < n)
		k++;
	if ((int)threadIdx.x < k)
		a[threadIdx.x] = 1;
}

__global__ void below_what_it_finds(float *a, const int *x, int n)
{
	int k = 0;

#pragma unroll 1
	do {
		k++;
		if ((int)threadIdx.x < k)
			a[threadIdx.x] = 1;
	} while (x[k] > 0 && k < n);
}

__global__ void calls_until_found(float *a, const float *x, int n)
{
	for (int k = 0; k < n; k++) {
		if (x[k] > 1)
			break;
		store_all(a, k * 256 + threadIdx.x, 1);
	}
}

__global__ void found_by_call(float *a, const int *x, int n)
{
	a[search(x, n) * 256 + threadIdx.x] = 1;
}
}
