/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that allocate in stream order and make another mistake than pool_trim.cu. */
#ifndef CUFENCE_APP_POOL_H
#define CUFENCE_APP_POOL_H

#include "app.h"

/* Else the device's pool gives its memory back at each wait, and maps it again. */
static inline void keep_pool_memory()
{
	cudaMemPool_t pool;
	unsigned long long everything = ~0ull;

	CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
	CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &everything));
}

#endif
