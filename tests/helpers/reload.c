/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reload PLUGIN: loads a plugin with its own CUDA runtime, uses and unloads it, three times.  If
 * its libcudart is unloaded, other memory is mapped in its place, so that the next one has another
 * address.  Prints the plugin's results.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

static void *find_malloc(void)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
	void *found = runtime ? dlsym(runtime, "cudaMalloc") : NULL;

	if (runtime)
		dlclose(runtime);
	return found;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++) {
		void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
		int (*plug)(void);
		uintptr_t place;

		if (!plugin)
			return 2;
		*(void **)&plug = dlsym(plugin, "plug");
		printf("%d\n", plug());
		fflush(stdout);
		place = (uintptr_t)find_malloc();
		dlclose(plugin);
		if (!find_malloc())
			mmap((void *)(place & ~(uintptr_t)4095), 4096, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
	return 0;
}
