/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another library exports functions with the driver's names: two_drivers LIBRARY. Lookups in that
 * library return its functions, and lookups in the driver return the driver's.
 */
#include "driver_calls.h"

int main(int argc, char **argv)
{
	void *other = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*init)(unsigned);

	cuda_find();
	printf("%d", cuda_begin());
	*(void **)&init = other ? dlsym(other, "cuInit") : NULL;
	if (!init)
		return 2;
	/* Invalid flags; only one of the two functions checks them. */
	printf(" %d %d\n", cuda.init(77) != 0, init(77) != 0);
	return 0;
}
