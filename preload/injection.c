/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's own interface for tools.  A library loaded with RTLD_DEEPBIND bypasses all preloaded
 * symbols, but its cuInit loads the library named by CUDA_INJECTION64_PATH and calls
 * InitializeInjection(): from then on CUPTI's callbacks record calls without wrappers.  Variables
 * set by another tool are not changed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "collector.h"
#include "shim.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);

EXPORT int InitializeInjection(void)
{
	collector_start();
	return 1;
}

__attribute__((constructor)) static void offer(void)
{
	const char *disable = getenv("CUFENCE_DISABLE");
	int saved = errno;
	Dl_info own;

	if ((!disable || !*disable || *disable == '0') &&
		dladdr((void *)InitializeInjection, &own) && own.dli_fname) {
		setenv("NVTX_INJECTION64_PATH", own.dli_fname, 0);
		setenv("CUDA_INJECTION64_PATH", own.dli_fname, 0);
	}
	errno = saved;
}
