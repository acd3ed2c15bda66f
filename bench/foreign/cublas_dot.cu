// SPDX-License-Identifier: Apache-2.0
// A loop of matrix-vector products notes a scalar product in each step.  In cuBLAS's host
// pointer mode the call waits for its result.  The fix leaves the results on the device until
// the end.
#include <vector>

#include "pair.h"
#include <cublas_v2.h>

static const int TURNS = 60, STEPS = 32, SIZE = 4096;

static void make_matrix(double *matrix)
{
	std::vector<double> rows((size_t)SIZE * SIZE);

	for (size_t i = 0; i < rows.size(); i++)
		rows[i] = (double)(i * 2654435761U % 1000) / 500 / SIZE;
	CHECK(cudaMemcpy(matrix, rows.data(), rows.size() * sizeof(double),
		cudaMemcpyHostToDevice));
}

static void iterate(bool fixed)
{
	cublasHandle_t handle;
	double *matrix, *x, *y, *noted_device, sum = 0, one = 1, zero = 0;
	std::vector<double> ones(SIZE, 1), noted(TURNS * STEPS);

	CHECK(cublasCreate(&handle));
	CHECK(cudaMalloc(&matrix, (size_t)SIZE * SIZE * sizeof(double)));
	CHECK(cudaMalloc(&x, SIZE * sizeof(double)));
	CHECK(cudaMalloc(&y, SIZE * sizeof(double)));
	CHECK(cudaMalloc(&noted_device, noted.size() * sizeof(double)));
	make_matrix(matrix);
	CHECK(cudaMemcpy(x, ones.data(), SIZE * sizeof(double), cudaMemcpyHostToDevice));
	CHECK(cudaDeviceSynchronize());
	moment begin = now();
	for (int i = 0; i < TURNS * STEPS; i++) {
		double *result = fixed ? noted_device + i : &noted[i];

		CHECK(cublasDgemv(handle, CUBLAS_OP_N, SIZE, SIZE, &one, matrix, SIZE, x, 1, &zero,
			y, 1));
		CHECK(cublasSetPointerMode(handle,
			fixed ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
		CHECK(cublasDdot(handle, SIZE, x, 1, y, 1, result)); // the wait
		CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
		std::swap(x, y);
	}
	CHECK(cudaDeviceSynchronize());
	moment end = now();
	if (fixed)
		CHECK(cudaMemcpy(noted.data(), noted_device, noted.size() * sizeof(double),
			cudaMemcpyDeviceToHost));
	for (double each : noted)
		sum += each;
	report(begin, end, TURNS, sum);
	CHECK(cublasDestroy(handle));
	for (double *each : { matrix, x, y, noted_device })
		CHECK(cudaFree(each));
}

int main(int count, char **arguments)
{
	return run(iterate, count, arguments);
}
