/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test app needs.  Functions that stand for a place in a program are NOINLINE, so
 * that a call site has the name which the .expect file gives it.
 */
#ifndef CUFENCE_APP_H
#define CUFENCE_APP_H

#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

#include "kernels.h"

#define NOINLINE __attribute__((noinline))

#define CHECK(call) \
	do { \
		cudaError_t error_ = (call); \
		if (error_ != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorString(error_)); \
			exit(1); \
		} \
	} while (0)

static const unsigned long long MILLISECOND = 1000 * 1000;

/* The same on every run of one machine: element order is fixed. */
static inline double checksum(const float *data, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += data[i] * (double)(i % 61 + 1);
	return sum;
}

#endif
