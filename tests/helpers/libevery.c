/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda that does nothing and accesses no arguments: every call of calls.def returns
 * NULL_RESULT. Shows how the recorder handles arguments without a driver's checks.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <stdlib.h>

#include "older_cuda.h"

static CUresult result(void)
{
	const char *text = getenv("NULL_RESULT");

	return text ? (CUresult)atoi(text) : CUDA_SUCCESS;
}

#define DRIVER(symbol, base, since, params, args, fields, kind, traits) \
	CUresult symbol params \
	{ \
		return result(); \
	}
#define DRIVER_PT(symbol, base, since, suffix, pt_since, params, args, fields, kind, traits) \
	CUresult symbol params \
	{ \
		return result(); \
	} \
	CUresult symbol##suffix params; \
	CUresult symbol##suffix params \
	{ \
		return result(); \
	}
#include "calls.def"
