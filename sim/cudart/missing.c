/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs for unsupported runtime calls: each reports its name once and fails with
 * cudaErrorNotSupported.  Does not include NVIDIA's headers, as the prototypes do not matter.
 */
#include <stdatomic.h>
#include <stdio.h>

#define CUDA_ERROR_NOT_SUPPORTED 801

static int refuse(const char *name, atomic_flag *told)
{
	if (!atomic_flag_test_and_set(told))
		fprintf(stderr, "cufence simulator: %s is not supported\n", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define MISSING(symbol) \
	int symbol(void); \
	int symbol(void) \
	{ \
		static atomic_flag told = ATOMIC_FLAG_INIT; \
		return refuse(#symbol, &told); \
	}
#include "cudart_missing.def"
