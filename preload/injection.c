/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA's own interface for tools.  A library loaded with RTLD_DEEPBIND bypasses all preloaded
 * symbols, but its cuInit loads the library named by CUDA_INJECTION64_PATH, a small one that calls
 * InitializeInjection() of this one: from then on CUPTI's callbacks record calls without wrappers.
 * Variables set by another tool are not changed.
 */
#include "injection.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "join.h"
#include "origin.h"
#include "shim.h"
#include "system.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int InitializeInjection(void);
EXPORT int cufence_other_namespace(void);

EXPORT int InitializeInjection(void)
{
	collector_start();
	return 1;
}

/*
 * Called for each driver that another link namespace initializes (dlmopen).  A trace is not opened
 * for it: that would load the driver into a program that has none in its own namespace.
 */
EXPORT int cufence_other_namespace(void)
{
	static _Atomic int said;

	if (!shim_count(COUNT_OTHER_NAMESPACES) && !said++)
		origin_print_message(
			"cufence: CUDA is used in a link namespace of its own "
			"(dlmopen): not traced there\n");
	return 1;
}

static char path[4096];

const char *injection_path(void)
{
	return path[0] ? path : NULL;
}

__attribute__((constructor)) static void offer(void)
{
	const char *disable = getenv("CUFENCE_DISABLE"), *slash;
	struct joined joined = { path, sizeof(path), 0 };
	int saved = errno;
	Dl_info own;

	if ((disable && *disable && *disable != '0') ||
		!dladdr((void *)InitializeInjection, &own) || !own.dli_fname)
		return;
	slash = strrchr(own.dli_fname, '/');
	join_bytes(&joined, own.dli_fname, slash ? (size_t)(slash - own.dli_fname) + 1 : 0);
	join(&joined, "libcufence-injection.so");
	if (joined_whole(&joined) && system_exists(path)) {
		setenv("NVTX_INJECTION64_PATH", path, 0);
		setenv("CUDA_INJECTION64_PATH", path, 0);
	} else {
		path[0] = '\0';
	}
	errno = saved;
}
