/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up CUDA functions in every way programs do and identifies the result: run with the recorder
 * and a libcuda (the simulated one works), prints "name: wrapper|real|none" lines, and exits 1 for
 * an unexpected result.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failures;
static void *cuda;

static const char *owner(void *address)
{
	Dl_info info;

	if (!address)
		return "none";
	if (!dladdr(address, &info) || !info.dli_fname)
		return "unknown";
	return strstr(info.dli_fname, "libcufence") ? "wrapper" : "real";
}

static void expect(const char *what, void *address, const char *wanted)
{
	const char *got = owner(address);
	int good = !strcmp(got, wanted);

	printf("%s %s: %s\n", good ? "ok" : "NOT OK", what, got);
	failures += !good;
}

static void by_name(const char *name, const char *wanted)
{
	expect(name, dlsym(cuda, name), wanted);
}

static void by_version(const char *name, int version, uint64_t flags, const char *wanted,
	const char *symbol)
{
	int (*get)(const char *, void **, int, uint64_t, int *);
	void *found = NULL;
	char what[128];

	*(void **)&get = dlsym(cuda, "cuGetProcAddress_v2");
	snprintf(what, sizeof(what), "%s %d/%d", name, version, (int)flags);
	/* symbolStatus may be NULL. */
	if (get(name, &found, version, flags, NULL))
		found = NULL;
	expect(what, found, wanted);
	if (symbol && found != dlsym(cuda, symbol)) {
		printf("NOT OK %s is not %s\n", what, symbol);
		failures++;
	}
}

static void check_exports(void)
{
	static const char *const version[] = { "libcudart.so.11.0", "libcudart.so.12",
		"libcudart.so.13" };
	void *self = dlopen("libcufence.so", RTLD_NOLOAD | RTLD_LAZY);

	for (int i = 0; i < 3; i++)
		expect(version[i], dlvsym(RTLD_DEFAULT, "cudaMalloc", version[i]), "wrapper");
	/* A prototype that exists in only one major is exported for that one only. */
	expect("12 __cudaLaunchKernel",
		dlvsym(RTLD_DEFAULT, "__cudaLaunchKernel", "libcudart.so.12"), "none");
	expect("13 __cudaLaunchKernel",
		dlvsym(RTLD_DEFAULT, "__cudaLaunchKernel", "libcudart.so.13"), "wrapper");
	expect("linked cuInit", dlsym(RTLD_DEFAULT, "cuInit"), "wrapper");
	(void)self;
}

int main(void)
{
	cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!cuda) {
		printf("NOT OK %s\n", dlerror());
		return 1;
	}
	by_name("cuGetProcAddress", "wrapper");
	by_name("cuGetProcAddress_v2", "wrapper");
	by_name("cuMemFree_v2", "wrapper");
	by_name("cuLaunchKernel_ptsz", "wrapper");
	/* Names that only begin like ours. */
	by_name("cuMemFree", "none");
	by_name("cuInitX", "none");
	by_name("cuDriverGetVersion", "real");
	expect("puts", dlsym(RTLD_DEFAULT, "puts"), "real");
	expect("cublasCreate_v2", dlsym(RTLD_DEFAULT, "cublasCreate_v2"), "none");
	by_version("cuMemcpyHtoD", 3020, 0, "wrapper", "cuMemcpyHtoD_v2");
	by_version("cuMemcpyHtoD", 13000, 0, "wrapper", "cuMemcpyHtoD_v2");
	by_version("cuMemcpyHtoD", 7000, 2, "wrapper", "cuMemcpyHtoD_v2_ptds");
	by_version("cuCtxSynchronize", 2000, 0, "wrapper", "cuCtxSynchronize");
	by_version("cuCtxSynchronize", 12000, 0, "wrapper", "cuCtxSynchronize");
	by_version("cuCtxSynchronize", 13000, 0, "wrapper", "cuCtxSynchronize_v2");
	by_version("cuGetProcAddress", 11030, 0, "wrapper", "cuGetProcAddress");
	by_version("cuGetProcAddress", 12000, 0, "wrapper", "cuGetProcAddress_v2");
	by_version("cuDriverGetVersion", 2020, 0, "real", NULL);
	by_version("cuNoSuchCall", 2000, 0, "none", NULL);
	check_exports();
	return failures ? 1 : 0;
}
