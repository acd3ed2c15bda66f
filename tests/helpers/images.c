/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the same PTX text three times, like programs that compile at run time.  FILE: once, from
 * that file, which is then removed.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry from_memory(.param .u64 p)\n{\nret;\n}\n";

static void *libcuda;

static int call(const char *name, void *first, const void *second)
{
	int (*function)(void *, const void *);

	*(void **)&function = dlsym(libcuda, name);
	return function ? function(first, second) : -1;
}

static int load_file(const char *path)
{
	FILE *file = fopen(path, "w");
	void *module = NULL;
	int bad = !file || fputs(ptx, file) < 0 || fclose(file);

	bad |= call("cuModuleLoad", &module, path);
	remove(path);
	printf("%d\n", bad);
	return bad;
}

int main(int argc, char **argv)
{
	void *context = NULL, *module = NULL;
	char *copy = strdup(ptx), *other = strdup(ptx);
	int bad;

	libcuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (!libcuda)
		return 2;
	bad = call("cuInit", NULL, NULL);
	bad |= call("cuDevicePrimaryCtxRetain", &context, NULL);
	bad |= call("cuCtxSetCurrent", context, NULL);
	if (argc > 1)
		return bad | load_file(argv[1]);
	bad |= call("cuModuleLoadData", &module, copy);
	bad |= call("cuModuleLoadData", &module, copy);
	bad |= call("cuModuleLoadData", &module, other);
	printf("%d\n", bad);
	return bad;
}
