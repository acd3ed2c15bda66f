/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: writes the simulated device's time at the end of a program that uses it, ns. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((destructor)) static void tell(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	unsigned long long (*clock)(void) = NULL;
	const char *path = getenv("SIM_TIME");
	FILE *out;

	if (library)
		*(void **)&clock = dlsym(library, "cufence_sim_clock");
	out = path && clock ? fopen(path, "we") : NULL;
	if (!out)
		return;
	fprintf(out, "%llu\n", clock());
	fclose(out);
}
