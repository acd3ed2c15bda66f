/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in that CUDA itself offers to tools.  A library loaded with RTLD_DEEPBIND calls CUDA
 * past every preloaded symbol, but its cuInit loads what CUDA_INJECTION64_PATH names and calls
 * InitializeInjection(): from there on CUPTI's callbacks record what the wrappers do not see.
 * Neither variable is touched where another tool has set it.
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
